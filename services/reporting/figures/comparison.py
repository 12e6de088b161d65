"""Comparison of two values of a dimension: versions, models, strategies or arms of an experiment."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import asyncpg

from contracts.base import Origin
from contracts.instants import DAY
from contracts.intervals import Interval
from reporting.figures.clustering import ClusteredShare, PersonVotes, QuestionKind, adjusted, effective_size
from reporting.figures.comparison_models import (
    AnsweredTurns,
    ComparedShare,
    ComparedSide,
    DifferenceVerdict,
    SatisfactionDifference,
    ValueComparison,
)
from reporting.figures.dimension_votes import (
    MOST_VALUES,
    ValueVotes,
    feedback_holds,
    value_of,
    value_of_answer,
    value_votes,
)
from reporting.figures.rollup_counts import dimensions
from reporting.figures.satisfaction import window_of
from reporting.figures.votes import Votes
from reporting.model.dimensions import Dimension
from reporting.model.selection import Filters, Project, TimeSpan, where
from reporting.sql import SQL

SAMPLE: Final = 3_000
"""Maximum number of verdicts per side (newest first) from which the design effect is estimated."""
_SCANNED: Final = 20_000
_SCANNED_ANSWERS: Final = 5_000
"""Maximum number of verdicts to scan if the dimension must be read from each verdict's answer."""
_SCANNED_TURNS: Final = 10_000
"""Maximum number of answers (newest first) to scan for answered turns of the compared values."""
MOST_TURNS: Final = 1_500
"""Maximum number of answered turns per side (newest first) for which to look up feedback."""
_OF_ANSWER: Final = ("agent_id", "agent_version", "model")
"""Filters that also apply to answered turns."""


@dataclass(frozen=True, slots=True)
class _Side:
    votes: ValueVotes
    sizes: dict[Origin, float]
    answered: AnsweredTurns | None

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
    brief: bool = False,
    counted: Sequence[ValueVotes] = (),
) -> ValueComparison:
    """Compare two values of a dimension by the verdicts in a time window.

    Counts are exact. Confidence intervals allow for people who gave several verdicts each. The size of this effect is
    estimated from the newest verdicts.

    Args:
        brief: Leave out the answered turns and the adjustment for the mix of questions.
        counted: The window's counts by value, if the caller already has them.
    """
    votes = {counts.value: counts for counts in counted}
    if len(votes) >= MOST_VALUES or not votes.keys() >= set(values):
        votes = {counts.value: counts for counts in await value_votes(pool, project, span, filters, by, values)}
    of_values = [votes.get(value) or ValueVotes(value, Votes(), Votes(), 0, 0) for value in values]
    # Independent statements run at the same time on several connections.
    answered, sizes, by_intent = await asyncio.gather(
        _answered(pool, project, span, filters, by, () if brief else values),
        asyncio.gather(*(_sizes(pool, project, span, filters, by, of_value) for of_value in of_values)),
        _votes_by_intent(pool, project, span, filters, by, () if brief else values),
    )
    sides = await asyncio.gather(
        *(
            _side(pool, project, span, filters, by, votes, size, answered.get(votes.value))
            for votes, size in zip(of_values, sizes, strict=True)
        )
    )
    strata = {origin: _strata_of(origin, votes_of, sides) for origin, votes_of in by_intent.items()}
    a, b = sides
    return ValueComparison(
        tenant=project.tenant,
        project=project.project,
        window=window_of(span),
        by=by.name,
        a=_shown(a),
        b=_shown(b),
        people=_difference(a, b, "user"),
        machine=_difference(a, b, "machine"),
        people_adjusted=_adjusted(a, b, strata.get("user", []), "user"),
        machine_adjusted=_adjusted(a, b, strata.get("machine", []), "machine"),
    )


async def _side(
    pool: asyncpg.Pool,
    project: Project,
    span: TimeSpan,
    filters: Filters,
    by: Dimension,
    votes: ValueVotes,
    sizes: dict[Origin, float],
    answered: AnsweredTurns | None,
) -> _Side:
    until = _until(span, votes)
    if answered is not None and not answered.complete and until.end < span.end:
        answered = (await _answered(pool, project, until, filters, by, (votes.value,)))[votes.value]
    return _Side(votes, sizes, answered)


def _until(span: TimeSpan, votes: ValueVotes) -> TimeSpan:
    """End the time window at most a day after the last verdict on the value.

    The query reads the window from its end backwards, so it would otherwise read many rows without this value.
    """
    return TimeSpan(span.start, min(span.end, votes.last_at + DAY) if votes.last_at else span.end)


async def _sizes(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters, by: Dimension, votes: ValueVotes
) -> dict[Origin, float]:
    """Return the effective sample size of the verdicts on a value, by origin."""
    scanned = _until(span, votes)._replace(start=max(span.start, votes.first_at))
    people = await _people(pool, project, scanned, filters, by, votes)
    return {origin: effective_size(some) for origin, some in people.items()}


async def _people(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters, by: Dimension, votes: ValueVotes
) -> dict[Origin, list[PersonVotes]]:
    if not votes.people.total + votes.machine.total or span.start >= span.end:
        return {}
    condition, parameters = where(project, span, filters)
    holds, named = feedback_holds(by)
    if by.rolled:  # an index has the column
        condition, holds = f"{condition} and {holds}", "true"
        scanned = SAMPLE
    else:
        scanned = _SCANNED if by.of_feedback else _SCANNED_ANSWERS
    # Every machine verdict with a reaction counts, so the view `effective` need not be read.
    counts = "e.origin = 'machine'" if filters.view == "effective" else "false"
    statement = SQL.count_by_person.filled(view=filters.view, where=condition, holds=holds, counts=counts)
    rows = await pool.fetch(*statement(**parameters, **named, value=votes.value, scanned=scanned, sample=SAMPLE))
    people: dict[Origin, list[PersonVotes]] = defaultdict(list)
    for row in rows:
        people[row["origin"]].append(PersonVotes(row["ok"], row["verdicts"]))
    return people


async def _answered(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters, by: Dimension, values: Sequence[str]
) -> dict[str, AnsweredTurns]:
    """Count the answered turns of each value.

    The result is empty if no values are given, or if answers do not have this dimension.
    """
    expression = value_of_answer(by)
    if expression is None or not values:
        return {}
    value, named = expression
    parameters: dict[str, Any] = {**project._asdict(), **span._asdict(), **named, "compared": list(values)}
    narrowed = ""
    for column in _OF_ANSWER:
        if (wanted := getattr(filters, column)) is not None:
            narrowed, parameters[column] = f"{narrowed} and e.{column} = :{column}", wanted
    statement = SQL.count_answered_turns.filled(value=value, narrowed=narrowed)
    rows = await pool.fetch(*statement(**parameters, scanned=_SCANNED_TURNS, most=MOST_TURNS))
    return {
        row["value"]: AnsweredTurns(
            turns=row["turns"],
            complete=row["looked"] < _SCANNED_TURNS and row["held"] <= MOST_TURNS,
            with_verdict_of_people=row["people"],
            with_verdict_of_machine=row["machine"],
            response_rate=row["people"] / row["turns"] if row["turns"] else None,
        )
        for row in rows
    }


async def _votes_by_intent(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters, by: Dimension, values: Sequence[str]
) -> dict[Origin, dict[str, dict[str, Votes]]]:
    """Count the verdicts by origin, intent and value.

    The result is empty if no values are given, or if the dimension is not agent, version or model. Only these
    dimensions have roll-ups that can be split by intent.
    """
    if not by.rolled or not values:
        return {}
    source = dimensions(project, span, filters)
    statement = SQL.count_values_by_intent.filled(
        source=source.sql, value=value_of(by), narrowed=f"{value_of(by)} = any(:compared::text[])"
    )
    votes: dict[Origin, dict[str, dict[str, Votes]]] = {"user": {}, "machine": {}}
    for row in await pool.fetch(*statement(**source.values, compared=list(values))):
        counted = Votes(int(row["ok"]), int(row["neutral"]), int(row["not_ok"]))
        votes[row["origin"]].setdefault(row["intent"], {})[row["value"]] = counted
    return votes


def _strata_of(origin: Origin, by_intent: dict[str, dict[str, Votes]], sides: list[_Side]) -> list[QuestionKind]:
    """Split both sides' verdicts by intent.

    The last stratum contains the verdicts without an intent.
    """
    wholes = [side.share(origin) for side in sides]
    counts = [[of_intent.get(side.votes.value, Votes()) for side in sides] for of_intent in by_intent.values()]
    strata = [[(votes.ok, votes.total) for votes in pair] for pair in counts]
    rest = []
    for index, everything in enumerate(
        wholes
    ):  # an earlier statement read `everything`, so it may lack the latest verdicts
        total = max(0, everything.votes - sum(pair[index].total for pair in counts))
        rest.append((min(total, max(0, everything.ok - sum(pair[index].ok for pair in counts))), total))
    return [
        QuestionKind(*(_part(ok, total, everything) for (ok, total), everything in zip(pair, wholes, strict=True)))
        for pair in [*strata, rest]
        if any(total > 0 for _, total in pair)
    ]


def _part(ok: int, total: int, everything: ClusteredShare) -> ClusteredShare:
    """Return the proportion of ok in a subset of the verdicts.

    The subset is assumed to have the same design effect as all the verdicts (`everything`).
    """
    return ClusteredShare(ok, total, total * everything.size / everything.votes if everything.votes else 0.0)


def _shown(side: _Side) -> ComparedSide:
    shares = {"people": _compared(side, "user"), "machine": _compared(side, "machine")}
    return ComparedSide(value=side.votes.value, answered=side.answered, **shares)


def _compared(side: _Side, origin: Origin) -> ComparedShare:
    votes, share = side.votes.of(origin), side.share(origin)
    return ComparedShare(
        ok=votes.ok,
        neutral=votes.neutral,
        not_ok=votes.not_ok,
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
            adjusted=False,
        )
    return _stated(second.share - first.share, second.minus(first), a, b, origin)


def _adjusted(a: _Side, b: _Side, strata: list[QuestionKind], origin: Origin) -> SatisfactionDifference | None:
    result = adjusted(strata)
    if result is None:
        return None
    return _stated(result.difference, result.sure, a, b, origin, result.shared)


_BY: Final[dict[Origin, str]] = {"user": "people", "machine": "the machine"}
_VERB: Final[dict[Origin, str]] = {"user": "people are", "machine": "by the machine's verdicts, people are"}


def _stated(
    points: float, sure: Interval, a: _Side, b: _Side, origin: Origin, shared: float | None = None
) -> SatisfactionDifference:
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
        adjusted=shared is not None,
        shared=shared,
    )
