"""Explicit judgements and tombstones in the index of turns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest_asyncio

import inference.service
from contracts.feedback import FeedbackCreated
from detector.encoders.embedder import WordLlamaEmbedder
from inference.turns.store_postgres import PostgresTurnIndex
from inference.turns.user_reactions import UserReactionHandler, reaction_of
from inference.turns.vectors import TurnVectors
from inference.turns.vectors_postgres import take_bytes
from servicekit.db.pools import open_pool
from servicekit.log.outcome import STORED
from servicekit.log.records import Coordinates, RawRecord, Received, Tombstone
from tests.support.logs import NOW, example

MIGRATIONS = Path(inference.service.__file__).parent / "migrations"
TOPIC = "feedback.created"


@pytest_asyncio.fixture
async def pool(postgres_url: str) -> AsyncIterator[Any]:
    opened = await open_pool(postgres_url, "inference", MIGRATIONS, size=2, init=take_bytes)
    await opened.execute("truncate messages, turns, verdicts, user_reactions")
    yield opened
    await opened.close()


def record() -> RawRecord:
    return RawRecord(Coordinates(TOPIC, 0, 1), None, None, (), NOW)


def judged(revision: int, reaction: str) -> Received[FeedbackCreated]:
    value = example(TOPIC, "created", revision=revision, feedbackType="explicit", reaction=reaction)
    return Received(FeedbackCreated.model_validate_json(value), record())


def ended() -> Tombstone:
    return Tombstone(str(judged(1, "ok").event.feedback_id), record())


async def status(pool: Any) -> str | None:
    found: str | None = await pool.fetchval("select user_feedback_status from turns")
    return found


async def test_what_is_said_after_a_tombstone_in_the_same_batch_stays(pool: Any) -> None:
    events = UserReactionHandler(await PostgresTurnIndex.over(pool, TurnVectors(WordLlamaEmbedder())))
    outcomes = await events.handle([judged(1, "ok"), ended(), judged(3, "not_ok")])
    assert outcomes[2] == STORED
    assert await status(pool) == "rejected"
    assert await pool.fetchval("select feedback_id from user_reactions") == UUID(ended().key)


async def test_a_tombstone_takes_back_what_was_said_before_it(pool: Any) -> None:
    events = UserReactionHandler(await PostgresTurnIndex.over(pool, TurnVectors(WordLlamaEmbedder())))
    await events.handle([judged(1, "not_ok")])
    assert await status(pool) == "rejected"
    await events.handle([ended()])
    assert await status(pool) == "neutral"


def test_a_cleared_reaction_keeps_no_words() -> None:
    value = example(
        TOPIC, "created", feedbackType="explicit", change="cleared", reaction=None, text="My number is 555."
    )
    found = reaction_of(FeedbackCreated.model_validate_json(value))
    assert found is not None
    assert (found.status, found.said, found.tags, found.correction) == (None, None, (), None)


def reviewed(reviewer: str, reaction: str | None, *, at: str, revision: int = 1) -> Received[FeedbackCreated]:
    said = {"origin": "reviewer", "source": "review", "feedbackType": "explicit", "userId": reviewer, "occurredAt": at}
    change = "cleared" if reaction is None else "created"
    own = {"feedbackId": str(UUID(int=len(reviewer))), "reaction": reaction, "change": change, "revision": revision}
    return Received(FeedbackCreated.model_validate_json(example(TOPIC, "created", **said, **own)), record())


async def test_a_review_sets_the_status_unless_a_person_has_judged_the_turn(pool: Any) -> None:
    events = UserReactionHandler(await PostgresTurnIndex.over(pool, TurnVectors(WordLlamaEmbedder())))
    await events.handle([reviewed("rita", "not_ok", at="2036-01-01T00:00:00Z")])
    assert await status(pool) == "rejected"
    await events.handle([reviewed("samuel", "neutral", at="2036-01-02T00:00:00Z")])
    assert await status(pool) == "neutral"
    await events.handle([reviewed("samuel", None, at="2036-01-03T00:00:00Z", revision=2)])
    assert await status(pool) == "rejected"
    await events.handle([judged(1, "ok")])
    assert await status(pool) == "accepted", "whatever a reviewer says, and whenever"
    await events.handle([ended()])
    assert await status(pool) == "rejected"
