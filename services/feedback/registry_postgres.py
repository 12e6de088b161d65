"""Message registry in PostgreSQL. A batch takes one call to the database, and so does a group of look-ups."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final

import asyncpg

from contracts.base import PERSON
from contracts.exchange import ExchangeMessage, Position, answer_of_turn, question_of
from contracts.message_fields import MESSAGE_KEY, MessageKey, TurnKey
from contracts.provenance import Provenance
from feedback.registry import RegisteredMessage, TurnAnswer, TurnFacts
from feedback.sql import SQL
from servicekit.db.database import Database

Lookup = tuple[TurnKey, str]
"""Arguments of a look-up: turn and user id."""
_NAME: Final = "the message registry"
"""Name of the registry in error messages."""
_GUARD: Final = ("guarded_tenant", "guarded_user")
"""Names of the parameters that `Database.call` adds."""
_ATTRIBUTES: Final = {
    **{name: f"key.{name}" for name in MESSAGE_KEY},
    "about": "provenance.as_json",
    "thread": "thread_id",
    "at": "position.at",
    "sequence": "position.sequence",
    "first_log_time": "position.log_time",
    "log_offset": "position.log_offset",
}
"""Attribute path of a message by column name, for columns whose name differs from the attribute's."""
_VALUES: Final = SQL.register_messages.reader(other=_GUARD, **_ATTRIBUTES)


class PostgresRegistry:
    """Message registry in the table `messages` on the pool's search path.

    Concurrent look-ups are combined into one query (`Database.batched`).
    """

    def __init__(self, pool: Database) -> None:
        self._pool = pool
        self._find = pool.batched(self._find_together, _NAME)

    async def add(self, messages: Collection[RegisteredMessage]) -> set[MessageKey]:
        """Merge messages, at most one per key, into the stored ones, and commit.

        Returns:
            The keys of the messages that were added or changed.
        """
        if not messages:
            return set()
        # Sorted, to avoid deadlocks between batches.
        rows = [_VALUES(message) for message in sorted(messages, key=lambda message: message.key)]
        return {MessageKey(*row) for row in await self._pool.call(self._pool, SQL.register_messages, rows)}

    async def find(self, key: TurnKey, user_id: str) -> TurnFacts:
        """Return the facts about a turn, and about the person in the turn's project."""
        return await self._find((key, user_id))

    async def _find_together(self, lookups: Sequence[Lookup]) -> list[TurnFacts]:
        rows = await self._pool.fetch(*SQL.find_turns.bulk([(*key, user_id) for key, user_id in lookups]))
        return [_facts([*of_turn]) for _, of_turn in groupby(rows, key=itemgetter("n"))]

    async def count(self, tenant: str, project: str | None, conversation_id: str) -> int:
        """Return the number of known turns in a conversation, in all projects if `project` is None."""
        statement = SQL.count_turns(tenant=tenant, project=project, conversation_id=conversation_id)
        return int(await self._pool.fetchval(*statement))

    async def is_of_others(self, tenant: str, conversation_id: str, user_id: str) -> bool:
        """Return True if people wrote in every known turn of a conversation, but not `user_id`.

        Returns False if the conversation has no known turns.
        """
        statement = SQL.turns_are_of_others(tenant=tenant, conversation_id=conversation_id, user_id=user_id)
        return bool(await self._pool.fetchval(*statement))


def _facts(rows: Sequence[asyncpg.Record]) -> TurnFacts:
    """Return the facts in the rows of a look-up: one for each message of an agent in the turn, or a single one."""
    user_type, erased_at = rows[0]["person_type"] or PERSON, rows[0]["erased_at"]
    answers = {row["message_id"]: row for row in rows if row["message_id"] is not None}
    answer = answer_of_turn(map(_agent_message, answers.values()))
    if answer is None:
        return TurnFacts(None, user_type, erased_at)
    row = answers[answer.message_id]
    question = question_of(answer, [_question(candidate) for candidate in json.loads(row["candidates"] or "[]")])
    provenance, question_id = Provenance.from_json(row["about"]), question.message_id if question else None
    turn_answer = TurnAnswer(answer.message_id, row["agent_id"], provenance, row["thread"], question_id)
    return TurnFacts(turn_answer, user_type, erased_at)


def _agent_message(row: asyncpg.Record) -> ExchangeMessage:
    position = Position(row["at"], row["sequence"], row["first_log_time"], row["log_offset"])
    return ExchangeMessage(
        row["message_id"],
        row["turn_id"],
        row["thread"] or "",
        row["sender_id"],
        False,
        row["has_text"],
        position,
        row["reply_to"],
        row["content"],
    )


def _question(candidate: Sequence[str | int | None]) -> ExchangeMessage:
    message_id, turn_id, thread, sender_id, *position = candidate
    names = str(message_id), str(turn_id or message_id), str(thread or ""), str(sender_id)
    return ExchangeMessage(*names, True, True, Position(*(int(part or 0) for part in position)))
