"""Conversion of a request's lines into records."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from chat_bridge.ingest import IngestProject, Intake, ValidLine, check, check_line
from chat_bridge.model import EventRefusal
from contracts.erasure import ERASURE_MARGIN, ErasedAt, Person
from contracts.instants import SECOND, format_instant, parse_instant
from contracts.log_time import FUTURE_LIMIT
from servicekit.errors import RequestRefused
from servicekit.log.records import Message, Written
from tests.support.hand_clock import HandClock
from tests.support.logs import RecordingLog, example

TOPIC = "chat.message.ingested"
HERE = IngestProject("acme", "support")
EVENT = json.loads(example(TOPIC, "least"))
TOPICS = (
    "topic must be one of chat.message.ingested, chat.message.reply.ingested, chat.message.reaction.ingested, "
    "post.published"
)
LIMIT = parse_instant("2026-11-20T09:29:00Z")
"""Latest time of the log at which an event five minutes later is one of the future."""


def line(**changes: object) -> bytes:
    return json.dumps({"topic": TOPIC, **EVENT, **changes}).encode()


def without(*names: str) -> bytes:
    return json.dumps({name: value for name, value in json.loads(line()).items() if name not in names}).encode()


async def test_lines_keep_their_order_and_their_numbers_and_blank_ones_are_skipped() -> None:
    body = b"\n".join([line(messageId="m1"), b" \t\r", b"7", line(messageId="m2"), b"{", line(tenant="globex"), b""])
    checked = await check(body, HERE)
    assert {
        number: line.reason if isinstance(line, EventRefusal) else json.loads(line.message.value or b"")["messageId"]
        for number, line in checked.items()
    } == {1: "m1", 3: "invalid_json", 4: "m2", 5: "invalid_json", 6: "other_tenant"}
    assert await check(b"", HERE) == await check(b"\n \n", HERE) == {}


async def test_a_request_has_at_most_50_000_line_ends() -> None:
    assert await check(b"\n" * 50_000, HERE) == {}
    with pytest.raises(RequestRefused, match="More than 50000 lines"):
        await check(b"\n" * 50_001, HERE)


async def test_others_run_while_a_long_request_is_read() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    running = asyncio.create_task(other())
    await check(b"\n" * 2_000, HERE)
    running.cancel()
    assert turns >= 10


@pytest.mark.parametrize(
    ("sent", "reason", "detail"),
    [
        (b"[]", "invalid_json", "not a JSON object"),
        (b'"text"', "invalid_json", "not a JSON object"),
        (b"\xff", "invalid_json", "not one JSON value in UTF-8"),
        (without("topic"), "unknown_topic", TOPICS),
        (line(topic=7), "unknown_topic", TOPICS),
        (line(topic="feedback.created"), "unknown_topic", TOPICS),
        (line(project="sales"), "other_project", "project differs from the one in the path"),
        (line(tenant=None), "other_tenant", "tenant differs from the one in the path"),
        (line(tenant="globex", project="sales"), "other_project", "project differs from the one in the path"),
        (line(messageId=None), "invalid_event", "messageId: "),
    ],
)
def test_the_first_broken_rule_refuses_a_line(sent: bytes, reason: str, detail: str) -> None:
    refused = check_line(sent, HERE)
    assert not isinstance(refused, ValidLine)
    assert refused.reason == reason
    assert refused.detail.startswith(detail)
    named = json.loads(line())["eventId"] if reason != "invalid_json" else ""
    assert (*refused[:2], refused.event_id) == (*HERE, named)
    assert refused.topic == ("" if reason in ("invalid_json", "unknown_topic") else TOPIC)


class TimedLog(RecordingLog):
    """Log that gives its records these times, or none."""

    def __init__(self, *times: int | None) -> None:
        super().__init__()
        self._times = times

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        written = await super().send(messages)
        return [replace(one, log_time=at) for one, at in zip(written, self._times, strict=False)]


@pytest.mark.parametrize(
    ("log_times", "reference_time", "refused"),
    [
        ((LIMIT, LIMIT - 1, None), None, [2]),
        ((None, None, None), None, []),
        ((LIMIT, LIMIT - 1, None), LIMIT - 1, [1, 2, 3]),
        ((LIMIT - 1, LIMIT - 1, None), LIMIT, []),
    ],
    ids=["the log's", "the clock's", "too early", "late enough"],
)
async def test_an_event_of_the_future_is_written_and_refused(
    log_times: Sequence[int | None], reference_time: int | None, refused: list[int]
) -> None:
    clock, log = HandClock(), TimedLog(*log_times)
    clock.forward(LIMIT / SECOND - clock.monotonic())
    at = format_instant(LIMIT + FUTURE_LIMIT)
    lines = [line(occurredAt=at, messageId=f"m{number}") for number in (1, 2, 3)]
    taken = await Intake(log, clock, reference_time, nobody, ignore).take(HERE, b"\n".join(lines))
    assert [(line, fault.reason) for line, fault in taken.refused.items()] == [(n, "future") for n in refused]
    assert (taken.accepted, len(log.messages)) == (3 - len(refused), 3)


async def nobody(_: Collection[Person]) -> ErasedAt:
    return {}


async def ignore(_: Collection[EventRefusal]) -> None:
    pass


@pytest.mark.parametrize(
    ("after_erasure", "erased"), [(-FUTURE_LIMIT, True), (ERASURE_MARGIN, True), (ERASURE_MARGIN + 1, False)], ids=str
)
async def test_an_erased_persons_events_are_refused_and_noted(after_erasure: int, erased: bool) -> None:
    noted: list[EventRefusal] = []

    async def note(refusals: Collection[EventRefusal]) -> None:
        noted.extend(refusals)

    async def eve(people: Collection[Person]) -> ErasedAt:
        return {person: LIMIT for person in people if person == ("acme", "eve")}

    log, clock = RecordingLog(), HandClock()
    clock.forward((LIMIT + ERASURE_MARGIN) / SECOND + 9 - clock.monotonic())
    at = format_instant(LIMIT + after_erasure)
    lines = [line(eventId=who, senderId=who, senderType="human", occurredAt=at) for who in ("eve", "ann")]
    agent = line(eventId="bot", senderId="eve", senderType="agent", agentId="eve", occurredAt=at)
    accepted, refused = await Intake(log, clock, None, eve, note).take(HERE, b"\n".join([*lines, agent]))
    assert (accepted, len(log.messages)) == ((2, 2) if erased else (3, 3))
    assert [(line, fault.reason) for line, fault in refused.items()] == ([(1, "erased")] if erased else [])
    assert [(refusal.event_id, refusal.reason) for refusal in noted] == ([("eve", "erased")] if erased else [])


@pytest.mark.parametrize("missing", [(), ("tenant",), ("project",), ("tenant", "project")])
def test_a_missing_place_is_the_request_s_and_the_other_bytes_stay(missing: tuple[str, ...]) -> None:
    sent = without(*missing)
    taken = check_line(sent, HERE)
    assert isinstance(taken, ValidLine)
    value = taken.message.value or b""
    event = json.loads(value)
    assert (event["tenant"], event["project"]) == ("acme", "support")
    assert value.endswith(sent[1:])
    assert taken.message.topic == TOPIC
    assert taken.message.key == f"acme/support/{EVENT['conversationId']}"
