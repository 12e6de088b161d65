"""Queries on the PostgreSQL turn index: single turns, latest turns, similar turns and strategies.

Strategies of rejected turns are never returned. A rejection below the announcement threshold does not count as a
rejection here (see `Verdict.status` in detector/model.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import groupby
from operator import itemgetter
from typing import Final

import asyncpg
import numpy as np

from contracts.message_fields import TurnKey
from inference.model import ConversationKey
from inference.sql import SQL
from inference.turns.candidates import Answered
from inference.turns.model import SIMILARITY_THRESHOLD, PersonTurns, StrategyFilter
from inference.turns.rules import Turn, TurnFeedback, ranked
from inference.turns.vectors import TurnVectors

NEAREST, LATEST = 45, 5
"""Number of a person's turns that are compared word by word: the nearest by vector, and the latest."""
SCANNED_TURNS_LIMIT: Final = 10_000
"""Maximum number of compared vectors: those of a person's latest turns, or of each status's best turns with a strategy.

It bounds the cost of user ids shared by many people, such as `guest`. A vector has about 500 bytes.
"""
FEWEST_SIMILAR: Final = 50
"""Minimum number of turns with similar questions that are ranked."""
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
        turns = await self._turns(key.tenant, key.project, {(key.conversation_id, key.turn_id): None})
        return turns[0] if turns else None

    async def latest(self, where: ConversationKey, until: int, limit: int, thread: str = "") -> Sequence[Turn]:
        """Return up to `limit` answered turns of a thread or channel, newest first, leaving out turns after `until`.

        `until` is in microseconds.
        """
        statement = SQL.latest_turns(**where._asdict(), until=until, limit=limit, thread=thread)
        return [_turn(row) for row in await self._pool.fetch(*statement)]

    async def nearby(self, person: PersonTurns, text: str) -> Sequence[Answered]:
        """Return about fifty of a person's answered turns: the latest ones and those most similar to `text`.

        The most similar ones come first.
        """
        rows = await self._pool.fetch(*SQL.vectors_of_person(**person._asdict(), limit=SCANNED_TURNS_LIMIT))
        times = [row["at"] for row in rows]
        cosines = self._vectors.cosines(text, [row["assistant_vector"] for row in rows])
        nearest = np.argsort(-cosines, kind="stable")[:NEAREST]
        at = {*times[:LATEST], *(times[n] for n in nearest)}
        of = {"tenant": person.tenant, "project": person.project, "user_id": person.user_id}
        rows = await self._pool.fetch(*SQL.answers_at(**of, at=list(at)))
        cosines = self._vectors.cosines(text, [row["assistant_vector"] for row in rows])
        # Turns with the same time have the same position.
        back = {time: len(times) - n for n, time in enumerate(reversed(times))}
        return [
            Answered(
                key=TurnKey(person.tenant, person.project, rows[n]["conversation_id"], rows[n]["turn_id"]),
                message_id=rows[n]["agent_message_id"],
                agent_id=rows[n]["agent_id"],
                text=rows[n]["assistant_text"],
                turns_back=back[rows[n]["at"]],
                cosine=float(cosines[n]),
            )
            for n in np.argsort(-cosines, kind="stable")[: NEAREST + LATEST]
        ]

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
            return ranked([_turn(row) for row in await self._pool.fetch(*statement)], limit)
        statement = SQL.vectors_with_strategies.filled(filters=filters)(**values, limit=SCANNED_TURNS_LIMIT)
        similarities: dict[tuple[str, str], float | None] = {}
        for _, group in groupby(await self._pool.fetch(*statement), itemgetter("status")):
            rows = list(group)
            cosines = self._vectors.cosines(wanted.text, [row["user_vector"] for row in rows])
            best = np.argsort(-cosines, kind="stable")[: max(limit, FEWEST_SIMILAR)]
            alike = (n for n in best if cosines[n] >= SIMILARITY_THRESHOLD)
            similarities |= {(rows[n]["conversation_id"], rows[n]["turn_id"]): float(cosines[n]) for n in alike}
        return ranked(await self._turns(wanted.tenant, wanted.project, similarities), limit)

    async def _turns(
        self, tenant: str, project: str, similarities: Mapping[tuple[str, str], float | None]
    ) -> list[Turn]:
        """Return the turns with the given conversation and turn ids, each with its similarity."""
        conversations, ids = zip(*similarities, strict=True) if similarities else ((), ())
        statement = SQL.find_turns(tenant=tenant, project=project, conversation_id=conversations, turn_id=ids)
        rows = await self._pool.fetch(*statement)
        return [_turn(row, similarities[row["conversation_id"], row["turn_id"]]) for row in rows]


def _turn(row: asyncpg.Record, similarity: float | None = None) -> Turn:
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
        similarity=similarity,
    )
