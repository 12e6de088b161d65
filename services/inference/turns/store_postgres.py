"""PostgreSQL turn index. Each step of a batch takes one statement. The queries are in `search_postgres.py`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import UUID

import asyncpg
import numpy as np

from contracts.detectors import DetectorVersion
from contracts.ids import conversation_key, partition_of
from detector.model import Verdict
from inference.sql import SQL
from inference.store import MessageKey, Placed
from inference.turns.facts import Facts
from inference.turns.rules import TurnKey
from inference.turns.search_postgres import PostgresTurnSearch
from inference.turns.store import PreviousVerdict, UserReaction
from inference.turns.vectors import TurnVectors
from servicekit.db.database import Database

_LOCKS: Final = 2**31 - 1
_NO_QUESTION: Final = (None,) * 4
_NO_REPLY: Final = (None,) * 10


class PostgresTurnIndex(PostgresTurnSearch):
    """PostgreSQL implementation of `turns.store.TurnIndex`.

    The tables of the schema `inference` must be on the search path of the pool.
    """

    def __init__(self, pool: asyncpg.Pool, vectors: TurnVectors) -> None:
        super().__init__(pool, vectors)
        self._judged = [name for name in SQL.take_turns.values if name.startswith("judged_")]

    async def take(
        self, facts: Collection[Facts], judged: Collection[tuple[Placed, Verdict]], detector: DetectorVersion
    ) -> Mapping[MessageKey, PreviousVerdict]:
        conversations = {one.key[:3] for one in facts} | {placed.indexed.conversation for placed, _ in judged}
        if not conversations:
            return {}
        packed = self._vectors.packed(text for one in facts for text in one.texts)
        rows = [_facts_row(one, packed.places) for one in sorted(facts, key=lambda one: one.key)]
        by_key = {placed.indexed.key: (placed, verdict) for placed, verdict in judged}
        verdicts = [_verdict_row(*by_key[key], detector) for key in sorted(by_key)]
        previous = await Database.call(
            self._pool,
            SQL.take_turns,
            rows,
            **{name: [row[at] for row in verdicts] for at, name in enumerate(self._judged)},
            locks=_locks(conversations),
            vectors=packed.rows.astype(np.float32).ravel().tolist(),
            made_by=self._vectors.made_by,
        )
        return {MessageKey(*row[:4]): _previous_verdict(row) for row in previous}

    async def take_reactions(self, reactions: Collection[UserReaction]) -> set[UUID]:
        if not reactions:
            return set()
        rows = [_reaction_row(one) for one in sorted(reactions, key=lambda one: one.feedback_id)]
        locks = _locks(one.turn[:3] for one in reactions)
        written = await Database.call(self._pool, SQL.take_reactions, rows, locks=locks)
        return {row[0] for row in written}

    async def forget(self, revisions: Mapping[UUID, int]) -> None:
        statement = SQL.turns_of_reactions(feedback_ids=list(revisions))
        known = [TurnKey(*row) for row in await self._pool.fetch(*statement)]
        async with self._locked({key[:3] for key in known}) as connection:
            dropped = await connection.fetch(*SQL.delete_reactions.bulk(list(revisions.items())))
            await connection.execute(*SQL.update_user_status.bulk(_keys(TurnKey(*row) for row in dropped)))

    @asynccontextmanager
    async def _locked(self, conversations: Iterable[tuple[str, ...]]) -> AsyncIterator[Any]:
        """Open a transaction that holds the advisory locks of these conversations."""
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute(*SQL.lock_turns(locks=_locks(conversations)))
            yield connection


def _locks(conversations: Iterable[tuple[str, ...]]) -> list[int]:
    """Return the advisory lock numbers of the conversations, sorted to avoid deadlocks."""
    return sorted({partition_of(conversation_key(*one), _LOCKS) for one in conversations})


def _facts_row(facts: Facts, places: Mapping[str, int]) -> tuple[Any, ...]:
    q, r = facts.question, facts.reply
    asked = (q.version, q.message_id, q.user_id, q.text) if q else _NO_QUESTION
    vectors = (places.get(q.text or "") if q else None, places.get(r.text) if r else None)
    if r is None:
        return (*facts.key, facts.at, *asked, *_NO_REPLY, *vectors)
    details = (r.intent, r.strategy, r.validation_outcome, r.quality_score, r.track_id, r.bundle_id)
    return (*facts.key, facts.at, *asked, r.version, r.message_id, r.agent_id, r.text, *details, *vectors)


def _previous_verdict(row: Any) -> PreviousVerdict:
    detector = None if row["release"] is None else DetectorVersion(row["release"], row["mode"], row["digest"])
    emitted = row["emitted_turn_id"], row["emitted_agent_id"]
    return PreviousVerdict(detector, row["evaluation"] or 0, bool(row["announced"]), *emitted)


def _verdict_row(placed: Placed, verdict: Verdict, detector: DetectorVersion) -> tuple[Any, ...]:
    """Return the database row for a verdict.

    Neutral verdicts are stored too, so that an older verdict cannot replace them.
    """
    where, message, target = placed.indexed.conversation, placed.indexed.message, verdict.target
    about = target.turn_id if target is not None and verdict.status != "neutral" else None
    said = (verdict.status, verdict.confidence, verdict.correction_type, verdict.decided_by, verdict.emitted)
    return (
        *where,
        message.message_id,
        about,
        message.turn_id,
        *said,
        message.at,
        *detector,
        placed.evaluation,
        message.sender_id,
        target.agent_id if target is not None else None,
    )


def _reaction_row(one: UserReaction) -> tuple[Any, ...]:
    said = (one.user_id, one.explicit, one.reviewer, one.status, one.said, json.dumps(one.tags), one.correction)
    return (one.feedback_id, *one.turn, *said, one.at, one.revision)


def _keys(turns: Iterable[TurnKey]) -> list[TurnKey]:
    return sorted(set(turns))
