"""The index of turns in PostgreSQL: one statement per step and batch. What it is asked is in `turn_reads_postgres`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg

from contracts.ids import conversation_key, partition_of
from inference.embed import Embedder
from inference.model import Verdict
from inference.store import Placed
from inference.turn_facts import Facts, turn_text
from inference.turn_index import Judgement
from inference.turn_reads_postgres import TurnReads
from inference.turn_vectors import DIMENSION, VectorColumn, vector_column
from inference.turn_statements import (
    ASKED,
    BY_MACHINE,
    BY_PEOPLE,
    COLUMNS,
    FORGET,
    HELD,
    JUDGE,
    LOCK,
    LOCKS,
    ON_TURN,
    QUESTION,
    REPLIED,
    REPLY,
    SETS,
    SILENT,
    SPEAK,
    STUBS,
    TEXTS,
    TYPES,
    WHOSE,
)
from inference.turns import TurnKey


class PostgresTurnIndex(TurnReads):
    """See `turn_index.TurnIndex`. The pool's connections see the tables of the schema `inference`."""

    def __init__(self, pool: asyncpg.Pool, embedder: Embedder, column: VectorColumn) -> None:
        super().__init__(pool, embedder, column)
        width = len(COLUMNS)
        columns = ", ".join(COLUMNS)
        taken = ", ".join(f"${n}::{TYPES.get(name, 'text')}[]" for n, name in enumerate(COLUMNS, 1))
        self._add = f"""
            insert into turns as t ({columns}, embedding)
            select {", ".join(f"e.{name}" for name in COLUMNS)}, {column.written(width + 2, "e.vector")}
            from unnest({taken}, ${width + 1}::int[]) as e ({columns}, vector)
            on conflict (tenant, project, conversation_id, turn_id) do update set
                at = least(t.at, excluded.at), {", ".join(SETS)}, embedding = coalesce(excluded.embedding, t.embedding)
            where {ASKED} or {REPLIED} or excluded.at < t.at or (t.at is null and excluded.at is not null)
            returning tenant, project, conversation_id, turn_id, user_order, user_message_id, assistant_said_at,
                agent_message_id"""
        self._mend = f"""
            update turns t set embedding = {column.written(6, "k.vector")}
            from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int[])
                k (tenant, project, conversation_id, turn_id, vector)
            where {ON_TURN}"""

    @classmethod
    async def open(cls, pool: asyncpg.Pool, embedder: Embedder) -> PostgresTurnIndex:
        """The index in this database. `embedder` must make vectors of 256 numbers."""
        if embedder.dimension != DIMENSION:
            raise ValueError(f"the index of turns holds vectors of {DIMENSION} numbers, not of {embedder.dimension}")
        return cls(pool, embedder, await vector_column(pool))

    async def take(self, facts: Collection[Facts], judged: Collection[tuple[Placed, Verdict]]) -> None:
        conversations = {one.key[:3] for one in facts} | {placed.indexed.conversation for placed, _ in judged}
        async with self._locked(conversations) as connection:
            await self._join(connection, facts)
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

    async def _join(self, connection: Any, facts: Collection[Facts]) -> None:
        if not facts:
            return
        ordered = sorted(facts, key=lambda one: one.key)
        spoken = [one.text for one in ordered]
        numbers, vectors = self._embedded(spoken)
        columns = _columns([_facts_row(one) for one in ordered], len(COLUMNS))
        written = await connection.fetch(self._add, *columns, numbers, vectors)
        sent = {one.key: _ranks(one) for one in ordered}
        mixed = [TurnKey(*row[:4]) for row in map(tuple, written) if row[7] is not None and row[4:] != sent[row[:4]]]
        if mixed:
            await self._embed_again(connection, mixed)

    async def _embed_again(self, connection: Any, turns: Sequence[TurnKey]) -> None:
        """Vectors of turns whose halves came apart: their texts are in the table only."""
        rows = await connection.fetch(TEXTS, *_keys(turns))
        numbers, vectors = self._embedded([turn_text(row[4], row[5]) for row in rows])
        await connection.execute(self._mend, *_keys(TurnKey(*row[:4]) for row in rows), numbers, vectors)

    def _embedded(self, texts: Sequence[str | None]) -> tuple[list[int], list[Any]]:
        """For each text the number of its vector, counted from 1 and 0 for none, and the parameter that holds them."""
        told = [text for text in texts if text is not None]
        count = iter(range(1, len(told) + 1))
        return [0 if text is None else next(count) for text in texts], self._column.parameter(
            self._embedder.embed(told)
        )

    async def _let_speak(self, connection: Any, judged: Collection[tuple[Placed, Verdict]]) -> None:
        if not judged:
            return
        by_key = {placed.indexed.key: (placed, verdict) for placed, verdict in judged}
        ordered = [by_key[key] for key in sorted(by_key)]
        speaking = [_verdict_row(*one) for one in ordered if _says_something(one[1])]
        held = await connection.fetch(HELD, *_columns([placed.indexed.key for placed, _ in ordered], 3))
        silent = [(*p.indexed.key, p.evaluation) for p, verdict in ordered if not _says_something(verdict)]
        known = {(row[0], row[1], row[4]) for row in held}
        silent = [row for row in silent if row[:3] in known]
        if silent:
            await connection.execute(SILENT, *_columns(silent, 4))
        if speaking:
            await connection.execute(SPEAK, *_columns(speaking, 13))
        turns = _keys({TurnKey(*row[:4]) for row in [*map(tuple, held), *speaking]})
        if turns[0]:
            await connection.execute(STUBS, *turns)
            await connection.execute(BY_MACHINE, *turns)


def _says_something(verdict: Verdict) -> bool:
    return verdict.feedback != "neutral" and verdict.target is not None


def _ranks(facts: Facts) -> tuple[Any, ...]:
    question, reply = facts.question, facts.reply
    return (*(question.rank if question else (None, None)), *(reply.rank if reply else (None, None)))


def _facts_row(facts: Facts) -> tuple[Any, ...]:
    q, r = facts.question, facts.reply
    asked = (q.order, q.message_id, q.user_id, q.text) if q else (None,) * len(QUESTION)
    if r is None:
        return (*facts.key, facts.at, *asked, *(None,) * len(REPLY))
    told = (r.intent, r.strategy, r.validation_outcome, r.quality_score, r.track_id, r.bundle_id)
    return (*facts.key, facts.at, *asked, r.said_at, r.message_id, r.agent_id, r.text, *told)


def _verdict_row(placed: Placed, verdict: Verdict) -> tuple[Any, ...]:
    assert verdict.target is not None
    where, message = placed.indexed.conversation, placed.indexed.message
    said = (verdict.feedback, verdict.confidence, verdict.correction_type, verdict.decided_by, verdict.emitted)
    known = (message.message_id, message.turn_id)
    return (*where, verdict.target.turn_id, *known, *said, message.at, placed.evaluation)


def _judgement_row(one: Judgement) -> tuple[Any, ...]:
    said = (one.user_id, one.status, one.said, json.dumps(one.tags), one.correction)
    return (one.feedback_id, *one.turn, *said, one.at, one.revision)


def _keys(turns: Iterable[TurnKey]) -> list[list[Any]]:
    return _columns(sorted(set(turns)), 4)


def _columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]
