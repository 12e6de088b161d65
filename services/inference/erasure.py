"""Erase a person's data from the indexes: messages, questions with their vectors, and reactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import asyncpg

from contracts.erasure import ERASURE_MARGIN, ErasedAt, Person
from inference.sql import SQL
from inference.turns.store import TurnIndex

_AT_ONCE: Final = 2_000
"""Maximum number of rows per statement, so that no statement exceeds the statement timeout."""


class InferenceErasures:
    """Erasure of people from the indexes of conversations and of turns."""

    def __init__(self, pool: asyncpg.Pool, turns: TurnIndex, pseudonym_of: Callable[[Person], str]) -> None:
        self._pool = pool
        self._turns = turns
        self._pseudonym_of = pseudonym_of

    async def erase(self, erased: ErasedAt) -> int:
        """Erase the messages and questions of these people, and delete their reactions.

        Returns the number of changed or deleted rows.
        """
        changed = 0
        for person, at in sorted(erased.items()):
            covered = {**person._asdict(), "until": at + ERASURE_MARGIN, "limit": _AT_ONCE}
            pseudonym = self._pseudonym_of(person)
            for statement in (SQL.blank_messages, SQL.blank_questions):
                blank = statement(**covered, pseudonym=pseudonym)
                while done := int((await self._pool.execute(*blank)).rpartition(" ")[2]):
                    changed += done
            while reacted := await self._pool.fetch(*SQL.reactions_of_person(**covered)):
                await self._turns.forget([row["feedback_id"] for row in reacted])
                changed += len(reacted)
        return changed
