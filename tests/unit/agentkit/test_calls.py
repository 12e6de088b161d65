"""The request of each call: method, path, query and body, with the least and with all arguments."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal, NotRequired, TypedDict

import pytest

import agent_feedback_kit as kit
from agent_feedback_kit import UnexpectedAnswer, deadlines
from agent_feedback_kit.client import calls
from agent_feedback_kit.client.requests import Call, ProjectPlace
from agent_feedback_kit.client.retrying import refusal_of
from agent_feedback_kit.client.validation import first_mismatch
from agent_feedback_kit.deadlines import within

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
        (calls.submit_rating(PLACE, *TURN, None, 5, **RATED), FEEDBACK, {"rating": None, "scale": 5, **RATED}),
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
    for everyone, query in ((False, {"agent_id": "bot"}), (True, {"agent_id": "bot", "everyone": "true"})):
        request = calls.export_request(PLACE, "kto", {"agent_id": "bot"}, everyone=everyone, records=False)
        assert (request.method, request.path, request.body) == ("GET", f"{ROOT}/exports/kto", None)
        assert request.query == query


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


# The first place at which a response violates its type; later platforms may add fields and values.


class Row(TypedDict):
    name: str
    share: float
    kind: NotRequired[Literal["a", "b"]]
    count: NotRequired[int | None]
    parts: NotRequired[list[str]]
    facts: NotRequired[dict[str, Any]]
    inner: NotRequired[Row]


WHOLE = {"name": "x", "share": 0.5}


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (WHOLE, None),
        (WHOLE | {"later": object()}, None),
        ([WHOLE], "no object"),
        ({"share": 0.5}, "name"),
        (WHOLE | {"name": 7}, "name"),
        (WHOLE | {"share": True}, "share"),
        (WHOLE | {"share": float("nan")}, "share"),
        (WHOLE | {"kind": "a"}, None),
        (WHOLE | {"kind": "later"}, None),
        (WHOLE | {"kind": 1}, "kind"),
        (WHOLE | {"count": 1}, None),
        (WHOLE | {"count": None}, None),
        (WHOLE | {"count": 1.5}, "count"),
        (WHOLE | {"parts": []}, None),
        (WHOLE | {"parts": ["a", 2, None]}, "parts.1"),
        (WHOLE | {"facts": {"any": 1}}, None),
        (WHOLE | {"facts": []}, "facts"),
        (WHOLE | {"inner": {"name": "x"}}, "inner.share"),
    ],
)
def test_the_first_mismatch_is_a_dotted_path(value: Any, place: str | None) -> None:
    assert first_mismatch(value, Row) == place


# A deadline for work that may ignore its cancellation.


async def test_the_result_and_the_error_of_work_in_time_are_its_own() -> None:
    assert await within(None, asyncio.sleep(0, "done")) == "done"
    assert await within(5, asyncio.sleep(0, "done")) == "done"
    with pytest.raises(ZeroDivisionError):
        await within(5, fails())


async def test_abandoned_work_is_held_until_it_ends_and_its_error_is_never_reported() -> None:
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    release = asyncio.Event()

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await release.wait()
            raise ZeroDivisionError from None

    with pytest.raises(TimeoutError):
        await within(0.01, stubborn())
    [task] = deadlines._abandoned
    release.set()
    await asyncio.wait({task})
    await asyncio.sleep(0)
    assert deadlines._abandoned == set()
    del task
    assert reported == []


async def fails() -> None:
    raise ZeroDivisionError


# Retries of a failed call: how many, after which delay, and for which responses.

UNREACHABLE = kit.Unreachable("no answer")


POLICY = kit.Retries(tries=6, first_wait=1.0, longest_wait=5.0)


def refused(status: int, retry_after: str | None = None) -> kit.AgentFeedbackError:
    return refusal_of(status, {} if retry_after is None else {"retry-after": retry_after}, b"{}")


@pytest.mark.parametrize(("tried", "longest"), [(1, 1.0), (2, 2.0), (3, 4.0), (4, 5.0), (5, 5.0)])
def test_delays_double_up_to_the_longest_with_jitter(tried: int, longest: float) -> None:
    delays = [POLICY.wait(tried, UNREACHABLE, 100.0) or 0.0 for _ in range(200)]
    assert longest / 2 <= min(delays) and max(delays) <= longest
    assert max(delays) - min(delays) > longest / 4


@pytest.mark.parametrize(("left", "wait"), [(7.1, 7.0), (7.0, None), (0.0, None), (-1.0, None)])
def test_no_delay_reaches_the_end_of_the_timeout(left: float, wait: float | None) -> None:
    assert POLICY.wait(1, refused(503, "7"), left) == wait


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("0", 0.0), ("999999", 999_999.0), ("1000000", None), ("-1", None), ("1.5", None), ("", None), ("\u00b2", None),
     ("Wed, 21 Oct 2026 07:28:00 GMT", None), (None, None)],
)  # fmt: skip
def test_a_retry_after_is_a_number_of_seconds_below_a_million(header: str | None, seconds: float | None) -> None:
    error = refused(503, header)
    assert isinstance(error, kit.Busy)
    assert error.retry_after == seconds


@pytest.mark.parametrize(("status", "is_refusal"), [(199, False), (300, False), (399, False), (400, True), (599, True)])
def test_a_status_below_400_is_no_refusal(status: int, is_refusal: bool) -> None:
    assert isinstance(refused(status), kit.Refused) is is_refusal


@pytest.mark.parametrize(
    ("body", "detail"),
    [(b'{"detail": "' + b"x" * 501 + b'"}', "x" * 500), (b'{"detail": 7}', "refused without a reason"),
     (b"<html>", "refused without a reason"), (b"[]", "refused without a reason"), (b"7", "refused without a reason"),
     (b"[" * 100_000, "refused without a reason")],
)  # fmt: skip
def test_a_reason_is_a_text_of_500_characters_at_most(body: bytes, detail: str) -> None:
    error = refusal_of(403, {}, body)
    assert isinstance(error, kit.Refused)
    assert error.detail == detail
