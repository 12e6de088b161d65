"""Draws answers for review, lists those not reviewed yet, and counts reviews by the machine's verdict."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final

import asyncpg

from contracts.base import Reaction
from reporting.audit.estimate import Stratum
from reporting.selection import Project, TimeSpan

ANSWERS: Final = 50_000
"""Answers of a window that the audit covers at most, the newest first."""
# A turn has one verdict of the machine at most, except if several messages were judged: then the newest one counts.
_POPULATION: Final = f"""
with answers as (
    select conversation_id, turn_id, min(coalesce(agent_id, sender_id)) as agent_id, min(occurred_at) as occurred_at
    from (
        select conversation_id, turn_id, agent_id, sender_id, occurred_at from messages
        where tenant = $1 and project = $2 and sender_type = 'agent' and occurred_at >= $3 and occurred_at < $4
        order by occurred_at desc limit {ANSWERS}
    ) m
    where turn_id is not null
    group by conversation_id, turn_id
), population as (
    select a.*, coalesce(verdict.reaction, '') as machine
    from answers a
    left join lateral (
        select coalesce(f.reaction, f.overruled_reaction) as reaction from feedbacks f
        where f.conversation_id = a.conversation_id and f.turn_id = a.turn_id and f.origin = 'machine'
          and (f.reaction is not null or f.overruled_reaction is not null)
          and f.tenant = $1 and f.project = $2
        order by f.occurred_at desc, f.feedback_id desc limit 1
    ) verdict on true
    where verdict.reaction is not null or exists (
        select from messages m
        where m.conversation_id = a.conversation_id and m.tenant = $1 and m.project = $2
          and m.sender_type = 'human' and m.content <> '' and m.occurred_at > a.occurred_at)
)
"""
_REVIEW: Final = """
left join lateral (
    select r.reaction from effective r
    where r.conversation_id = {row}.conversation_id and r.turn_id = {row}.turn_id and r.origin = 'reviewer'
      and r.tenant = $1 and r.project = $2
    limit 1
) review on true
"""
_DRAW: Final = f"""
{_POPULATION}, ranked as (
    select p.conversation_id, p.turn_id, p.machine,
           row_number() over (partition by p.machine order by random()) as rank
    from population p
    where not exists (
        select from audit_draws d
        where d.conversation_id = p.conversation_id and d.turn_id = p.turn_id and d.tenant = $1 and d.project = $2)
)
insert into audit_draws (tenant, project, conversation_id, turn_id, drawn_at)
select $1, $2, conversation_id, turn_id, $7 from ranked
where rank <= case machine when '' then $5::int else $6::int end
order by random()
on conflict do nothing
"""
_PENDING: Final = f"""
select d.id, d.conversation_id, d.turn_id, d.drawn_at from audit_draws d {_REVIEW.format(row="d")}
where d.tenant = $1 and d.project = $2 and review.reaction is null
  and exists (select from messages m
      where m.tenant = $1 and m.project = $2 and m.conversation_id = d.conversation_id and m.turn_id = d.turn_id)
order by d.id <= $3, d.id
limit $4
"""
_PENDING_COUNT: Final = f"""
select count(*) from audit_draws d {_REVIEW.format(row="d")}
where d.tenant = $1 and d.project = $2 and review.reaction is null
  and exists (select from messages m
      where m.tenant = $1 and m.project = $2 and m.conversation_id = d.conversation_id and m.turn_id = d.turn_id)
"""
_STRATA: Final = f"""
{_POPULATION}
select p.agent_id, p.machine, count(*)::int as size,
       count(*) filter (where review.reaction = 'ok')::int as ok,
       count(*) filter (where review.reaction = 'neutral')::int as neutral,
       count(*) filter (where review.reaction = 'not_ok')::int as not_ok
from population p
left join audit_draws d
    on d.conversation_id = p.conversation_id and d.turn_id = p.turn_id and d.tenant = $1 and d.project = $2
left join lateral (
    select r.reaction from effective r
    where d.id is not null and r.conversation_id = p.conversation_id and r.turn_id = p.turn_id
      and r.origin = 'reviewer' and r.tenant = $1 and r.project = $2
    limit 1
) review on true
group by p.agent_id, p.machine
"""


@dataclass(frozen=True, slots=True)
class PendingReview:
    """A drawn answer without a review. `position` orders the queue; `drawn_at` is in microseconds."""

    position: int
    conversation_id: str
    turn_id: str
    drawn_at: int


async def draw(pool: asyncpg.Pool, at: Project, span: TimeSpan, count: int, now: int) -> int:
    """Draw up to `count` answers at random that people responded to, and return their number.

    Two thirds are answers on which the machine was silent, the rest is split between rejections and praise. None is
    drawn twice. `now` is in microseconds.
    """
    announced = max(1, count // 6)
    silent = max(1, count - 2 * announced)
    status = await pool.execute(_DRAW, *at, *span, silent, announced, now)
    return int(status.rpartition(" ")[2])


async def pending(pool: asyncpg.Pool, at: Project, after: int, limit: int) -> list[PendingReview]:
    """List drawn answers without a review: those behind position `after` first, then the others, in drawing order."""
    rows = await pool.fetch(_PENDING, *at, after, limit)
    return [PendingReview(*row) for row in rows]


async def pending_count(pool: asyncpg.Pool, at: Project) -> int:
    """Count the drawn answers without a review."""
    return int(await pool.fetchval(_PENDING_COUNT, *at))


async def strata(pool: asyncpg.Pool, at: Project, span: TimeSpan) -> dict[str, dict[Reaction | None, Stratum]]:
    """Count answers by agent and by the machine's verdict (None: silent), with the reviews of those drawn."""
    found: dict[str, dict[Reaction | None, Stratum]] = defaultdict(dict)
    for row in await pool.fetch(_STRATA, *at, *span):
        found[row["agent_id"]][row["machine"] or None] = Stratum(row["size"], row["ok"], row["neutral"], row["not_ok"])
    return found
