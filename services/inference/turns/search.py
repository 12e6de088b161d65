"""Queries on the PostgreSQL turn index: single turns, latest turns, similar turns and strategies.

Strategies of rejected turns are never returned. A rejection below the announcement threshold does not count as a
rejection here (see `Verdict.status` in detector/model.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Final

import asyncpg

from contracts.message_fields import TurnKey
from inference.model import ConversationKey
from inference.sql import SQL
from inference.turns.candidates import Answered
from inference.turns.model import PersonTurns, StrategyFilter
from inference.turns.rules import Turn, TurnFeedback, ranked
from inference.turns.vectors import TurnVectors

NEAREST, LATEST = 45, 5
"""Number of a person's turns that are compared word by word: the nearest by vector, and the latest."""
SCANNED_TURNS_LIMIT: Final = 20_000
"""Maximum number of a person's turns that are searched, latest first.

It bounds the cost of user ids shared by many people, such as `guest`.
"""
_FILTERS: Final = ("intent", "user_id", "agent_id")
_COPIED: Final = {field.name for field in fields(Turn)} - {"key", "machine", "user", "similarity"}
"""Fields of a turn that are columns of the same name."""


class TurnSearch:
    """Search in the turn index. The tables of the schema `inference` must be on the search path of the pool."""

    def __init__(self, pool: asyncpg.Pool, vectors: TurnVectors) -> None:
        self._pool = pool
        self._vectors = vectors

    async def turn(self, key: TurnKey) -> Turn | None:
        """Return a turn, or None if nothing is known about it."""
        row = await self._pool.fetchrow(*SQL.find_turn(**key._asdict()))
        return None if row is None else _turn(row)

    async def latest(self, where: ConversationKey, until: int, limit: int, thread: str = "") -> Sequence[Turn]:
        """Return up to `limit` answered turns of a thread or channel, newest first, leaving out turns after `until`.

        `until` is in microseconds.
        """
        statement = SQL.latest_turns(**where._asdict(), until=until, limit=limit, thread=thread)
        return [_turn(row) for row in await self._pool.fetch(*statement)]

    async def nearby(self, person: PersonTurns, text: str) -> Sequence[Answered]:
        """Return about fifty of a person's answered turns: the latest ones and those most similar to `text`."""
        statement = SQL.nearby_turns(
            **person._asdict(),
            vector=self._vectors.of(text),
            made_by=self._vectors.made_by,
            nearest=NEAREST,
            latest=LATEST,
            looked_at=SCANNED_TURNS_LIMIT,
        )
        return [_answered(row) for row in await self._pool.fetch(*statement)]

    async def search(self, wanted: StrategyFilter, limit: int) -> Sequence[Turn]:
        """Return up to `limit` turns that have a strategy and are not rejected, ordered as by `turns.rules.ranked`.

        If `wanted` has a text, only turns with similar questions are returned. The search for them covers only the best
        turns of each status.
        """
        chosen = {name: value for name in _FILTERS if (value := getattr(wanted, name)) is not None}
        filters = "".join(f" and t.{name} = :{name}" for name in chosen)
        values = {**chosen, "tenant": wanted.tenant, "project": wanted.project, "praised": wanted.praised}
        if wanted.text is None:
            statement = SQL.search_turns.filled(filters=filters)(**values, limit=limit)
        else:
            similar = {"vector": self._vectors.of(wanted.text), "made_by": self._vectors.made_by}
            statement = SQL.search_similar_turns.filled(filters=filters)(**values, **similar, limit=limit)
        return ranked([_turn(row) for row in await self._pool.fetch(*statement)], limit)


def _answered(row: asyncpg.Record) -> Answered:
    return Answered(
        key=TurnKey(row["tenant"], row["project"], row["conversation_id"], row["turn_id"]),
        message_id=row["agent_message_id"],
        agent_id=row["agent_id"],
        text=row["text"],
        turns_back=row["turns_back"],
        cosine=_rounded(row["cosine"]) or 0.0,
    )


def _rounded(cosine: float | None) -> float | None:
    """Clip the cosine to the range from 0 to 1 and round it.

    Rounding makes the result independent of the order in which the database adds numbers.
    """
    return None if cosine is None else round(min(1.0, max(0.0, cosine)), 4)


def _turn(row: asyncpg.Record) -> Turn:
    machine = user = None
    if row["machine_status"] is not None:
        machine = TurnFeedback(
            row["machine_status"],
            row["machine_confidence"],
            row["correction_type"],
            user_said=row["machine_said"],
            detected_in=row["machine_detected_in"],
            detected_at=row["machine_at"],
        )
    if row["user_status"] is not None:
        user = TurnFeedback(
            row["user_status"],
            1.0,
            user_said=row["said"] or None,
            detected_at=row["judged_at"] or 0,
            tags=tuple(row["tags"] or ()),
            correction=row["correction"],
        )
    return Turn(
        TurnKey(row["tenant"], row["project"], row["conversation_id"], row["turn_id"]),
        **{name: row[name] for name in _COPIED},
        machine=machine,
        user=user,
        similarity=_rounded(row["similarity"]),
    )
