"""The request of each call: method, path, query and body, with the least and with all arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_feedback_kit import UnexpectedAnswer
from agent_feedback_kit.client import calls
from agent_feedback_kit.client.calls import Call, ProjectPlace

PLACE = ProjectPlace("acme", "support")
ROOT = "/conversations/acme/support"
FEEDBACK = f"{ROOT}/c1/turns/t1/feedback"
TURN = ("c1", "t1")
TIME = {"ts": "2026-01-01T00:00:00Z"}
RATED: dict[str, Any] = {"text": "Nearly.", **TIME, "user_id": "ann"}
JUDGED: dict[str, Any] = {**RATED, "tags": ["wrong"], "correction": "At ten."}
DETECT: dict[str, Any] = {
    "turn_id": "t2", "message_id": "m3", "user_id": "ann", **TIME, "look_back": "PT1H", "reply_to_message_id": "m2",
    "thread_id": "th", "previous": {"message_id": "m2", "content": "At nine."}, "wait_seconds": 0.5, "strategies": 3,
    "intent": "hours", "agent_id": "bot",
}  # fmt: skip
FOUND: dict[str, Any] = {"intent": "hours", "user_id": "ann", "agent_id": "bot", "limit": 3}
END: dict[str, Any] = {"user_id": "ann", "memory_mode": "synced", "idempotency_key": "k", "source": "cli_end"}
HERE = {"tenant": "acme", "project": "support"}
PERIOD = {"start": "2026-01-01T00:00:00Z", "end": "2026-02-01T00:00:00Z"}


def sent(call: Call[Any]) -> tuple[str, str, Any, Any]:
    [request] = call.requests
    body = None if request.body is None else json.loads(request.body)
    return request.method, request.path, dict(request.query), body


@pytest.mark.parametrize(
    ("call", "path", "body"),
    [
        (calls.submit_feedback(PLACE, *TURN, "ok"), FEEDBACK, {"reaction": "ok"}),
        (calls.submit_feedback(PLACE, *TURN, "not_ok", **JUDGED), FEEDBACK, {"reaction": "not_ok", **JUDGED}),
        (calls.submit_rating(PLACE, *TURN, 4, 5), FEEDBACK, {"rating": 4, "scale": 5}),
        (calls.submit_rating(PLACE, *TURN, None, "a", **RATED), FEEDBACK, {"rating": None, "scale": "a", **RATED}),
        (calls.clear_feedback(PLACE, *TURN), FEEDBACK, {"reaction": None}),
        (
            calls.clear_feedback(PLACE, *TURN, ts=TIME["ts"], user_id="ann"),
            FEEDBACK,
            {"reaction": None, **TIME, "user_id": "ann"},
        ),
        (calls.end_session(PLACE, "th/1"), "/api/threads/th%2F1/end", {"feedback": None, **HERE}),
        (
            calls.end_session(PLACE, "th", "skip", **END),
            "/api/threads/th/end",
            {"feedback": "skip", **HERE, **END},
        ),
        (calls.detect(PLACE, "c1", "No."), f"{ROOT}/c1/detect", {"text": "No."}),
        (calls.detect(PLACE, "c1", "No.", **DETECT), f"{ROOT}/c1/detect", {"text": "No.", **DETECT}),
        (calls.latest(PLACE, "c1"), f"{ROOT}/c1/feedback/latest", {"turn_ids": None}),
        (
            calls.latest(PLACE, "c1", turn_ids=("t1",), since=TIME["ts"], watermark="w", limit=7, cursor="x"),
            f"{ROOT}/c1/feedback/latest",
            {"turn_ids": ["t1"], "since": TIME["ts"], "watermark": "w", "limit": 7, "cursor": "x"},
        ),
        (calls.search_strategies(PLACE), f"{ROOT}/strategies/search", {"limit": 10}),
        (
            calls.search_strategies(PLACE, text="When?", **FOUND),
            f"{ROOT}/strategies/search",
            {"text": "When?", **FOUND},
        ),
        (calls.search(PLACE), f"{ROOT}/feedback/search", {"limit": 100}),
        (
            calls.period(PLACE, *PERIOD.values()),
            f"{ROOT}/feedback/conversations-in-period",
            {**PERIOD, "include_turns": False, "limit": 100},
        ),
        (
            calls.period(PLACE, *PERIOD.values(), include_turns=True, limit=7, cursor="x"),
            f"{ROOT}/feedback/conversations-in-period",
            {**PERIOD, "include_turns": True, "limit": 7, "cursor": "x"},
        ),
        (calls.search(PLACE), f"{ROOT}/feedback/search", {"limit": 100}),
        (
            calls.search(PLACE, limit=7, cursor="x", origin="user", tag="wrong"),
            f"{ROOT}/feedback/search",
            {"limit": 7, "cursor": "x", "origin": "user", "tag": "wrong"},
        ),
    ],
)
def test_a_call_sends_what_it_was_given_and_nothing_else(call: Call[Any], path: str, body: dict[str, Any]) -> None:
    assert sent(call) == ("POST", path, {}, body)


@pytest.mark.parametrize(
    ("call", "path", "query"),
    [
        (calls.own_feedback(PLACE, *TURN), FEEDBACK, {}),
        (calls.own_feedback(PLACE, *TURN, user_id="ann"), FEEDBACK, {"user_id": "ann"}),
        (calls.memory_status(PLACE, "th"), "/api/memory/status", {"thread_id": "th", "tenant": "acme"}),
    ],
)
def test_a_call_that_only_reads_has_a_query_and_no_body(call: Call[Any], path: str, query: dict[str, str]) -> None:
    assert sent(call) == ("GET", path, query, None)


def test_an_export_is_of_people_unless_everyone_is_asked_for() -> None:
    asked = [calls.export_request(PLACE, "kto", everyone, {"agent_id": "bot"}) for everyone in (False, True)]
    assert [(one.method, one.path, one.body) for one in asked] == [("GET", f"{ROOT}/exports/kto", None)] * 2
    assert [one.query for one in asked] == [{"agent_id": "bot"}, {"agent_id": "bot", "everyone": "true"}]


def test_a_session_end_has_a_key_only_with_a_rating() -> None:
    """Each rating has a key of its own, so that a retry is recognised and another rating is not."""
    ends = [calls.end_session(PLACE, "th", "positive") for _ in range(2)]
    keys = {sent(one)[3]["idempotency_key"] for one in ends}
    assert len(keys) == 2 and all(keys)
    assert "idempotency_key" not in sent(calls.end_session(PLACE, "th", idempotency_key="k"))[3]


@pytest.mark.parametrize("length", [10_000, 10_001])
def test_the_texts_of_the_previous_answer_are_cut_to_what_the_platform_accepts(length: int) -> None:
    previous: Any = {"message_id": "m" * length, "content": "c" * length, "question": "q" * length}
    [given] = [sent(calls.detect(PLACE, "c1", "No.", previous=previous))[3]["previous"]]
    assert {name: len(value) for name, value in given.items()} == {
        "message_id": length,
        "content": 10_000,
        "question": 10_000,
    }


@pytest.mark.parametrize("line", ["", "7", "[]", "null", '{"a":'])
def test_a_line_of_an_export_is_an_object(line: str) -> None:
    assert calls.export_row('{"a": [1]}') == {"a": [1]}
    with pytest.raises(UnexpectedAnswer, match="cut off"):
        calls.export_row(line)
