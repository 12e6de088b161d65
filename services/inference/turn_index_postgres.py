"""The index of turns in PostgreSQL: one statement per step and batch. What it is asked is in `turn_reads_postgres`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg

from contracts.ids import conversation_key, partition_of
from inference.model import Verdict
from inference.store import Placed
from inference.turn_facts import Facts
from inference.turn_index import Judgement
from inference.turn_reads_postgres import TurnReads
from inference.turn_statements import (
    BY_MACHINE,
    BY_PEOPLE,
    FORGET,
    HELD,
    JOIN,
    JUDGE,
    LOCK,
    LOCKS,
    QUESTION,
    REPLY,
    SPEAK,
    STUBS,
    TAKEN,
    WHOSE,
)
from inference.turn_vectors import TurnVectors
from inference.turn_vectors_postgres import WIRES, VectorType, vector_type
from inference.turns import TurnKey


class PostgresTurnIndex(TurnReads):
    """See `turn_index.TurnIndex`. The pool's connections see the tables of the schema `inference`, and were prepared by
    `turn_vectors_postgres.take_bytes`."""

    def __init__(self, pool: asyncpg.Pool, vectors: TurnVectors, kind: VectorType) -> None:
        super().__init__(pool, vectors)
        self._join, self._wire = JOIN[kind], WIRES[kind]

    @classmethod
    async def over(cls, pool: asyncpg.Pool, vectors: TurnVectors) -> PostgresTurnIndex:
        """The index whose tables the pool's connections see."""
        return cls(pool, vectors, await vector_type(pool))

    async def take(self, facts: Collection[Facts], judged: Collection[tuple[Placed, Verdict]]) -> None:
        conversations = {one.key[:3] for one in facts} | {placed.indexed.conversation for placed, _ in judged}
        if not conversations:
            return
        packed = self._vectors.packed(text for one in facts for text in one.texts)
        rows = [_facts_row(one, packed.places) for one in sorted(facts, key=lambda one: one.key)]
        async with self._locked(conversations) as connection:
            if facts:
                columns = _columns(rows, len(TAKEN))
                await connection.execute(self._join, *columns, self._wire.packed(packed.rows), self._vectors.made_by)
            if judged:
                await self._let_speak(connection, judged)

    async def judge(self, judgements: Collection[Judgement]) -> set[UUID]:
        if not judgements:
            return set()
        ordered = sorted(judgements, key=lambda one: one.feedback_id)
        async with self._locked({one.turn[:3] for one in ordered}) as connection:
            written = await connection.fetch(JUDGE, *_columns([_judgement_row(one) for one in ordered], 12))
            news = {row[0] for row in written}
            turns = _keys(one.turn for one in ordered if one.feedback_id in news)
            await connection.execute(STUBS, *turns)
            await connection.execute(BY_PEOPLE, *turns)
        return news

    async def forget(self, feedback_ids: Collection[UUID]) -> None:
        known = [TurnKey(*row) for row in await self._pool.fetch(WHOSE, list(feedback_ids))]
        async with self._locked({key[:3] for key in known}) as connection:
            dropped = await connection.fetch(FORGET, list(feedback_ids))
            await connection.execute(BY_PEOPLE, *_keys(TurnKey(*row) for row in dropped))

    @asynccontextmanager
    async def _locked(self, conversations: Iterable[tuple[str, ...]]) -> AsyncIterator[Any]:
        """A transaction that alone works on these conversations; taken in one order, so that none waits in a ring."""
        locks = sorted({partition_of(conversation_key(*one), LOCKS) for one in conversations})
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute(LOCK, locks)
            yield connection

    async def _let_speak(self, connection: Any, judged: Collection[tuple[Placed, Verdict]]) -> None:
        by_key = {placed.indexed.key: (placed, verdict) for placed, verdict in judged}
        rows = [_verdict_row(*by_key[key]) for key in sorted(by_key)]
        held = await connection.fetch(HELD, *_columns(sorted(by_key), 3))
        await connection.execute(SPEAK, *_columns(rows, 13))
        spoken = {TurnKey(*row[:4]) for row in rows if row[3] is not None}
        turns = _keys(spoken | {TurnKey(*row) for row in held})
        await connection.execute(STUBS, *turns)
        await connection.execute(BY_MACHINE, *turns)


def _facts_row(facts: Facts, places: Mapping[str, int]) -> tuple[Any, ...]:
    q, r = facts.question, facts.reply
    asked = (q.order, q.message_id, q.user_id, q.text, places.get(q.text or "")) if q else (None,) * len(QUESTION)
    if r is None:
        return (*facts.key, facts.at, *asked, *(None,) * len(REPLY))
    told = (r.intent, r.strategy, r.validation_outcome, r.quality_score, r.track_id, r.bundle_id)
    return (*facts.key, facts.at, *asked, r.said_at, r.message_id, r.agent_id, r.text, places.get(r.text), *told)


def _verdict_row(placed: Placed, verdict: Verdict) -> tuple[Any, ...]:
    """A verdict that says nothing is kept too, so that an earlier look cannot speak after it."""
    where, message = placed.indexed.conversation, placed.indexed.message
    about = verdict.target.turn_id if verdict.target is not None and verdict.feedback != "neutral" else None
    said = (verdict.feedback, verdict.confidence, verdict.correction_type, verdict.decided_by, verdict.emitted)
    return (*where, about, message.message_id, message.turn_id, *said, message.at, placed.evaluation)


def _judgement_row(one: Judgement) -> tuple[Any, ...]:
    said = (one.user_id, one.status, one.said, json.dumps(one.tags), one.correction)
    return (one.feedback_id, *one.turn, *said, one.at, one.revision)


def _keys(turns: Iterable[TurnKey]) -> list[list[Any]]:
    return _columns(sorted(set(turns)), 4)


def _columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]
