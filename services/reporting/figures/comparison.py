"""Comparison of two values of a dimension: versions, models, strategies or arms of an experiment."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

import asyncpg

from contracts.base import Origin
from contracts.instants import DAY
from detector.intervals import Interval
from reporting.figures.clustering import ClusteredShare, PersonVotes, effective_size
from reporting.figures.comparison_models import (
    ComparedShare,
    ComparedSide,
    DifferenceVerdict,
    SatisfactionDifference,
    ValueComparison,
)
from reporting.figures.dimension_votes import MOST_VALUES, ValueVotes, feedback_holds, value_votes
from reporting.figures.votes import Votes
from reporting.model.dimensions import Dimension
from reporting.model.responses import scope_of
from reporting.model.selection import Filters, Project, TimeSpan, where
from reporting.sql import SQL

SAMPLE: Final = 3_000
"""Maximum number of verdicts per side (newest first) from which the design effect is estimated."""
_SCANNED: Final = 20_000
"""Maximum number of verdicts to scan for those with a value of a dimension that has no index."""


@dataclass(frozen=True, slots=True)
class _Side:
    votes: ValueVotes
    sizes: dict[Origin, float]

    def share(self, origin: Origin) -> ClusteredShare:
        votes = self.votes.of(origin)
        return ClusteredShare(votes.ok, votes.total, min(float(votes.total), self.sizes.get(origin, 0.0)))


async def compare(
    pool: asyncpg.Pool,
    project: Project,
    span: TimeSpan,
    filters: Filters,
    by: Dimension,
    values: tuple[str, str],
    *,
    counted: Sequence[ValueVotes] = (),
) -> ValueComparison:
    """Compare two values of a dimension by the verdicts in a time window.

    Counts are exact. Confidence intervals allow for people who gave several verdicts each. The size of this effect is
    estimated from the newest verdicts.

    Args:
        counted: The window's counts by value, if the caller already has them.
    """
    votes = {counts.value: counts for counts in counted}
    if len(votes) >= MOST_VALUES or not votes.keys() >= set(values):
        votes = {counts.value: counts for counts in await value_votes(pool, project, span, filters, by, values)}
    of_values = [votes.get(value) or ValueVotes(value, Votes(), Votes(), 0, 0) for value in values]
    # Independent statements run at the same time on several connections.
    sizes = await asyncio.gather(*(_sizes(pool, project, span, filters, by, of_value) for of_value in of_values))
    a, b = (_Side(of_value, size) for of_value, size in zip(of_values, sizes, strict=True))
    return ValueComparison(
        **scope_of(project, span),
        by=by.name,
        a=_shown(a),
        b=_shown(b),
        people=_difference(a, b, "user"),
        machine=_difference(a, b, "machine"),
    )


async def _sizes(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters, by: Dimension, votes: ValueVotes
) -> dict[Origin, float]:
    """Return the effective sample size of the verdicts on a value, by origin.

    The query reads the window backwards. Many rows without the value may follow the last verdict on it, so the window
    is cut a day after this verdict.
    """
    span = TimeSpan(max(span.start, votes.first_at), min(span.end, votes.last_at + DAY))
    if not votes.people.total + votes.machine.total or span.start >= span.end:
        return {}
    condition, parameters = where(project, span, filters)
    holds, named = feedback_holds(by)
    if by.is_rolled:  # an index has the column
        condition, holds = f"{condition} and {holds}", "true"
    # Every machine verdict with a reaction counts, so the view `effective` need not be read.
    counts = "e.origin = 'machine'" if filters.view == "effective" else "false"
    statement = SQL.count_by_person.filled(view=filters.view, where=condition, holds=holds, counts=counts)
    scanned = SAMPLE if by.is_rolled else _SCANNED
    rows = await pool.fetch(*statement(**parameters, **named, value=votes.value, scanned=scanned, sample=SAMPLE))
    people: dict[Origin, list[PersonVotes]] = defaultdict(list)
    for row in rows:
        people[row["origin"]].append(PersonVotes(row["ok"], row["verdicts"]))
    return {origin: effective_size(some) for origin, some in people.items()}


def _shown(side: _Side) -> ComparedSide:
    shares = {"people": _compared(side, "user"), "machine": _compared(side, "machine")}
    return ComparedSide(value=side.votes.value, **shares)


def _compared(side: _Side, origin: Origin) -> ComparedShare:
    votes, share = side.votes.of(origin), side.share(origin)
    return ComparedShare(
        **asdict(votes),
        total=votes.total,
        satisfaction=votes.satisfaction,
        low=share.sure.low,
        high=share.sure.high,
        effective_size=round(share.size, 1),
    )


def _difference(a: _Side, b: _Side, origin: Origin) -> SatisfactionDifference:
    first, second = a.share(origin), b.share(origin)
    if first.share is None or second.share is None:
        missing = " and ".join(side.votes.value for side in (a, b) if not side.votes.of(origin).total)
        return SatisfactionDifference(
            difference=None,
            low=-1.0,
            high=1.0,
            verdict="unclear",
            sentence=f"No comparison: {_BY[origin]} gave no verdicts on {missing}.",
        )
    return _stated(second.share - first.share, second.minus(first), a, b, origin)


_BY: Final[dict[Origin, str]] = {"user": "people", "machine": "the machine"}
_VERB: Final[dict[Origin, str]] = {"user": "people are", "machine": "by the machine's verdicts, people are"}


def _stated(points: float, sure: Interval, a: _Side, b: _Side, origin: Origin) -> SatisfactionDifference:
    verdict: DifferenceVerdict = "higher" if sure.low > 0 else "lower" if sure.high < 0 else "unclear"
    compared = {"higher": "more satisfied", "lower": "less satisfied"}
    if verdict == "unclear":
        words = f"The difference between {a.votes.value} and {b.votes.value} is not distinguishable from chance."
    else:
        statement = f"{_VERB[origin]} {compared[verdict]} with {b.votes.value} than with {a.votes.value}"
        words = f"{statement[0].upper()}{statement[1:]}: the difference is distinguishable from chance."
    return SatisfactionDifference(
        difference=points,
        low=sure.low,
        high=sure.high,
        verdict=verdict,
        sentence=words,
    )
