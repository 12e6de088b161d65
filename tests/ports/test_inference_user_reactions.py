"""Explicit judgements and tombstones in the index of turns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

import inference.service
from contracts.feedback import FeedbackCreated, FeedbackErased
from detector.encoders.embedder import WordLlamaEmbedder
from inference.turns.store_postgres import PostgresTurnIndex
from inference.turns.user_reactions import NO_REACTION, UserReactionHandler, reaction_of
from inference.turns.vectors import TurnVectors
from servicekit.db.pools import open_pool
from servicekit.log.outcome import Outcome
from servicekit.log.records import Coordinates, RawRecord, Received
from tests.support.logs import NOW, example

SCHEMA = Path(inference.service.__file__).parent / "sql" / "schema.sql"
TOPIC = "feedback.created"


@pytest_asyncio.fixture
async def pool(postgres_url: str) -> AsyncIterator[Any]:
    opened = await open_pool(postgres_url, "inference", SCHEMA, size=2)
    await opened.execute("truncate messages, turns, verdicts, user_reactions")
    yield opened
    await opened.close()


def record() -> RawRecord:
    return RawRecord(Coordinates(TOPIC, 0, 1), None, None, (), NOW)


def judged(revision: int, reaction: str) -> Received[FeedbackCreated]:
    value = example(TOPIC, "created", revision=revision, feedbackType="explicit", reaction=reaction)
    return Received(FeedbackCreated.model_validate_json(value), record())


def ended(revision: int = 2) -> Received[FeedbackErased]:
    return Received(FeedbackErased(judged(1, "ok").event.feedback_id, revision), record())


async def status(pool: Any) -> str | None:
    found: str | None = await pool.fetchval("select user_feedback_status from turns")
    return found


async def test_what_is_said_after_a_tombstone_in_the_same_batch_stays(pool: Any) -> None:
    events = UserReactionHandler(PostgresTurnIndex(pool, TurnVectors(WordLlamaEmbedder())))
    outcomes = await events.handle([judged(1, "ok"), ended(), judged(3, "not_ok")])
    assert outcomes[2] == Outcome.STORED
    assert await status(pool) == "rejected"
    assert await pool.fetchval("select feedback_id from user_reactions") == ended().event.feedback_id


@pytest.mark.parametrize("together", [True, False])
async def test_a_tombstone_erases_only_the_revisions_up_to_its_own(pool: Any, together: bool) -> None:
    """A tombstone is written to all partitions, so its copies may be read after a later revision."""
    events = UserReactionHandler(PostgresTurnIndex(pool, TurnVectors(WordLlamaEmbedder())))
    said: list[Received[Any]] = [judged(3, "not_ok"), ended(2)]
    for part in [said] if together else [[one] for one in said]:
        await events.handle(part)
    assert await status(pool) == "rejected"
    await events.handle([ended(3)])
    assert await pool.fetchval("select count(*) from user_reactions") == 0


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
@pytest.mark.parametrize("together", [True, False])
async def test_the_highest_revision_counts_in_any_order(pool: Any, order: tuple[int, ...], together: bool) -> None:
    events = UserReactionHandler(PostgresTurnIndex(pool, TurnVectors(WordLlamaEmbedder())))
    said = [judged(revision, "not_ok" if revision == 3 else "ok") for revision in order]
    batches = [said] if together else [[one] for one in said]
    outcomes = [outcome for part in batches for outcome in await events.handle(part)]
    assert await status(pool) == "rejected"
    assert outcomes[order.index(3)] == Outcome.STORED
    late = order[order.index(3) + 1 :]
    assert all(outcomes[order.index(revision)] == Outcome.UNCHANGED for revision in late)
    assert await events.handle([judged(3, "not_ok")]) == [Outcome.UNCHANGED], "a repetition changes nothing"


async def test_a_record_that_is_no_reaction_of_a_person_is_ignored(pool: Any) -> None:
    events = UserReactionHandler(PostgresTurnIndex(pool, TurnVectors(WordLlamaEmbedder())))
    inferred = example(TOPIC, "created", feedbackType="inferred", origin="machine")
    verdict = Received(FeedbackCreated.model_validate_json(inferred), record())
    outcomes = await events.handle([verdict])
    assert outcomes == [NO_REACTION]
    assert await pool.fetchval("select count(*) from user_reactions") == 0


async def test_a_tombstone_takes_back_what_was_said_before_it(pool: Any) -> None:
    events = UserReactionHandler(PostgresTurnIndex(pool, TurnVectors(WordLlamaEmbedder())))
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
    events = UserReactionHandler(PostgresTurnIndex(pool, TurnVectors(WordLlamaEmbedder())))
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
