"""How well machine verdicts agree with what people said of the same turn."""

from __future__ import annotations

from typing import Annotated, Final

import asyncpg
from pydantic import Field

from contracts.base import Reaction
from reporting.answers import Answer, Window
from reporting.queries.satisfaction import window_of
from reporting.selection import NONE_GIVEN, Filters, Project, Span, where

REACTIONS: Final[tuple[Reaction, ...]] = ("ok", "neutral", "not_ok")
_BINS: Final = 20


class Bin(Answer):
    """Verdicts of one stretch of confidence, and how often people said the same."""

    low: Annotated[float, Field(description="From this confidence on, 0 to 1.")]
    high: Annotated[float, Field(description="Below this confidence; 1 belongs to the last bin.")]
    pairs: Annotated[int, Field(description="Pairs of a machine verdict and a person's.")]
    agreeing: Annotated[int, Field(description="Pairs with the same verdict.")]
    agreement: Annotated[float, Field(description="agreeing / pairs; a calibrated machine has its mean confidence.")]
    mean_confidence: Annotated[float, Field(description="Of the bin's pairs, 0 to 1.")]


class Threshold(Answer):
    """What would be left of the machine's verdicts if only those this sure were announced."""

    threshold: Annotated[float, Field(description="The least confidence, 0 to 1.")]
    verdicts: Annotated[int, Field(description="Machine verdicts at or above it, judged by people or not.")]
    pairs: Annotated[int, Field(description="Of those, pairs with a person's verdict.")]
    agreeing: Annotated[int, Field(description="Pairs with the same verdict.")]
    agreement: Annotated[float | None, Field(description="agreeing / pairs; null without pairs.")]


class Calibration(Answer):
    """Each pair is a machine verdict and one person's effective reaction or review on the same turn."""

    tenant: Annotated[str, Field(description="As in the path.")]
    project: Annotated[str, Field(description="As in the path.")]
    window: Annotated[Window, Field(description="Of the machine's verdicts: from `start` on, before `end`.")]
    pairs: Annotated[int, Field(description="All pairs.")]
    agreeing: Annotated[int, Field(description="Pairs with the same verdict.")]
    confusion: Annotated[
        dict[Reaction, dict[Reaction, int]], Field(description="`confusion[machine][person]` counts pairs.")
    ]
    bins: Annotated[list[Bin], Field(description="Lowest confidence first; those without pairs are left out.")]
    thresholds: Annotated[list[Threshold], Field(description="Lowest first, from the window's lowest confidence.")]


# Rounded first: 0.85 * 20 is a little less than 17.
_BIN: Final = f"least(floor(round(e.confidence * {_BINS}e6) / 1e6)::int, {_BINS - 1})"
_PAIRS: Final = f"""
select e.reaction as machine, p.reaction as person, {_BIN} as bin, count(*) as pairs, sum(e.confidence) as confidence
from effective e
join effective_or_review p on p.tenant = e.tenant and p.project = e.project
    and p.conversation_id = e.conversation_id and p.turn_id = e.turn_id
where {{where}} and e.origin = 'machine' and p.origin = 'user'
group by 1, 2, 3
"""
_VERDICTS: Final = f"""
select {_BIN} as bin, count(*) as verdicts from effective e where {{where}} and e.origin = 'machine' group by 1
"""


async def calibration(pool: asyncpg.Pool, at: Project, span: Span, filters: Filters = NONE_GIVEN) -> Calibration:
    """Compare the machine verdicts of a window with what people said, at whatever time."""
    condition, values = where(at, span, filters)
    rows = await pool.fetch(_PAIRS.format(where=condition), *values)
    verdicts = {row["bin"]: row["verdicts"] for row in await pool.fetch(_VERDICTS.format(where=condition), *values)}
    confusion: dict[Reaction, dict[Reaction, int]] = {
        machine: {
            person: sum(row["pairs"] for row in rows if (row["machine"], row["person"]) == (machine, person))
            for person in REACTIONS
        }
        for machine in REACTIONS
    }
    numbers = sorted({row["bin"] for row in rows})
    return Calibration(
        tenant=at.tenant,
        project=at.project,
        window=window_of(span),
        pairs=sum(row["pairs"] for row in rows),
        agreeing=sum(confusion[reaction][reaction] for reaction in REACTIONS),
        confusion=confusion,
        bins=[_bin(number, [row for row in rows if row["bin"] == number]) for number in numbers],
        thresholds=[_threshold(number, rows, verdicts) for number in range(min(verdicts, default=_BINS), _BINS)],
    )


def _bin(number: int, rows: list[asyncpg.Record]) -> Bin:
    pairs, agreeing = _agreeing(rows)
    return Bin(
        low=round(number / _BINS, 2),
        high=round((number + 1) / _BINS, 2),
        pairs=pairs,
        agreeing=agreeing,
        agreement=agreeing / pairs,
        mean_confidence=sum(row["confidence"] for row in rows) / pairs,
    )


def _threshold(number: int, rows: list[asyncpg.Record], verdicts: dict[int, int]) -> Threshold:
    pairs, agreeing = _agreeing([row for row in rows if row["bin"] >= number])
    return Threshold(
        threshold=round(number / _BINS, 2),
        verdicts=sum(count for bin_, count in verdicts.items() if bin_ >= number),
        pairs=pairs,
        agreeing=agreeing,
        agreement=agreeing / pairs if pairs else None,
    )


def _agreeing(rows: list[asyncpg.Record]) -> tuple[int, int]:
    return sum(row["pairs"] for row in rows), sum(row["pairs"] for row in rows if row["machine"] == row["person"])
