"""Look-up of stored verdicts for the command `where`, including verdicts that were not announced."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import asyncpg

from contracts.detectors import version_of
from contracts.instants import format_instant
from contracts.where import JudgedMessage
from inference.sql import SQL
from inference.turns.user_reactions import NO_REACTION
from servicekit import Outcome


def is_noted(outcome: Outcome) -> bool:
    """Return True if the journal stores this outcome.

    All other outcomes can be derived from the stored verdict.
    """
    return outcome.kind == "ignored" and outcome != NO_REACTION


async def judged(
    pool: asyncpg.Pool, tenant: str, project: str, message_ids: Collection[str]
) -> Sequence[JudgedMessage]:
    """Return the project's indexed messages with these ids, each with its stored verdict."""
    statement = SQL.find_verdicts(tenant=tenant, project=project, message_ids=list(message_ids))
    rows = await pool.fetch(*statement) if message_ids else []
    return [_judged(row) for row in rows]


def _judged(row: Any) -> JudgedMessage:
    message = {"message_id": row["message_id"], "conversation_id": row["conversation_id"], "role": row["role"]}
    noted_at = format_instant(row["noted_at"])
    if row["status"] is None:
        return JudgedMessage(**message, noted_at=noted_at)
    held_back = None if row["announced"] else row["held_back"]
    # A rejection that is not announced for these reasons is stored with the status neutral.
    doubtful = held_back in {"below_threshold", "below_target"} and row["status"] == "neutral"
    return JudgedMessage(
        **message,
        verdict="rejected" if doubtful else row["status"],
        confidence=row["confidence"],
        turn_id=row["turn_id"],
        decided_by=row["decided_by"],
        detector=version_of(row["judged_by"]),
        epoch=row["epoch"],
        announced=row["announced"],
        held_back=held_back,
        noted_at=noted_at,
    )
