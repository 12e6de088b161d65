"""Stored verdicts as the command `where` shows them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest_asyncio

from contracts.detectors import precedence
from contracts.where import JudgedMessage
from inference.where import judged
from tests.support.databases import empty_schema
from tests.support.filled_rows import insert

HERE = {"tenant": "acme", "project": "support", "conversation_id": "c1", "message_id": "m1"}
DETECTOR = "2026-11-23.a1b2c3d4"
SAID, JUDGED = (datetime(2026, 1, 1, 10, minute, tzinfo=UTC) for minute in (0, 5))


@pytest_asyncio.fixture
async def pool(postgres_url: str) -> AsyncIterator[Any]:
    async with empty_schema(postgres_url, "inference", size=1) as opened:
        yield opened


async def said(pool: Any, *places: dict[str, str], role: str = "human") -> None:
    for place in places:
        await insert(pool, "messages", HERE | place | {"role": role, "stored_at": SAID})


async def stored(pool: Any, status: str, **more: Any) -> None:
    verdict = {"status": status, "confidence": 0.6, "turn_id": "t1", "decided_by": "rules", "announced": False}
    stamp = {"judged_by": precedence(DETECTOR), "epoch": 7, "stored_at": JUDGED}
    await insert(pool, "verdicts", HERE | verdict | stamp | more)


HELD_BACK = [
    ("neutral", "below_threshold", False, ("rejected", "below_threshold")),
    ("neutral", "below_target", False, ("rejected", "below_target")),
    ("accepted", "below_threshold", False, ("accepted", "below_threshold")),
    ("neutral", "no_feedback", False, ("neutral", "no_feedback")),
    ("accepted", "follow_up", False, ("accepted", "follow_up")),
    ("rejected", None, True, ("rejected", None)),
    ("rejected", "below_threshold", True, ("rejected", None)),
    ("rejected", None, False, ("rejected", None)),
]
"""Status, reason and announcement of a stored verdict, then the verdict and the reason that are shown."""


async def test_a_rejection_that_is_held_back_as_doubtful_is_shown_as_one(pool: Any) -> None:
    names = [f"m{number}" for number in range(len(HELD_BACK))]
    await said(pool, *({"message_id": name} for name in names))
    for name, (status, held_back, announced, _) in zip(names, HELD_BACK, strict=True):
        await stored(pool, status, message_id=name, held_back=held_back, announced=announced)
    assert await judged(pool, "acme", "support", names) == [
        JudgedMessage(
            message_id=name,
            conversation_id="c1",
            role="human",
            verdict=verdict,
            confidence=0.6,
            turn_id="t1",
            decided_by="rules",
            detector=DETECTOR,
            epoch=7,
            announced=announced,
            held_back=reason,
            noted_at="2026-01-01T10:05:00.000000Z",
        )
        for name, (_, _, announced, (verdict, reason)) in zip(names, HELD_BACK, strict=True)
    ]


async def test_a_message_without_a_verdict_is_shown_with_the_time_it_was_stored(pool: Any) -> None:
    await said(pool, {}, role="agent")
    await stored(pool, "rejected", message_id="m2")
    await stored(pool, "rejected", conversation_id="c2")
    [found] = await judged(pool, "acme", "support", ["m1", "m2"])
    assert found == JudgedMessage(
        message_id="m1", conversation_id="c1", role="agent", noted_at="2026-01-01T10:00:00.000000Z"
    )


async def test_messages_of_the_project_are_shown_by_conversation_and_id(pool: Any) -> None:
    places = [("c2", "m1"), ("c1", "m2"), ("c2", "m0"), ("c1", "m1"), ("c1", "m3")]
    await said(pool, *({"conversation_id": conversation, "message_id": name} for conversation, name in places))
    await said(pool, {"tenant": "globex"}, {"project": "sales"})
    found = await judged(pool, "acme", "support", ["m0", "m1", "m2"])
    assert [(one.conversation_id, one.message_id) for one in found] == sorted(places)[:2] + sorted(places)[3:]
    assert await judged(pool, "acme", "support", []) == []
