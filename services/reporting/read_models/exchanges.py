"""Pairs of question and answer, kept up to date when messages or feedback arrive, change or are erased.

The table `exchanges` has the question of each answer. Feedback rows have copies of the pair and of the answer's
properties, for filters and searches.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Final

import asyncpg

from contracts.exchange import ExchangeMessage, Position, answer_of_turn, question_of
from reporting.model.projection import FEEDBACK_TABLES, FeedbackRow, MessageKey
from reporting.sql import SQL
from reporting.sql.connection import Connection

_AT_ONCE: Final = 1_000
"""Maximum number of messages whose answers one transaction locks."""
_OF_TURNS: Final = ("turn_tenant", "turn_project", "turn_conversation", "turn_id")
_OF_ANSWERS: Final = ("of_tenant", "of_project", "of_conversation", "of_answer")
Keys = Sequence[tuple[str, ...]]
"""Keys of messages or turns: tenant, project, conversation id, and the id of the message or turn."""


async def settle(pool: asyncpg.Pool, messages: Collection[MessageKey], feedbacks: Sequence[FeedbackRow]) -> None:
    """Update the questions of all answers that changed messages may affect, and the copies in feedback.

    The messages and the feedback must be committed. Each transaction locks the answers before it reads the messages, so
    of two concurrent calls the later one sees everything that both were called for.

    Args:
        messages: Keys of messages that were added or changed.
        feedbacks: Feedback records that were written.
    """
    keys = sorted(messages)
    for start in range(0, len(keys), _AT_ONCE):
        async with pool.acquire() as connection, connection.transaction():
            await settle_messages(connection, keys[start : start + _AT_ONCE])
    named = {(*_conversation(row), row.agent_message_id) for row in feedbacks if row.agent_message_id is not None}
    turns = {
        (*_conversation(row), row.turn_id)
        for row in feedbacks
        if row.agent_message_id is None or row.feedback_type == "explicit"
    }
    if named or turns:
        async with pool.acquire() as connection, connection.transaction():
            locked = await _locked(connection, (), sorted(named), sorted(turns))
            await _correct(connection, locked)


async def completed(pool: asyncpg.Pool, feedbacks: Sequence[FeedbackRow]) -> list[FeedbackRow]:
    """Return feedback rows with the known properties of their answers, so that most rows are written only once."""
    unnamed = sorted({(*_conversation(row), row.turn_id) for row in feedbacks if row.agent_message_id is None})
    of_turn = _last_answers(await pool.fetch(*SQL.answers_in_turns.bulk(unnamed))) if unnamed else {}
    rows = [
        row._replace(answer_id=row.agent_message_id or of_turn.get((*_conversation(row), row.turn_id)))
        for row in feedbacks
    ]
    keys = sorted({(*_conversation(row), row.answer_id) for row in rows if row.answer_id is not None})
    if not keys:
        return rows
    pairs = {tuple(row[:4]): row for row in await pool.fetch(*SQL.answers_with_questions.bulk(keys))}
    return [_with_answer(row, pairs.get((*_conversation(row), row.answer_id or ""))) for row in rows]


def _with_answer(row: FeedbackRow, answer: asyncpg.Record | None) -> FeedbackRow:
    if answer is None:
        return row
    return row._replace(
        question_message_id=answer["question_id"],
        thread_id=answer["thread_id"],
        strategy=answer["strategy"],
        attributes=json.loads(answer["attributes"]) if answer["attributes"] else None,
    )


async def settle_messages(connection: Connection, keys: Keys) -> None:
    """Update the questions of all answers that these messages may affect, and the copies in feedback.

    Must be called in a transaction.
    """
    locked = await _locked(connection, keys)
    if locked:
        await _pair(connection, [tuple(row[:4]) for row in locked])
        await connection.execute(*SQL.mark_turns_of_answers.bulk([(*row[:3], row["turn_id"]) for row in locked]))
        await _correct(connection, locked)


async def correct_all(connection: Connection, table: str) -> None:
    """Make all rows of a feedback table agree with the answers and questions that they are about."""
    turns = await connection.fetch(*SQL.turns_with_judgements.filled(table=table)())
    await _name_answers(connection, table, [tuple(row) for row in turns])
    await connection.execute(*SQL.correct_feedback.filled(table=table, rows="true")())


async def _locked(connection: Connection, keys: Keys, named: Keys = (), turns: Keys = ()) -> list[asyncpg.Record]:
    of_others = _columns(_OF_ANSWERS, named) | _columns(_OF_TURNS, turns)
    return list(await connection.fetch(*SQL.lock_answers.bulk(keys, **of_others)))


async def _correct(connection: Connection, locked: Sequence[asyncpg.Record]) -> None:
    if not locked:
        return
    turns = sorted({(*row[:3], row["turn_id"]) for row in locked})
    for table in FEEDBACK_TABLES:
        await _name_answers(connection, table, turns)
        statement = SQL.correct_feedback.filled(table=table, rows=SQL.part("of_answers"))
        await connection.execute(*statement.bulk([tuple(row[:4]) for row in locked]))


async def _pair(connection: Connection, answers: Keys) -> None:
    pairs = []
    for row in await connection.fetch(*SQL.candidates_of_answers.bulk(answers)):
        candidates = json.loads(row["candidates"]) if row["candidates"] else ()
        question = question_of(_answer(row), map(_question, candidates))
        pairs.append((*tuple(row[:4]), question.message_id if question else None, row["occurred_at"]))
    await connection.execute(*SQL.write_exchanges.bulk(pairs))


async def _name_answers(connection: Connection, table: str, turns: Keys) -> None:
    rows = await connection.fetch(*SQL.turns_judged_as_a_whole.filled(table=table)(**_columns(_OF_TURNS, turns)))
    named = [(*turn[:3], answer, turn[3]) for turn, answer in sorted(_last_answers(rows).items())]
    if named:
        await connection.execute(*SQL.name_answers.filled(table=table).bulk(named))


def _last_answers(rows: Iterable[asyncpg.Record]) -> dict[tuple[str, ...], str]:
    """Return the message id of each turn's answer, given the agents' messages of the turns."""
    turns: dict[tuple[str, ...], list[ExchangeMessage]] = defaultdict(list)
    for row in rows:
        turns[(*tuple(row[:3]), row["turn_id"])].append(_answer_in_turn(row))
    return {turn: answer.message_id for turn, some in turns.items() if (answer := answer_of_turn(some)) is not None}


def _conversation(row: FeedbackRow) -> tuple[str, str, str]:
    return row.tenant, row.project, row.conversation_id


def _columns(names: Sequence[str], rows: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    values = list(rows)
    return {name: [row[number] for row in values] for number, name in enumerate(names)}


def _position(row: asyncpg.Record) -> Position:
    return Position(row["occurred_at"], row["sequence"], row["log_time"], row["log_offset"])


def _answer(row: asyncpg.Record) -> ExchangeMessage:
    answer = _answer_in_turn(row)
    return answer._replace(reply_to=row["reply_to"], text=row["content"])


def _answer_in_turn(row: asyncpg.Record) -> ExchangeMessage:
    return ExchangeMessage(
        row["message_id"], row["turn_id"], row["thread"], row["sender_id"], False, row["has_text"], _position(row)
    )


def _question(columns: Sequence[str | int]) -> ExchangeMessage:
    message_id, turn_id, thread, sender_id, *position = columns
    return ExchangeMessage(
        str(message_id), str(turn_id), str(thread), str(sender_id), True, True, Position(*map(int, position))
    )
