"""Lookup of stored feedback revisions and of the figures that include them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

import asyncpg

from contracts.instants import format_instant
from contracts.where import CountedIn, FeedbackState
from reporting.sql import SQL
from servicekit import Outcome


def is_noted(outcome: Outcome) -> bool:
    """Return True if the journal records this outcome. Other outcomes can be seen in the read models."""
    return outcome.kind == "ignored"


def feedback_of(event: Any) -> UUID | None:
    """Return the id of the feedback record announced by an event, or None for messages and sessions."""
    return getattr(event, "feedback_id", None)


async def states_of(
    pool: asyncpg.Pool, tenant: str, project: str, feedback_ids: Collection[str]
) -> list[FeedbackState]:
    """Return the stored revision of each feedback record, and the names of the figures that include it."""
    if not feedback_ids:
        return []
    ids = [UUID(one) for one in feedback_ids]
    rows = await pool.fetch(*SQL.find_states(tenant=tenant, project=project, ids=ids))
    return [
        FeedbackState(
            feedback_id=str(row["feedback_id"]),
            revision=row["revision"],
            state=row["state"],
            counted_in=_counted_in(row),
        )
        for row in rows
    ]


def _counted_in(row: asyncpg.Record) -> CountedIn | None:
    counted = row["state"] == "counted"
    figures = [
        *(("summary",) if row["state"] == "listed" else ("summary", "agents") if counted else ()),
        *(("reasons",) if counted and row["has_reasons"] else ()),
        *(("calibration",) if row["calibrates"] else ()),
    ]
    if not figures:
        return None
    rolled_up = not row["is_reply"] and not row["stale"]
    return CountedIn(figures=figures, hour=format_instant(row["hour"]), rolled_up=rolled_up)
