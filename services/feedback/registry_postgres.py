"""The turn registry in PostgreSQL: one statement a batch."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import asyncpg

from contracts.provenance import NOTHING_TOLD, Provenance
from feedback.registry import Answer, Asker, Registry, Turn, TurnKey

_LATER = """(excluded.agent_at is not null and (t.agent_at is null
    or (excluded.agent_at, excluded.agent_message_id) > (t.agent_at, t.agent_message_id)))"""
_EARLIER = """(excluded.user_at is not null and (t.user_at is null
    or (excluded.user_at, excluded.user_id) < (t.user_at, t.user_id)))"""
_ANSWER = ("agent_id", "agent_message_id", "agent_at", "track_id", "bundle_id", "agent_version", "model", "trace_id")
_ASKER = ("user_id", "user_at")
_COLUMNS = (*TurnKey._fields, *_ANSWER, *_ASKER)
_TYPES = {name: "bigint" if name.endswith("_at") else "text" for name in _COLUMNS}
_SETS = [f"{name} = case when {_LATER} then excluded.{name} else t.{name} end" for name in _ANSWER] + [
    f"{name} = case when {_EARLIER} then excluded.{name} else t.{name} end" for name in _ASKER
]
_ADD = f"""
insert into turns as t ({", ".join(_COLUMNS)})
select * from unnest({", ".join(f"${n}::{_TYPES[name]}[]" for n, name in enumerate(_COLUMNS, 1))})
on conflict (tenant, project, conversation_id, turn_id) do update set {", ".join(_SETS)}
where {_LATER} or {_EARLIER}
returning tenant, project, conversation_id, turn_id
"""
_FIND = """
select * from turns where tenant = $1 and project = $2 and conversation_id = $3 and turn_id = $4
"""
_COUNT = "select count(*) from turns where tenant = $1 and project = $2 and conversation_id = $3"


class PostgresRegistry(Registry):
    """See `registry.Registry`. The pool's connections see the table `turns`."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def add(self, turns: Collection[Turn]) -> set[TurnKey]:
        if not turns:
            return set()
        # Always in the same order, so that two batches never hold rows that the other waits for.
        rows = [_row(turn) for turn in sorted(turns, key=lambda turn: turn.key)]
        written = await self._pool.fetch(_ADD, *(list(column) for column in zip(*rows, strict=True)))
        return {TurnKey(*row) for row in written}

    async def find(self, key: TurnKey) -> Turn | None:
        row = await self._pool.fetchrow(_FIND, *key)
        return None if row is None else _turn(key, row)

    async def count(self, tenant: str, project: str, conversation_id: str) -> int:
        return int(await self._pool.fetchval(_COUNT, tenant, project, conversation_id))

    async def ping(self) -> None:
        await self._pool.execute("select 1")


def _row(turn: Turn) -> tuple[Any, ...]:
    answer, asker = turn.answer, turn.asker
    told = (answer.provenance if answer else NOTHING_TOLD).fields()
    said = (answer.agent_id, answer.message_id, answer.at) if answer else (None, None, None)
    return (*turn.key, *said, *told.values(), *((asker.user_id, asker.at) if asker else (None, None)))


def _turn(key: TurnKey, row: asyncpg.Record) -> Turn:
    answer = asker = None
    if row["agent_at"] is not None:
        told = Provenance(*(row[name] for name in Provenance.__slots__))
        answer = Answer(row["agent_at"], row["agent_message_id"], row["agent_id"], told)
    if row["user_at"] is not None:
        asker = Asker(row["user_at"], row["user_id"])
    return Turn(key, answer, asker)
