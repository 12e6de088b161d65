"""Turn registry in PostgreSQL. A batch takes one call to the database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import asyncpg

from contracts.provenance import Provenance
from feedback.registry import AgentAnswer, Asker, KnownFacts, RegisteredTurn, Registry, Role, TurnKey
from feedback.sql import SQL
from servicekit import Database, Statements

Lookup = tuple[TurnKey, str]
"""Arguments of a look-up: turn and user id."""
_NAME: Final = "the turn registry"
"""Name of the registry in error messages."""
_ROLE: Final = ("person_tenant", "person_project", "person_id", "user_type", "role_version")
_ASKER: Final = ("user_id", "user_at", "user_message_id")
_GUARD: Final = ("guarded_tenant", "guarded_user")
"""Names of the parameters that `Database.call` adds."""
_ATTRIBUTES: Final = {
    "agent_message_id": "message_id",
    "answer_version": "version",
    "about": "provenance.as_json",
    "thread": "thread_id",
}
"""Attribute of an answer by column name, for columns whose name differs from the attribute's."""


class PostgresRegistry(Registry):
    """PostgreSQL implementation of `Registry`. Needs the table `turns` on the pool's search path.

    Concurrent look-ups are combined into one query (`Database.batched`).
    """

    def __init__(self, pool: Database, sql: Statements = SQL) -> None:
        self._pool = pool
        self._upsert = sql.upsert_turns
        others = {*TurnKey._fields, *_ASKER, *_ROLE, *_GUARD}
        self._values_of_answer = self._upsert.reader(other=others, **_ATTRIBUTES)
        self._no_answer = (None,) * (len(self._upsert.values) - len(others))
        self._find = pool.batched(self._find_together, _NAME)
        self._only_tenant = pool.batched(self._only_tenants, _NAME)

    async def add(self, turns: Collection[RegisteredTurn], roles: Collection[Role] = ()) -> set[TurnKey]:
        if not turns and not roles:
            return set()
        # Sorted, to avoid deadlocks between batches.
        rows = [self._row(turn) for turn in sorted(turns, key=lambda turn: turn.key)]
        known = [(*role.person, role.user_type, role.version) for role in sorted(roles, key=lambda one: one.person)]
        columns = {name: [row[at] for row in known] for at, name in enumerate(_ROLE)}
        written = await self._pool.call(self._pool, self._upsert, rows, **columns)
        return {TurnKey(*row) for row in written}

    async def find(self, key: TurnKey, user_id: str) -> KnownFacts:
        return await self._find((key, user_id))

    async def _find_together(self, asked: Sequence[Lookup]) -> list[KnownFacts]:
        rows = await self._pool.fetch(*SQL.find_turns.bulk([(*key, user_id) for key, user_id in asked]))
        return [KnownFacts(_turn(row), row["user_type"], row["erased_at"]) for row in rows]

    def _row(self, turn: RegisteredTurn) -> tuple[Any, ...]:
        answer, asker = turn.answer, turn.asker
        said = self._values_of_answer(answer) if answer else self._no_answer
        asked = (asker.user_id, asker.at, asker.message_id) if asker else (None, None, None)
        return (*turn.key, *said, *asked)

    async def count(self, tenant: str, project: str | None, conversation_id: str) -> int:
        of = {"tenant": tenant, "conversation_id": conversation_id}
        statement = SQL.count_turns(**of) if project is None else SQL.count_turns_of_project(**of, project=project)
        return int(await self._pool.fetchval(*statement))

    async def only_tenant(self, conversation_id: str) -> str | None:
        return await self._only_tenant(conversation_id)

    async def _only_tenants(self, conversation_ids: Sequence[str]) -> list[str | None]:
        rows = await self._pool.fetch(*SQL.only_tenants_of_conversations(conversation_ids=conversation_ids))
        return [row["tenant"] for row in rows]

    async def is_of_others(self, tenant: str, conversation_id: str, user_id: str) -> bool:
        statement = SQL.turns_are_of_others(tenant=tenant, conversation_id=conversation_id, user_id=user_id)
        return bool(await self._pool.fetchval(*statement))


def _turn(row: asyncpg.Record) -> RegisteredTurn | None:
    if row["turn_id"] is None:
        return None
    key = TurnKey(*(row[name] for name in TurnKey._fields))
    answer = asker = None
    if row["answer_version"] is not None:
        made = Provenance.from_json(row["about"])
        answer = AgentAnswer(
            row["answer_version"], row["agent_message_id"], row["agent_id"], made, row["reply_to"], row["thread"]
        )
    if row["user_at"] is not None:
        asker = Asker(row["user_at"], row["user_id"], row["user_message_id"])
    return RegisteredTurn(key, answer, asker)
