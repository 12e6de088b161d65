"""PostgreSQL store of the read models. A batch is written by one or two calls, each followed by two for its pairs.

A pair is a question with its answer. Pairs are kept up to date when messages or feedback arrive, change or are erased.
The table `exchanges` has the question of each answer. Feedback rows have copies of the pair and of the answer's
properties, for filters and searches.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final
from uuid import UUID

import asyncpg

from contracts.exchange import ExchangeMessage, Position, answer_of_turn, question_of
from contracts.feedback import FeedbackErased
from reporting.model.projection import FeedbackRow, MessageKey, MessageRow, SessionRow
from reporting.read_models.store import Applied
from reporting.sql import SQL
from reporting.sql.connection import Connection
from servicekit.db.database import Database
from servicekit.db.statements import Statements

_SEPARATOR: Final = "\x1f"
_FEEDBACK: Final = tuple(f"feedback_{name}" for name in FeedbackRow._fields)
_GUARD: Final = ("guarded_tenant", "guarded_user")
_GONE: Final = ("gone_id", "gone_revision")
_SESSION: Final = tuple(f"session_{name}" for name in SessionRow._fields)
_TAGS: Final = FeedbackRow._fields.index("tags")
_ATTRIBUTES: Final = FeedbackRow._fields.index("attributes")
_ADOPT_SECONDS: Final = 3_600.0
_AT_ONCE: Final = 1_000
"""Maximum number of messages whose answers one transaction locks."""
_OF_TURNS: Final = ("turn_tenant", "turn_project", "turn_conversation", "turn_id")
_OF_ANSWERS: Final = ("of_tenant", "of_project", "of_conversation", "of_answer")
_NAMED: Final = ("named_tenant", "named_project", "named_conversation_id", "named_message_id", "named_turn")
Keys = Sequence[tuple[str, ...]]
"""Keys of messages or turns: tenant, project, conversation id, and the id of the message or turn."""


class PostgresReadModels:
    """Store of the read models in PostgreSQL.

    The search path of the connection pool must be the service's schema.
    """

    def __init__(self, pool: asyncpg.Pool, sql: Statements = SQL) -> None:
        self._pool = pool
        self._apply = sql.apply_batch
        self._values = self._apply.reader(other={*_FEEDBACK, *_GONE, *_SESSION, *_GUARD})

    async def adopt(self) -> None:
        """Reset the transaction ids of rows that were restored from another server.

        Such ids may exceed this server's ids. If the server is the same as before, only a single row is read.
        """
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute(*SQL.lock_server())
            if await connection.fetchval(*SQL.is_same_server()):
                return
            await connection.execute(*SQL.adopt_rows(), timeout=_ADOPT_SECONDS)
            await connection.execute(*SQL.delete_server())
            await connection.execute(*SQL.insert_server())

    async def apply(
        self,
        messages: Sequence[MessageRow] = (),
        feedbacks: Sequence[FeedbackRow] = (),
        forgotten: Sequence[FeedbackErased] = (),
        sessions: Sequence[SessionRow] = (),
    ) -> Applied:
        # Messages first, so that the feedback of the batch finds its answers. Everything is written again after an
        # interruption, so the pairs are also updated for messages that did not change.
        written: set[MessageKey] = set()
        if messages:
            written = {tuple(row[0]) for row in await self._write(messages)}
            await settle(self._pool, {row.key for row in messages}, ())
        if messages and not (feedbacks or forgotten or sessions):
            return Applied({}, written, set())
        before: dict[UUID, FeedbackRow] = {}
        rated: set[UUID] = set()
        for _, session, *values in await self._write((), await completed(self._pool, feedbacks), forgotten, sessions):
            if session is not None:
                rated.add(session)
            else:
                row = FeedbackRow(*values)
                attributes = None if row.attributes is None else json.loads(str(row.attributes))
                before[row.feedback_id] = row._replace(tags=tuple(row.tags), attributes=attributes)
        await settle(self._pool, (), feedbacks)
        return Applied(before, written, rated)

    async def _write(
        self,
        messages: Sequence[MessageRow],
        feedbacks: Sequence[FeedbackRow] = (),
        forgotten: Sequence[FeedbackErased] = (),
        sessions: Sequence[SessionRow] = (),
    ) -> list[asyncpg.Record]:
        return await Database.call(
            self._pool,
            self._apply,
            [self._values(row) for row in messages],
            **_columns(_FEEDBACK, given_feedbacks(feedbacks)),
            **_columns(_GONE, forgotten),
            **_columns(_SESSION, sorted(set(sessions))),
        )


def _columns(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, list[Any]]:
    values = list(rows)
    return {name: [row[index] for row in values] for index, name in enumerate(names)}


def given_feedbacks(rows: Sequence[FeedbackRow]) -> list[tuple[object, ...]]:
    """Return the rows as parameters for `unnest`, with tags joined into one string and attributes as JSON."""
    return [
        (
            *(*row[:_TAGS], _SEPARATOR.join(row.tags), *row[_TAGS + 1 : _ATTRIBUTES]),
            *(row.attributes and json.dumps(row.attributes), *row[_ATTRIBUTES + 1 :]),
        )
        for row in rows
    ]


async def settle(pool: asyncpg.Pool, messages: Collection[MessageKey], feedbacks: Sequence[FeedbackRow]) -> None:
    """Update the questions of all answers that changed messages may affect, and the copies in feedback.

    The messages and the feedback must be committed. Each transaction locks the answers before it reads the messages, so
    of two concurrent calls the later one sees everything that both were called for.

    Args:
        messages: Keys of messages that were added or changed.
        feedbacks: Feedback records that were written.
    """
    if not messages and not feedbacks:
        return
    keys = sorted(messages)
    answers = sorted({(*_conversation(row), row.agent_message_id) for row in feedbacks if row.agent_message_id})
    turns = sorted(
        {
            (*_conversation(row), row.turn_id)
            for row in feedbacks
            if row.agent_message_id is None or row.feedback_type == "explicit"
        }
    )
    for start in range(0, max(len(keys), 1), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        async with pool.acquire() as connection, connection.transaction():
            await settle_answers(connection, some, answers, turns)


async def settle_answers(connection: Connection, messages: Keys, answers: Keys = (), turns: Keys = ()) -> None:
    """Update the questions of answers, and the copies in feedback.

    Must be called in a transaction.

    Args:
        messages: Keys of changed messages. All answers that they may affect are updated.
        answers: Keys of further answers.
        turns: Keys of turns whose answers are updated, too.
    """
    columns = _columns(_OF_ANSWERS, answers) | _columns(_OF_TURNS, turns)
    rows = await connection.fetch(*SQL.find_pairs.bulk(messages, **columns))
    pairs = [_pair(row) for row in rows if not row["is_in_judged_turn"]]
    if pairs:
        answers_of_turns = _last_answers(row for row in rows if row["is_in_judged_turn"])
        await connection.execute(*SQL.settle_answers.bulk(pairs, **_columns(_NAMED, answers_of_turns)))


async def completed(pool: asyncpg.Pool, feedbacks: Sequence[FeedbackRow]) -> list[FeedbackRow]:
    """Return feedback rows with the known properties of their answers, so that most rows are written only once."""
    unnamed = sorted({(*_conversation(row), row.turn_id) for row in feedbacks if row.agent_message_id is None})
    messages = await pool.fetch(*SQL.agents_messages_in_turns.bulk(unnamed)) if unnamed else []
    of_turn = {(*key[:3], key[4]): key[3] for key in _last_answers(messages)}
    rows = [
        row._replace(answer_id=row.agent_message_id or of_turn.get((*_conversation(row), row.turn_id)))
        for row in feedbacks
    ]
    keys = sorted({(*_conversation(row), row.answer_id) for row in rows if row.answer_id is not None})
    if not keys:
        return rows
    answers = {tuple(row[:4]): row for row in await pool.fetch(*SQL.answers_with_questions.bulk(keys))}
    return [_with_answer(row, answers.get((*_conversation(row), row.answer_id or ""))) for row in rows]


def _with_answer(row: FeedbackRow, answer: asyncpg.Record | None) -> FeedbackRow:
    if answer is None:
        return row
    return row._replace(
        question_message_id=answer["question_id"],
        thread_id=answer["thread_id"],
        strategy=answer["strategy"],
        attributes=json.loads(answer["attributes"]) if answer["attributes"] else None,
    )


async def correct_rebuilt(connection: Connection) -> None:
    """Make all rebuilt rows agree with the answers and questions that they are about."""
    messages = await connection.fetch(*SQL.agents_messages_in_rebuilt_turns())
    await connection.execute(*SQL.name_rebuilt_answers(**_columns(_NAMED, _last_answers(messages))))
    await connection.execute(*SQL.correct_rebuilt())


def _pair(row: asyncpg.Record) -> tuple[object, ...]:
    """Return the values of an answer and its question for the function `settle_answers`."""
    candidates = json.loads(row["candidates"]) if row["candidates"] else ()
    answer = _answer_in_turn(row)._replace(reply_to=row["reply_to"], text=row["content"])
    question = question_of(answer, map(_question, candidates))
    return *tuple(row[:4]), question.message_id if question else None, row["occurred_at"], row["turn_id"]


def _last_answers(rows: Iterable[asyncpg.Record]) -> list[tuple[str, ...]]:
    """Return the key of each turn's answer and the turn's id, given the agents' messages of the turns."""
    turns: dict[tuple[str, ...], list[ExchangeMessage]] = defaultdict(list)
    for row in rows:
        turns[(*tuple(row[:3]), row["turn_id"])].append(_answer_in_turn(row))
    return [
        (*turn[:3], answer.message_id, turn[3])
        for turn, messages in sorted(turns.items())
        if (answer := answer_of_turn(messages)) is not None
    ]


def _conversation(row: FeedbackRow) -> tuple[str, str, str]:
    return row.tenant, row.project, row.conversation_id


def _position(row: asyncpg.Record) -> Position:
    return Position(row["occurred_at"], row["sequence"], row["log_time"], row["log_offset"])


def _answer_in_turn(row: asyncpg.Record) -> ExchangeMessage:
    return ExchangeMessage(
        row["message_id"], row["turn_id"], row["thread"], row["sender_id"], False, row["has_text"], _position(row)
    )


def _question(columns: Sequence[str | int]) -> ExchangeMessage:
    message_id, turn_id, thread, sender_id, *position = columns
    return ExchangeMessage(
        str(message_id), str(turn_id), str(thread), str(sender_id), True, True, Position(*map(int, position))
    )
