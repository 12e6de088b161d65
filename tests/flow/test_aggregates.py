"""`feedback.aggregated` in the whole flow: the documented consumer holds a recount of `feedback.created`."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from contracts.topics import FEEDBACK_AGGREGATED, FEEDBACK_CREATED
from proofs.chaos.logs import records_of
from tests.support.aggregate_recount import Place, Raw, announced, recounted
from tests.support.erasures import erased
from tests.support.running_stack import RunningStack, exchange, running_stack

PAGE = Path(__file__).parents[2] / "docs" / "aggregates.md"


@asynccontextmanager
async def summing(url: str, **settings: str) -> AsyncIterator[RunningStack]:
    with pytest.MonkeyPatch.context() as environment:
        for name, value in settings.items():
            environment.setenv(f"FEEDBACK_AGGREGATE_{name.upper()}", value)
        async with running_stack(url) as running:
            yield running


@asynccontextmanager
async def documented_consumer(broker: str) -> AsyncIterator[dict[bytes, dict[str, Any]]]:
    """Run the consumer of the documentation; yield what it holds."""
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    turns: dict[bytes, dict[str, Any]] = {}
    work = asyncio.create_task(names["follow"](broker, turns))
    try:
        yield turns
    finally:
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work


async def raw(stack: RunningStack, topic: str) -> list[Raw]:
    found = await records_of(stack.broker.bootstrap, topic)
    revisions = [dict(record.headers).get("revision") or b"0" for record in found]
    return [
        Raw(record.key.decode(), record.value, int(revision)) for record, revision in zip(found, revisions, strict=True)
    ]


async def until_summed(stack: RunningStack, turns: dict[bytes, dict[str, Any]]) -> dict[Place, tuple[int, float]]:
    """Wait until the consumer holds what the feedback amounts to; return it."""
    await stack.quiet()
    expected = recounted(await raw(stack, FEEDBACK_CREATED.name))
    found: dict[Place, tuple[int, float]] = {}
    try:
        async with asyncio.timeout(30):
            while found != expected:
                await asyncio.sleep(0.05)
                found = announced(Raw(key.decode(), json.dumps(one).encode()) for key, one in turns.items())
    except TimeoutError:
        assert found == expected
    return found


def thumb(conversation: str, user: str, emoji: str = "👍", **fields: Any) -> dict[str, Any]:
    return {
        "topic": "chat.message.reaction.ingested",
        "eventId": str(uuid4()),
        "occurredAt": "2026-01-01T10:01:00Z",
        "tenant": "acme",
        "project": "support",
        "messageId": f"{conversation}-answer",
        "conversationId": conversation,
        "userId": user,
        "userType": "human",
        "emoji": emoji,
    } | fields


async def test_the_documented_consumer_holds_what_the_feedback_amounts_to(postgres_url: str) -> None:
    async with summing(postgres_url, after="2", quiet_seconds="1") as stack, stack.client("ann") as http:
        async with documented_consumer(stack.broker.bootstrap) as turns:
            for name in ("s1", "s2", "s3"):
                await stack.publish(*exchange(name, name), thumb(name, "bob"), thumb(name, "cy", "👎"))
            await stack.quiet()
            path = "/conversations/acme/support/s1/turns/s1/feedback"
            assert (await http.post(path, json={"reaction": "not_ok"})).status_code == 202
            found = await until_summed(stack, turns)
            assert found["acme", "support", "s1", "s1", "bot"] == (3, -0.333333333)
            assert found["acme", "support", "s2", "s2", "bot"] == (2, 0.0)

            removed = {"action": "removed", "occurredAt": "2026-01-01T10:02:00Z"}
            late = {"occurredAt": "2026-01-01T09:00:00Z"}
            await stack.publish(thumb("s2", "bob", **removed), thumb("s3", "dan", "❤️", **late))
            await erased(stack, "cy")
            found = await until_summed(stack, turns)
            assert ("acme", "support", "s2", "s2", "bot") not in found
            assert found["acme", "support", "s3", "s3", "bot"] == (2, 0.7)
            cleared = [one for one in turns.values() if one["turnId"] == "s2"]
            assert [(one["count"], one["change"]) for one in cleared] == [(0, "cleared")]
        assert b"cy" not in b"".join(one.value or b"" for one in await raw(stack, FEEDBACK_AGGREGATED.name))


async def test_without_the_setting_nothing_is_summed_up(postgres_url: str) -> None:
    async with running_stack(postgres_url) as stack:
        await stack.publish(*exchange("off", "off"), thumb("off", "bob"))
        await stack.quiet()
        assert "feedback_aggregates" not in {one.group for one in stack.seen}
        assert await stack.rows("select * from feedback.aggregated_verdicts") == []
        assert await raw(stack, FEEDBACK_AGGREGATED.name) == []
