"""The way of an event through the services, in the words of `agent-feedback where`, from the services' responses."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
import pytest

from standalone.where import MOST_IDS, EventTrace, Params, trace_event
from tests.support.command import Ended, agent_feedback_here

MESSAGE = "chat.message.ingested"
HOUR = "2026-01-01T10:00:00.000000Z"


def record(at: str, **more: Any) -> dict[str, Any]:
    found = {
        "at": at, "event_id": "e1", "conversation_id": "c1", "message_id": "m1", "cause": at, "feedback_id": None,
        "outcome": "stored", "reason": "", "detail": "", "noted_at": "2026-01-01T10:00:01.000000Z",
    }  # fmt: skip
    return found | more


def judged(**more: Any) -> dict[str, Any]:
    found = {
        "message_id": "m1", "conversation_id": "c1", "role": "human", "verdict": "rejected", "confidence": 0.9,
        "decided_by": "rules", "announced": True, "held_back": None, "detector": None, "epoch": 0,
        "noted_at": "2026-01-01T10:00:02.000000Z",
    }  # fmt: skip
    return found | more


def stored(**more: Any) -> dict[str, Any]:
    return {"feedback_id": "f1", "revision": 7, "state": "live", "announced_as": "a1"} | more


def counted(**more: Any) -> dict[str, Any]:
    figures = {"figures": ["summary", "agents", "calibration"], "hour": HOUR, "rolled_up": True}
    return {"feedback_id": "f1", "revision": 7, "state": "counted", "counted_in": figures} | more


SAID = "f1 at revision 7, live, announced as a1"


@pytest.mark.parametrize(
    ("store", "reports", "record_", "said"),
    [
        (None, None, {}, "f1 is not stored"),
        (None, None, {"feedback_id": None}, ""),
        (None, None, {"outcome": "ignored"}, ""),
        (stored(), None, {}, f"{SAID}, not in the reports"),
        (
            stored(), counted(), {},
            f"{SAID}, counted in summary, agents and calibration of the hour 2026-01-01T10:00Z (rolled up)",
        ),
        (
            stored(),
            counted(state="overruled", counted_in={"figures": ["calibration"], "hour": HOUR, "rolled_up": False}),
            {}, f"{SAID}, overruled, counted in calibration of the hour 2026-01-01T10:00Z (not rolled up yet)",
        ),
        (
            stored(), counted(state="listed"), {},
            f"{SAID}, counted among the replies of the hour 2026-01-01T10:00Z",
        ),
        (stored(), counted(state="cleared", counted_in=None), {}, f"{SAID}, cleared"),
        (stored(), counted(state="cleared", counted_in=None, revision=6), {}, f"{SAID}, cleared at revision 6"),
        (stored(), counted(state="cleared", counted_in=None, revision=8), {}, f"{SAID}, cleared"),
    ],
)  # fmt: skip
def test_a_feedback_record_is_described_from_the_store_to_the_reports(
    store: dict[str, Any] | None, reports: dict[str, Any] | None, record_: dict[str, Any], said: str
) -> None:
    of_feedback = record("feedback.reaction.received:0:1", **({"feedback_id": "f1"} | record_))
    trace = EventTrace(
        {"chat_bridge": [record(f"{MESSAGE}:0:1", feedback_id="f1")], "feedback": [of_feedback]},
        [],
        {} if store is None else {"f1": store},
        {} if reports is None else {"f1": reports},
    )
    bridge, feedback = trace.steps()
    assert (bridge["feedback"], feedback["feedback"]) == ("", said)


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (judged(), "judged rejected at 0.90 by rules, announced"),
        (judged(detector="d1", epoch=3), "judged rejected at 0.90 by rules, announced (detector d1, epoch 3)"),
        (judged(verdict=None, detector="d1"), "indexed, not judged (detector d1, epoch 0)"),
        (
            judged(announced=False, held_back="below_threshold"),
            "judged rejected at 0.90 by rules, not announced: the confidence is below 0.70",
        ),
        (
            judged(announced=False, held_back="machine_text"),
            "judged rejected at 0.90 by rules, not announced: a client program wrote the message",
        ),
        (judged(announced=False), "judged rejected at 0.90 by rules, not announced: no reason is kept"),
    ],
)
def test_a_verdict_is_described_with_the_reason_for_its_silence(one: dict[str, Any], said: str) -> None:
    [step] = EventTrace({}, [one], {}, {}).steps()
    assert step == {
        "service": "inference", "record": "message m1", "event_id": "", "conversation_id": "c1", "outcome": said,
        "feedback": "", "noted_at": "2026-01-01T10:00:02.000000Z",
    }  # fmt: skip


def test_steps_are_in_the_order_of_their_times() -> None:
    late = record("feedback.created:0:1", noted_at="2026-01-01T10:00:03.000000Z", reason="future", detail="a day")
    parked = record(f"{MESSAGE}:0:1", conversation_id=None, reason="original_unknown", outcome="parked")
    trace = EventTrace({"reporting": [late], "chat_bridge": [parked]}, [judged()], {}, {})
    assert [(step["service"], step["outcome"]) for step in trace.steps()] == [
        ("chat_bridge", "parked (original_unknown)"),
        ("inference", "judged rejected at 0.90 by rules, announced"),
        ("reporting", "stored (future: a day)"),
    ]
    assert trace.steps()[0]["conversation_id"] == ""
    assert trace.facts() == {
        "reporting": [late], "chat_bridge": [parked], "judged": [judged()], "stored": [], "reported": []
    }  # fmt: skip


@pytest.mark.parametrize(
    ("records", "verdicts", "is_found"),
    [({"a": [], "b": []}, [], False), ({"a": [], "b": [record("x:0:1")]}, [], True), ({"a": []}, [judged()], True)],
)
def test_an_event_is_found_if_a_service_knows_it(records: Any, verdicts: Any, is_found: bool) -> None:
    assert EventTrace(records, verdicts, {}, {}).found is is_found


class Services:
    """Services that give these responses and remember the questions."""

    def __init__(self, **answers: dict[str, Any]) -> None:
        self._answers = answers
        self.asked: dict[str, list[tuple[str, str]]] = {}

    async def ask(self, part: str, parameters: Params) -> dict[str, Any]:
        assert part not in self.asked, "each service is asked once"
        self.asked[part] = list(parameters)
        return {"records": [], "feedbacks": [], "judged": []} | self._answers.get(part, {})


async def test_an_event_is_followed_by_its_message_its_cause_and_its_feedback() -> None:
    services = Services(
        chat={"records": [record(f"{MESSAGE}:0:1", cause="x:0:1"), record("post.published:0:2", message_id="p1")]},
        feedback={
            "records": [record("f:0:1", feedback_id="f1", cause="y:0:1"), record("f:0:2", conversation_id="other")],
            "feedbacks": [stored(), stored(feedback_id="others")],
        },
        inference={"judged": [judged(), judged(role="agent"), judged(conversation_id="other")]},
        reports={"records": [record("r:0:1"), record("r:0:2", conversation_id="c2")], "feedbacks": [counted()]},
    )
    trace = await trace_event(services.ask, "e1", is_message=False)
    wanted = [("event_id", "e1"), ("message_id", "m1")]
    assert services.asked == {
        "chat": [("event_id", "e1")],
        "inference": wanted,
        "feedback": [*wanted, ("cause", "x:0:1"), ("cause", "post.published:0:2")],
        "reports": [
            *wanted, ("cause", "x:0:1"), ("cause", "post.published:0:2"), ("cause", "y:0:1"), ("feedback_id", "f1"),
        ],
    }  # fmt: skip
    assert {name: [one["at"] for one in found] for name, found in trace.records.items()} == {
        "chat_bridge": [f"{MESSAGE}:0:1", "post.published:0:2"], "inference": [], "feedback": ["f:0:1"],
        "reporting": ["r:0:1"],
    }  # fmt: skip
    assert (trace.judged, trace.stored, trace.counted) == ([judged()], {"f1": stored()}, {"f1": counted()})


async def test_a_message_is_asked_for_once() -> None:
    services = Services(chat={"records": [record(f"{MESSAGE}:0:1"), record(f"{MESSAGE}:0:2", message_id="m2")]})
    await trace_event(services.ask, "m1", is_message=True)
    assert services.asked["inference"] == [("message_id", "m1"), ("message_id", "m2")]


async def test_records_of_any_conversation_count_if_the_bridge_has_none() -> None:
    services = Services(reports={"records": [record("r:0:1")]}, inference={"judged": [judged()]})
    trace = await trace_event(services.ask, "e1", is_message=False)
    assert (len(trace.records["reporting"]), len(trace.judged)) == (1, 1)


async def test_a_question_names_at_most_a_hundred_ids() -> None:
    rows = [record(f"{MESSAGE}:0:{number}", message_id=f"m{number}") for number in range(MOST_IDS + 20)]
    services = Services(chat={"records": [*rows, *rows]})
    await trace_event(services.ask, "e1", is_message=False)
    assert services.asked["inference"] == [
        ("event_id", "e1"), *(("message_id", f"m{number}") for number in range(100))
    ]  # fmt: skip


def where(answer: Callable[[httpx.Request], httpx.Response], *more: str) -> Ended:
    """Run the command against services that respond with `answer`."""
    client = partial(httpx.AsyncClient, transport=httpx.MockTransport(answer))
    place = ["--tenant", "a b", "--project", "support", "--url", "http://services", "--token", "t0k3n"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(httpx, "AsyncClient", client)
        return agent_feedback_here("where", "e/1", *place, *more)


def test_the_command_shows_the_steps() -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        found = [record(f"{MESSAGE}:0:1", detail="[/red]")] if request.url.path.endswith("/chat") else []
        return httpx.Response(200, json={"records": found, "feedbacks": [], "judged": []})

    ended = where(answer)
    assert ended.code == 0, ended.err
    assert [" ".join(line.split()) for line in ended.out.splitlines()] == [
        "service record outcome feedback", f"chat_bridge {MESSAGE}:0:1 stored ([/red])"
    ]  # fmt: skip
    assert {request.headers["authorization"] for request in asked} == {"Bearer t0k3n"}
    assert str(asked[0].url) == "http://services/conversations/a%20b/support/where/chat?event_id=e%2F1"
    as_json = where(answer, "--message", "--json")
    assert as_json.code == 0
    assert [one["at"] for one in json.loads(as_json.out)["chat_bridge"]] == [f"{MESSAGE}:0:1"]
    assert asked[4].url.query == b"message_id=e%2F1"


def test_the_command_fails_if_nobody_knows_the_event() -> None:
    nothing: dict[str, Any] = {"records": [], "feedbacks": [], "judged": []}
    for more, out in (((), ""), (("--json",), {"chat_bridge": [], "inference": [], "feedback": [], "reporting": [],
                                               "judged": [], "stored": [], "reported": []})):  # fmt: skip
        ended = where(lambda _: httpx.Response(200, json=nothing), *more)
        assert (ended.code, json.loads(ended.out) if more else ended.out) == (1, out)
        assert ended.err.startswith("No service knows it: ")


def test_the_command_tells_an_error_in_a_sentence() -> None:
    def down(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    for answer, said in (
        (down, "http://services does not answer: ConnectError."),
        (
            lambda _: httpx.Response(403, json={"detail": "The scope read is missing."}),
            "http://services/ rejects the request with 403: The scope read is missing.",
        ),
        (
            lambda _: httpx.Response(502, text="<html>"),
            "http://services/ rejects the request with 502: it gave no reason.",
        ),
        (lambda _: httpx.Response(400, json=[]), "http://services/ rejects the request with 400: it gave no reason."),
    ):
        ended = where(answer)
        assert (ended.code, ended.out, ended.err.strip()) == (1, "", said)
