"""Chat events over HTTP: the accepted lines, and the feedback from them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from servicekit.log.outcome import Observation, Outcome
from tests.support.running_stack import RunningStack, exchange, message, reaction, running_stack
from tests.support.waits import PATIENCE_SECONDS

PATH = "/ingest/acme/support/events"
NDJSON = {"Content-Type": "application/x-ndjson"}


def lines(*events: Any) -> bytes:
    return b"\n".join(event if isinstance(event, bytes) else json.dumps(event).encode() for event in events)


def without(event: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in names}


async def send(stack: RunningStack, content: bytes, token: str = "chat", path: str = PATH) -> Any:
    async with stack.client(token) as http:
        return await http.post(path, content=content, headers=NDJSON)


async def test_events_become_feedback(stack: RunningStack) -> None:
    events = (*exchange("c-in", "t1"), reaction("t1-answer", "c-in"))
    answer = await send(stack, lines(*events) + b"\n")
    assert answer.status_code == 200
    assert answer.json() == {"accepted": 3, "refused": [], "refused_total": 0}
    await stack.quiet()
    async with stack.client("ann") as http:
        held = await http.get("/conversations/acme/support/c-in/turns/t1/feedback")
    assert (held.json()["reaction"], held.json()["emoji"]) == ("not_ok", "👎")


async def test_events_of_another_style_become_feedback(stack: RunningStack) -> None:
    """Numeric ids, times in milliseconds, an agent without `agentId`, a platform's own roles, a picture."""
    at = 1767261600000
    common = {"conversationId": 77_000_000_000_000_001, "turnId": ""}
    events = [
        {"messageId": 1, "senderId": 42, "senderType": "human", "userType": "volunteer", "content": "Which train?"},
        {"messageId": 2, "senderId": 9, "senderType": "agent", "content": "The 7:40 one."},
        {"messageId": 3, "senderId": 42, "senderType": "human", "content": "", "attachments": [{"type": "image"}]},
        {"messageId": 3, "originalMessageId": 2, "senderId": 42, "senderType": "human", "content": ""},
        {"messageId": 2, "userId": 42, "userType": "volunteer", "emoji": "♥️"},
    ]
    topics = ["chat.message.ingested"] * 3 + ["chat.message.reply.ingested", "chat.message.reaction.ingested"]
    styled = [
        common | event | {"topic": topic, "eventId": number, "occurredAt": at + number * 1_000}
        for number, (topic, event) in enumerate(zip(topics, events, strict=True), 1)
    ]
    answer = await send(stack, lines(*styled))
    assert answer.json() == {"accepted": 5, "refused": [], "refused_total": 0}
    await stack.quiet()
    async with stack.client() as http:
        found = await http.post(
            "/conversations/acme/support/feedback/search",
            json={
                "conversation_id": "77000000000000001",
                "feedback_type": "reaction",
                "start": "2026-01-01T00:00:00Z",
                "end": "2026-02-01T00:00:00Z",
            },
        )
    [shown] = found.json()["items"]
    assert (shown["value"], shown["agent_id"], shown["turn_id"], shown["user_id"]) == (0.8, "9", "2", "42")
    query = "select slots::text from feedback.feedback where conversation_id = '77000000000000001' and source_id = '3'"
    [reply] = await stack.rows(query)
    payload = json.loads(reply["slots"])[""]["payload"]
    assert (payload["value"], payload["text"], payload["turn_id"]) == (0.4, None, "2")
    roles = await stack.rows(
        "select feedback_type, user_type from reporting.feedbacks where conversation_id = '77000000000000001'"
    )
    assert {row["feedback_type"]: row["user_type"] for row in roles} == {"implicit": "human", "reaction": "volunteer"}
    said = await stack.rows("select status from inference.verdicts where conversation_id = '77000000000000001'")
    assert {row["status"] for row in said} == {"neutral"}


async def test_producers_are_told_of_their_refused_events(stack: RunningStack) -> None:
    """Events from HTTP and the log, of the project only, without content."""
    bad = message("m-refused", "c-refused", senderType="robot") | {"content": "a secret"}
    await send(stack, lines(without(bad, "messageId"), without(bad, "messageId"), b"{"))
    await stack.publish(bad | {"eventId": "from-the-log"}, bad | {"eventId": "theirs", "tenant": "globex"})
    await stack.quiet()
    path = "/conversations/acme/support/refused"
    async with stack.client("chat") as http:
        answer = await http.get(path)
        later = await http.get(path, params={"since": "2999-01-01T00:00:00Z"})
        assert (await http.get(path, params={"since": "yesterday"})).status_code == 422
        assert (await http.get("/conversations/globex/support/refused")).status_code == 403
    named = [(one["event_id"], one["reason"], one["detail"], one["times"]) for one in answer.json()["items"]]
    assert sorted(named)[0] == ("", "invalid_json", "not one JSON value in UTF-8", 1)
    assert ("from-the-log", "invalid_event", "senderType: input should be 'human', 'agent' or 'system'", 1) in named
    assert [one[1:] for one in named if one[0] == bad["eventId"]] == [("invalid_event", "messageId: field required", 2)]
    assert len(named) == 3
    assert "secret" not in answer.text
    assert later.json() == {"items": [], "truncated": False}
    async with stack.client() as http:
        theirs = (await http.get("/conversations/globex/support/refused")).json()["items"]
    assert [one["event_id"] for one in theirs] == ["theirs"]


async def test_producers_are_told_of_a_reaction_whose_message_never_came(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAT_BRIDGE_PARKED_DAYS", "1e-9")
    monkeypatch.setenv("CHAT_BRIDGE_SWEEP_SECONDS", "0.2")
    given_up = asyncio.Event()

    def watch(observation: Observation) -> None:
        if observation.outcome == Outcome.dead_lettered("original_never_came"):
            given_up.set()

    async with running_stack(
        postgres_url, lambda around: replace(around, observers=[*around.observers, watch])
    ) as running:
        lost = reaction("never-published", "c-lost")
        await running.publish(lost)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await given_up.wait()
        async with running.client("chat") as http:
            [told] = (await http.get("/conversations/acme/support/refused")).json()["items"]
    assert (told["topic"], told["event_id"]) == (lost["topic"], lost["eventId"])
    assert (told["reason"], told["times"]) == ("original_never_came", 1)


async def test_a_line_that_names_no_place_is_of_the_address(stack: RunningStack) -> None:
    await stack.quiet()
    before = len(stack.seen)
    bare = [without(event, "tenant", "project") for event in exchange("c-bare", "t1")]
    assert (await send(stack, lines(*bare))).json()["accepted"] == 2
    await stack.quiet()
    assert not [one for one in stack.seen[before:] if one.outcome.kind == "dead_lettered"]
    async with stack.client("ann") as http:
        judged = await http.post("/conversations/acme/support/c-bare/turns/t1/feedback", json={"reaction": "ok"})
    assert judged.status_code == 202


async def test_what_is_taken_is_what_the_consumers_take(stack: RunningStack) -> None:
    """No accepted line ends in the dead letters."""
    await stack.quiet()
    before = len(stack.seen)
    odd = message("m-odd", "c-odd", agent="bot", content="\u2028 \U0001f600 \\ud83d", sequence=0, userType="privileged")
    raw = json.dumps(odd, ensure_ascii=False).encode()
    escaped = raw.replace(b'"tenant"', b'"ten\\u0061nt"').replace(b"m-odd", b"m-escaped")
    assert (await send(stack, lines(raw, escaped))).json()["accepted"] == 2
    await stack.quiet()
    outcomes = [one for one in stack.seen[before:] if one.topic == "chat.message.ingested"]
    assert len(outcomes) == 2 * 4
    assert not [one for one in outcomes if one.outcome.kind == "dead_lettered"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 415),
        ({"Content-Type": "application/json"}, 415),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"}, 415),
        ({"Content-Type": "Application/X-NDJSON; charset=utf-8"}, 200),
    ],
)
async def test_the_body_must_say_what_it_is(stack: RunningStack, headers: dict[str, str], status: int) -> None:
    async with stack.client("chat") as http:
        assert (await http.post(PATH, content=b"", headers=headers)).status_code == status
