"""The turn registry in PostgreSQL: one statement a batch."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import asyncpg

from contracts.provenance import NO_PROVENANCE, Provenance
from feedback.registry import AgentAnswer, Asker, Person, RegisteredTurn, Registry, Role, TurnKey
from servicekit.coalesced import Coalesced
from servicekit.row_security import tenant_in_sight

Asked = TypeVar("Asked", TurnKey, Person)
Known = TypeVar("Known", RegisteredTurn, str)

_LATER = """(excluded.answer_version is not null and (t.answer_version is null
    or (excluded.answer_version, excluded.agent_message_id) > (t.answer_version, t.agent_message_id)))"""
_EARLIER = """(excluded.user_at is not null and (t.user_at is null
    or (excluded.user_at, excluded.user_id) < (t.user_at, t.user_id)))"""
_ANSWER = ("agent_id", "agent_message_id", "answer_version", "about")
_ASKER = ("user_id", "user_at")
_COLUMNS = (*TurnKey._fields, *_ANSWER, *_ASKER)
_TYPES = dict.fromkeys(_COLUMNS, "text") | {"answer_version": "bytea", "user_at": "bigint"}
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
select t.* from turns t
join unnest($1::text[], $2::text[], $3::text[], $4::text[]) as wanted (tenant, project, conversation_id, turn_id)
using (tenant, project, conversation_id, turn_id)
"""
_ADD_ROLES = """
insert into people as p (tenant, project, user_id, user_type, version)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[])
on conflict (user_id, tenant, project) do update set user_type = excluded.user_type, version = excluded.version,
    stored_at = now()
where excluded.version > p.version
"""
_USER_TYPES = """
select p.* from people p join unnest($1::text[], $2::text[], $3::text[]) as wanted (tenant, project, user_id)
using (tenant, project, user_id)
"""
_COUNT = "select count(*) from turns where tenant = $1 and conversation_id = $2"
_COUNT_IN = _COUNT + " and project = $3"


class PostgresRegistry(Registry):
    """See `registry.Registry`. The pool's connections see the table `turns`.

    Questions that come at once are asked together, those of each tenant in sight by themselves.
    """

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._find = Coalesced(self._find_together)
        self._user_type = Coalesced(self._user_types_together)

    async def add(self, turns: Collection[RegisteredTurn], roles: Collection[Role] = ()) -> set[TurnKey]:
        if roles:
            known = [(*role.person, role.user_type, role.version) for role in sorted(roles, key=lambda one: one.person)]
            await self._pool.execute(_ADD_ROLES, *(list(column) for column in zip(*known, strict=True)))
        if not turns:
            return set()
        # Always in the same order, so that two batches never hold rows that the other waits for.
        rows = [_row(turn) for turn in sorted(turns, key=lambda turn: turn.key)]
        written = await self._pool.fetch(_ADD, *(list(column) for column in zip(*rows, strict=True)))
        return {TurnKey(*row) for row in written}

    async def find(self, key: TurnKey) -> RegisteredTurn | None:
        return await self._find((tenant_in_sight.get(), key))

    async def _find_together(self, asked: Sequence[tuple[str, TurnKey]]) -> list[RegisteredTurn | None]:
        return await _by_tenant(asked, self._turns)

    async def _turns(self, keys: Iterable[TurnKey]) -> dict[TurnKey, RegisteredTurn]:
        rows = await self._pool.fetch(_FIND, *(list(column) for column in zip(*keys, strict=True)))
        return {turn.key: turn for turn in map(_turn, rows)}

    async def user_type(self, person: Person) -> str | None:
        return await self._user_type((tenant_in_sight.get(), person))

    async def _user_types_together(self, asked: Sequence[tuple[str, Person]]) -> list[str | None]:
        return await _by_tenant(asked, self._user_types)

    async def _user_types(self, people: Iterable[Person]) -> dict[Person, str]:
        rows = await self._pool.fetch(_USER_TYPES, *(list(column) for column in zip(*people, strict=True)))
        return {Person(row["tenant"], row["project"], row["user_id"]): row["user_type"] for row in rows}

    async def count(self, tenant: str, project: str | None, conversation_id: str) -> int:
        if project is None:
            return int(await self._pool.fetchval(_COUNT, tenant, conversation_id))
        return int(await self._pool.fetchval(_COUNT_IN, tenant, conversation_id, project))

    async def ping(self) -> None:
        await self._pool.execute("select 1")


async def _by_tenant(
    asked: Sequence[tuple[str, Asked]], ask: Callable[[Iterable[Asked]], Awaitable[Mapping[Asked, Known]]]
) -> list[Known | None]:
    """Answer questions that come with the tenant in sight, those of each by themselves, in their order."""
    wanted: dict[str, set[Asked]] = {}
    for tenant, one in asked:
        wanted.setdefault(tenant, set()).add(one)
    known = {}
    for tenant, those in wanted.items():
        tenant_in_sight.set(tenant)
        known[tenant] = await ask(those)
    return [known[tenant].get(one) for tenant, one in asked]


def _row(turn: RegisteredTurn) -> tuple[Any, ...]:
    answer, asker = turn.answer, turn.asker
    made = answer.provenance if answer else NO_PROVENANCE
    about = None if made == NO_PROVENANCE else json.dumps(made.fields())
    said = (answer.agent_id, answer.message_id, answer.version) if answer else (None, None, None)
    return (*turn.key, *said, about, *((asker.user_id, asker.at) if asker else (None, None)))


def _turn(row: asyncpg.Record) -> RegisteredTurn:
    key = TurnKey(*(row[name] for name in TurnKey._fields))
    answer = asker = None
    if row["answer_version"] is not None:
        made = NO_PROVENANCE if row["about"] is None else Provenance(**json.loads(row["about"]))
        answer = AgentAnswer(row["answer_version"], row["agent_message_id"], row["agent_id"], made)
    if row["user_at"] is not None:
        asker = Asker(row["user_at"], row["user_id"])
    return RegisteredTurn(key, answer, asker)
