"""How well machine verdicts agree with what people said explicitly of the same turn."""

from __future__ import annotations

from typing import Final

import asyncpg

from contracts.base import Reaction
from reporting.answers import Answer, Window
from reporting.queries.satisfaction import window_of
from reporting.scope import Project, Span

_REACTIONS: Final[tuple[Reaction, ...]] = ("ok", "neutral", "not_ok")
_BINS: Final = 20


class Bin(Answer):
    """Verdicts whose confidence lies from `low` up to `high`, and how often people said the same."""

    low: float
    high: float
    pairs: int
    agreeing: int
    agreement: float
    mean_confidence: float


class Calibration(Answer):
    """Each pair is a machine verdict and one person's effective explicit reaction on its turn.

    `confusion[machine][person]` counts pairs. Bins without pairs are left out.
    """

    tenant: str
    project: str
    window: Window
    pairs: int
    agreeing: int
    confusion: dict[Reaction, dict[Reaction, int]]
    bins: list[Bin]


_PAIRS: Final = """
select m.reaction as machine, p.reaction as person,
       least(floor(round(m.confidence::numeric * 20, 6))::int, 19) as bin,
       count(*) as pairs, sum(m.confidence) as confidence
from effective m
join effective p on p.tenant = m.tenant and p.project = m.project
    and p.conversation_id = m.conversation_id and p.turn_id = m.turn_id
where m.tenant = $1 and m.project = $2 and m.occurred_at >= $3 and m.occurred_at < $4
  and m.origin = 'machine' and p.origin = 'user' and p.feedback_type = 'explicit'
group by 1, 2, 3
"""


async def calibration(pool: asyncpg.Pool, at: Project, span: Span) -> Calibration:
    """Agreement on the machine verdicts of a window."""
    rows = await pool.fetch(_PAIRS, *at, *span)
    confusion: dict[Reaction, dict[Reaction, int]] = {
        machine: {
            person: sum(row["pairs"] for row in rows if (row["machine"], row["person"]) == (machine, person))
            for person in _REACTIONS
        }
        for machine in _REACTIONS
    }
    numbers = sorted({row["bin"] for row in rows})
    return Calibration(
        tenant=at.tenant,
        project=at.project,
        window=window_of(span),
        pairs=sum(row["pairs"] for row in rows),
        agreeing=sum(confusion[reaction][reaction] for reaction in _REACTIONS),
        confusion=confusion,
        bins=[_bin(number, [row for row in rows if row["bin"] == number]) for number in numbers],
    )


def _bin(number: int, rows: list[asyncpg.Record]) -> Bin:
    pairs = sum(row["pairs"] for row in rows)
    agreeing = sum(row["pairs"] for row in rows if row["machine"] == row["person"])
    return Bin(
        low=round(number / _BINS, 2),
        high=round((number + 1) / _BINS, 2),
        pairs=pairs,
        agreeing=agreeing,
        agreement=agreeing / pairs,
        mean_confidence=sum(row["confidence"] for row in rows) / pairs,
    )
