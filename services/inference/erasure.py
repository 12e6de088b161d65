"""Erasure of a person's data from the message index and the turn index.

Covers messages, questions with their vectors, and reactions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import asyncpg

from contracts.erasure import ERASURE_MARGIN, ErasedAt, Person
from inference.sql import SQL
from inference.turns.store import TurnIndex

_AT_ONCE: Final = 2_000
"""Maximum number of rows changed by one statement, so that it stays below the statement timeout."""


async def erase(pool: asyncpg.Pool, turns: TurnIndex, pseudonym_of: Callable[[Person], str], erased: ErasedAt) -> int:
    """Blank these people's messages and questions, and delete their reactions.

    Returns:
        The number of rows that were changed or deleted.
    """
    changed = 0
    for person, erased_at in sorted(erased.items()):
        covered = {**person._asdict(), "until": erased_at + ERASURE_MARGIN, "limit": _AT_ONCE}
        pseudonym = pseudonym_of(person)
        for statement in (SQL.blank_messages, SQL.blank_questions):
            blank = statement(**covered, pseudonym=pseudonym)
            while done := int((await pool.execute(*blank)).rpartition(" ")[2]):
                changed += done
        while reacted := await pool.fetch(*SQL.reactions_of_person(**covered)):
            await turns.take_reactions((), {row["feedback_id"]: row["revision"] for row in reacted})
            changed += len(reacted)
    return changed
