"""Look-up of the revisions of feedback records that the reports hold, and of the figures that count them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final
from uuid import UUID

import asyncpg

from contracts.instants import format_instant
from reporting.projection import SUPERSEDED
from reporting.rollups import HOUR
from servicekit.log.outcome import ERASED, Outcome
from servicekit.web.journal import WHERE, CountedIn, FeedbackState

PATH: Final = WHERE + "reports"
# Subselects by the turn: see `rollups.JUDGEMENTS` for the pairs that calibration counts.
_FIND: Final = f"""
select f.feedback_id, f.revision, f.is_reply, f.occurred_at / {HOUR} * {HOUR} as hour, s.state,
    f.tags <> '{{}}' or f.correction_type is not null as has_reasons,
    s.state = 'overruled' or s.state = 'counted' and not f.is_reply and (f.origin = 'machine' or exists (
        select from effective_or_overruled m
        where m.conversation_id = f.conversation_id and m.turn_id = f.turn_id and m.origin = 'machine'
          and m.tenant = $1 and m.project = $2)) as calibrates,
    exists (select from stale_hours h
        where h.tenant = $1 and h.project = $2 and h.hour = f.occurred_at / {HOUR} * {HOUR}) as stale
from (select *, false as is_reply from feedbacks union all select *, true from replies) f
cross join lateral (select case
    when f.is_reply then case when f.value is null then 'cleared' else 'listed' end
    when exists (select from effective e where e.feedback_id = f.feedback_id) then 'counted'
    when f.overruled_reaction is not null then 'overruled'
    when f.reaction is null then 'cleared'
    else 'superseded' end as state offset 0) s -- evaluated once
where f.feedback_id = any($3::uuid[]) and f.tenant = $1 and f.project = $2
order by f.feedback_id
"""


def is_noted(outcome: Outcome) -> bool:
    """Return True if the journal gets a record of this outcome. The tables show the effect of the others."""
    return outcome in (SUPERSEDED, ERASED)


def feedback_of(event: Any) -> UUID | None:
    """Return the feedback record that an event announces; None for messages and sessions."""
    return getattr(event, "feedback_id", None)


async def states_of(
    pool: asyncpg.Pool, tenant: str, project: str, feedback_ids: Collection[str]
) -> list[FeedbackState]:
    """Return the revisions of a project's feedback records that the reports hold, and the figures that count them."""
    if not feedback_ids:
        return []
    rows = await pool.fetch(_FIND, tenant, project, [UUID(one) for one in feedback_ids])
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
