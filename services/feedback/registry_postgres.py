"""The turn registry in PostgreSQL, with one statement per batch."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

import asyncpg

from contracts.provenance import NO_PROVENANCE, Provenance
from feedback.registry import AgentAnswer, Asker, Known, RegisteredTurn, Registry, Role, TurnKey
from servicekit.db.inline_release_pool import connection_usage
from servicekit.db.pools import columns_of
from servicekit.db.row_security import tenant_in_sight
from servicekit.request_batcher import RequestBatcher

Asked = tuple[str, TurnKey, str]
"""Tenant of the row-level security policy, a turn, and a person."""
_LATER = """(excluded.answer_version is not null and (t.answer_version is null
    or (excluded.answer_version, excluded.agent_message_id) > (t.answer_version, t.agent_message_id)))"""
_EARLIER = """(excluded.user_at is not null and (t.user_at is null
    or (excluded.user_at, excluded.user_id) < (t.user_at, t.user_id)))"""
_ANSWER = ("agent_id", "agent_message_id", "answer_version", "about", "reply_to", "thread")
_ASKER = ("user_id", "user_at", "user_message_id")
_COLUMNS = (*TurnKey._fields, *_ANSWER, *_ASKER)
_TYPES = dict.fromkeys(_COLUMNS, "text") | {"answer_version": "bytea", "user_at": "bigint"}
_ROLE_TYPES = ("text", "text", "text", "text", "bytea")
_SETS = [f"{name} = case when {_LATER} then excluded.{name} else t.{name} end" for name in _ANSWER] + [
    f"{name} = case when {_EARLIER} then excluded.{name} else t.{name} end" for name in _ASKER
]
_ADD = f"""
with roles as (
    insert into people as p (tenant, project, user_id, user_type, version)
    select * from unnest({", ".join(f"${n}::{kind}[]" for n, kind in enumerate(_ROLE_TYPES, len(_COLUMNS) + 1))})
    on conflict (user_id, tenant, project) do update set user_type = excluded.user_type, version = excluded.version,
        stored_at = now()
    where excluded.version > p.version
)
insert into turns as t ({", ".join(_COLUMNS)})
select * from unnest({", ".join(f"${n}::{_TYPES[name]}[]" for n, name in enumerate(_COLUMNS, 1))})
on conflict (tenant, project, conversation_id, turn_id) do update set {", ".join(_SETS)}
where {_LATER} or {_EARLIER}
returning tenant, project, conversation_id, turn_id
"""
# One key lookup per row: under policies that also name the tenant, a join may read all rows of the tenant.
_FIND = """
select t.*, p.user_type
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
    with ordinality as wanted (tenant, project, conversation_id, turn_id, user_id, n)
left join lateral (
    select * from turns t where t.tenant = wanted.tenant and t.project = wanted.project
        and t.conversation_id = wanted.conversation_id and t.turn_id = wanted.turn_id limit 1) t on true
left join lateral (
    select user_type from people p
    where p.user_id = wanted.user_id and p.tenant = wanted.tenant and p.project = wanted.project limit 1) p on true
order by wanted.n
"""
_COUNT = "select count(*) from turns where tenant = $1 and conversation_id = $2"
_IS_OF_OTHERS = """
select coalesce(bool_and(user_id is not null and user_id <> $3), false) from turns
where tenant = $1 and conversation_id = $2
"""
_ONLY_TENANT = """
select min(tenant) from turns where conversation_id = $1 having min(tenant) = max(tenant)
"""
_COUNT_IN = _COUNT + " and project = $3"


class PostgresRegistry(Registry):
    """See `registry.Registry`. Needs the table `turns` on the pool's search path.

    Concurrent lookups are sent as one query per tenant of the row-level security policy.
    """

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._find = RequestBatcher(self._find_together)

    async def add(self, turns: Collection[RegisteredTurn], roles: Collection[Role] = ()) -> set[TurnKey]:
        if not turns and not roles:
            return set()
        # Sorted, to avoid deadlocks between batches.
        rows = [_row(turn) for turn in sorted(turns, key=lambda turn: turn.key)]
        known = [(*role.person, role.user_type, role.version) for role in sorted(roles, key=lambda one: one.person)]
        written = await self._pool.fetch(_ADD, *columns_of(rows, len(_COLUMNS)), *columns_of(known, len(_ROLE_TYPES)))
        return {TurnKey(*row) for row in written}

    async def find(self, key: TurnKey, user_id: str) -> Known:
        with connection_usage.get():
            return await self._find((tenant_in_sight.get(), key, user_id))

    async def _find_together(self, asked: Sequence[Asked]) -> list[Known]:
        known: dict[Asked, Known] = {}
        for tenant in {one[0] for one in asked}:
            tenant_in_sight.set(tenant)
            wanted = [one for one in asked if one[0] == tenant]
            rows = await self._pool.fetch(_FIND, *columns_of([(*key, user_id) for _, key, user_id in wanted], 5))
            known |= {one: Known(_turn(row), row["user_type"]) for one, row in zip(wanted, rows, strict=True)}
        return [known[one] for one in asked]

    async def count(self, tenant: str, project: str | None, conversation_id: str) -> int:
        if project is None:
            return int(await self._pool.fetchval(_COUNT, tenant, conversation_id))
        return int(await self._pool.fetchval(_COUNT_IN, tenant, conversation_id, project))

    async def only_tenant(self, conversation_id: str) -> str | None:
        tenant: str | None = await self._pool.fetchval(_ONLY_TENANT, conversation_id)
        return tenant

    async def is_of_others(self, tenant: str, conversation_id: str, user_id: str) -> bool:
        return bool(await self._pool.fetchval(_IS_OF_OTHERS, tenant, conversation_id, user_id))


def _row(turn: RegisteredTurn) -> tuple[Any, ...]:
    answer, asker = turn.answer, turn.asker
    made = answer.provenance if answer else NO_PROVENANCE
    about = None if made == NO_PROVENANCE else json.dumps(made.fields())
    said = (answer.agent_id, answer.message_id, answer.version) if answer else (None, None, None)
    place = (answer.reply_to, answer.thread_id) if answer else (None, None)
    asked = (asker.user_id, asker.at, asker.message_id) if asker else (None, None, None)
    return (*turn.key, *said, about, *place, *asked)


def _turn(row: asyncpg.Record) -> RegisteredTurn | None:
    if row["turn_id"] is None:
        return None
    key = TurnKey(*(row[name] for name in TurnKey._fields))
    answer = asker = None
    if row["answer_version"] is not None:
        made = NO_PROVENANCE if row["about"] is None else Provenance(**json.loads(row["about"]))
        answer = AgentAnswer(
            row["answer_version"], row["agent_message_id"], row["agent_id"], made, row["reply_to"], row["thread"]
        )
    if row["user_at"] is not None:
        asker = Asker(row["user_at"], row["user_id"], row["user_message_id"])
    return RegisteredTurn(key, answer, asker)
