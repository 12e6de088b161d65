"""Registry of messages in PostgreSQL, in which a judged turn's answer and question are found.

One database call stores a batch of messages, and one answers all concurrent look-ups.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

import asyncpg

from contracts.base import PERSON, UserType
from contracts.exchange import ExchangeMessage, Position, answer_of_turn, has_text, question_of, thread_of
from contracts.message_fields import MESSAGE_KEY, MessageKey, TurnKey
from contracts.provenance import NO_PROVENANCE, Provenance, provenance_of
from contracts.versions import UNLOGGED, LogPosition, MessageEvent, message_in, place_of, version_of
from feedback.sql import SQL
from servicekit.db.database import Database

Lookup = tuple[TurnKey, str]
"""Arguments of a look-up: turn and user id."""
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
# `Database.call` adds the guard's parameters.
_VALUES: Final = SQL.register_messages.reader(other=("guarded_tenant", "guarded_user"), **_ATTRIBUTES)
OPENING: Final = 300
"""Number of registered characters of an answer. They contain the name of a person whom the answer addresses."""


@dataclass(frozen=True, slots=True)
class RegisteredMessage:
    """Message in the registry: the content of its latest version, at the position of its earliest version.

    Attributes:
        turn_id: The turn that the message names. By default an agent's message's own id, and None for other messages.
        content: The first OPENING characters of an agent's message. None for any other message.
        has_text: False if the message is empty or deleted.
        thread_id: None for a message outside any thread.
    """

    key: MessageKey
    turn_id: str | None
    sender_id: str
    sender_type: str
    agent_id: str | None
    content: str | None
    user_type: str | None
    provenance: Provenance
    reply_to: str | None
    thread_id: str | None
    has_text: bool
    version: bytes
    position: Position

    def merged(self, other: RegisteredMessage) -> RegisteredMessage:
        """Merge this version with another version of the message, in any order."""
        latest = other if other.version > self.version else self
        return replace(latest, position=min(self.position, other.position))


@dataclass(frozen=True, slots=True)
class TurnAnswer:
    """The answer that feedback on a turn belongs to, with its question.

    `question_message_id` is None if the registry does not contain the question.
    """

    message_id: str
    agent_id: str
    provenance: Provenance
    thread_id: str | None = None
    question_message_id: str | None = None


class TurnFacts(NamedTuple):
    """Result of a look-up: the facts about a turn and a person.

    Attributes:
        answer: None until an agent has answered.
        user_type: The user type of the person's latest message that has one.
        erased_at: Time of the person's latest erasure in microseconds. None if there was none.
    """

    answer: TurnAnswer | None = None
    user_type: UserType = PERSON
    erased_at: int | None = None


def registered(event: MessageEvent, logged: LogPosition = UNLOGGED) -> RegisteredMessage:
    """Return the message in an event, without a person's words."""
    message = message_in(event)
    from_agent = message.sender_type == "agent"
    return RegisteredMessage(
        key=MessageKey(message.tenant, message.project, message.conversation_id, message.message_id),
        turn_id=message.turn_id or (message.message_id if from_agent else None),
        sender_id=message.sender_id,
        sender_type=message.sender_type,
        agent_id=(message.agent_id or message.sender_id) if from_agent else None,
        content=message.content[:OPENING] if from_agent else None,
        user_type=message.user_type if message.sender_type == "human" else None,
        provenance=provenance_of(message) if from_agent else NO_PROVENANCE,
        reply_to=message.reply_to_message_id if from_agent else None,
        thread_id=thread_of(message.message_id, message.thread_id),
        has_text=has_text(message.content),
        version=version_of(event, logged),
        position=Position(*place_of(event), logged.log_time, logged.offset),
    )


def collapse(messages: Iterable[RegisteredMessage]) -> list[RegisteredMessage]:
    """Merge the versions of each message, and sort the messages by key."""
    merged: dict[MessageKey, RegisteredMessage] = {}
    for message in messages:
        previous = merged.get(message.key)
        merged[message.key] = message if previous is None else previous.merged(message)
    return [merged[key] for key in sorted(merged)]


class PostgresRegistry:
    """Message registry in the table `messages` on the pool's search path.

    Concurrent look-ups are combined into one query (`Database.batched`).
    """

    def __init__(self, pool: Database) -> None:
        self._pool = pool
        self._find = pool.batched(self._find_together, "the message registry")

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

    async def count(self, tenant: str, project: str | None, conversation_id: str, user_id: str) -> tuple[int, bool]:
        """Return the number of known turns in a conversation, in all projects if `project` is None.

        Also returns True if the conversation has known turns, in any project, and in each of them only people other
        than `user_id` wrote.
        """
        statement = SQL.count_turns(tenant=tenant, project=project, conversation_id=conversation_id, user_id=user_id)
        [row] = await self._pool.fetch(*statement)
        return row["turns"], row["of_others"]


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
