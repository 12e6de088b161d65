"""Conversion of a request's lines into records."""

from __future__ import annotations

import asyncio
import json

import pytest

from chat_bridge.ingest import IngestProject, TooManyLines, ValidLine, check, check_line
from tests.support.logs import example

TOPIC = "chat.message.ingested"
HERE = IngestProject("acme", "support")
EVENT = json.loads(example(TOPIC, "least"))


def line(**changes: object) -> bytes:
    return json.dumps({"topic": TOPIC, **EVENT, **changes}).encode()


def without(*names: str) -> bytes:
    return json.dumps({name: value for name, value in json.loads(line()).items() if name not in names}).encode()


async def test_lines_keep_their_order_and_their_numbers_and_blank_ones_are_skipped() -> None:
    body = b"\n".join([line(messageId="m1"), b" \t\r", b"7", line(messageId="m2"), b"{", line(tenant="globex"), b""])
    checked = await check(body, HERE)
    assert [(one.number, json.loads(one.message.value or b"")["messageId"]) for one in checked.valid] == [
        (1, "m1"),
        (4, "m2"),
    ]
    assert [(one.line, one.reason) for one in checked.refused] == [
        (3, "invalid_json"),
        (5, "invalid_json"),
        (6, "other_tenant"),
    ]
    assert await check(b"", HERE) == await check(b"\n \n", HERE)


async def test_a_request_has_at_most_50_000_line_ends() -> None:
    assert (await check(b"\n" * 50_000, HERE)).refused == []
    with pytest.raises(TooManyLines):
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
    ("sent", "reason"),
    [
        (b"[]", "invalid_json"),
        (b'"text"', "invalid_json"),
        (b"\xff", "invalid_json"),
        (without("topic"), "unknown_topic"),
        (line(topic=7), "unknown_topic"),
        (line(topic="feedback.created"), "unknown_topic"),
        (line(project="sales"), "other_project"),
        (line(tenant=None), "other_tenant"),
        (line(messageId=None), "invalid_event"),
    ],
)
def test_the_first_broken_rule_refuses_a_line(sent: bytes, reason: str) -> None:
    assert check_line(sent, HERE)[0] == reason


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
