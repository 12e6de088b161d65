"""Agreement between machine verdicts and people's feedback on the same turns."""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import asyncpg
from pydantic import Field

from contracts.base import Reaction
from reporting.figures.rollup_counts import judgements
from reporting.model.responses import ProjectReport, ResponseModel, scope_of
from reporting.model.selection import BINS, Filters, Project, TimeSpan
from reporting.sql import SQL

REACTIONS: Final[tuple[Reaction, ...]] = ("ok", "neutral", "not_ok")


class Bin(ResponseModel):
    """Agreement of people's verdicts with the machine verdicts in one confidence bin."""

    low: Annotated[float, Field(description="Lower bound of the confidence, inclusive, 0 to 1.")]
    high: Annotated[float, Field(description="Upper bound, exclusive; the last bin includes 1.")]
    pairs: Annotated[int, Field(description="Number of pairs of a machine verdict and a person's verdict.")]
    agreeing: Annotated[int, Field(description="Number of pairs with the same verdict.")]
    agreement: Annotated[float, Field(description="agreeing / pairs; ideally equal to the mean confidence.")]
    mean_confidence: Annotated[float, Field(description="Mean confidence of the bin's pairs, 0 to 1.")]


class Calibration(ProjectReport):
    """Agreement between machine verdicts, including overruled ones, and people's verdicts.

    Each machine verdict is paired with a person's effective reaction to the same turn, or with the turn's effective
    review.
    """

    pairs: Annotated[int, Field(description="Number of pairs.")]
    agreeing: Annotated[int, Field(description="Number of pairs with the same verdict.")]
    confusion: Annotated[
        dict[Reaction, dict[Reaction, int]], Field(description="`confusion[machine][person]` counts pairs.")
    ]
    bins: Annotated[list[Bin], Field(description="Confidence bins with pairs, lowest first.")]


class _BinCounts(NamedTuple):
    """People's verdicts on all turns with the same machine verdict and confidence bin.

    Attributes:
        machine: The machine verdict.
        people: Number of people's verdicts, by verdict.
        confidence: Sum of the confidences of the machine verdicts.
    """

    machine: Reaction
    bin: int
    people: dict[Reaction, int]
    confidence: float

    @property
    def pairs(self) -> int:
        return sum(self.people.values())


async def calibration(pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters) -> Calibration:
    """Compare the machine verdicts of a time window with people's verdicts on the same turns.

    People's verdicts may be from any time.
    """
    source, values = judgements(project, span, filters)
    judged = [
        _BinCounts(
            row["kind"], int(row["reason"]), {person: int(row[person]) for person in REACTIONS}, row["confidence"]
        )
        for row in await pool.fetch(*SQL.list_reasons.filled(source=source)(**values, limit=None))
    ]
    confusion: dict[Reaction, dict[Reaction, int]] = {
        machine: {
            person: sum(judgement.people[person] for judgement in judged if judgement.machine == machine)
            for person in REACTIONS
        }
        for machine in REACTIONS
    }
    numbers = sorted({judgement.bin for judgement in judged})
    return Calibration(
        **scope_of(project, span),
        pairs=sum(judgement.pairs for judgement in judged),
        agreeing=sum(confusion[reaction][reaction] for reaction in REACTIONS),
        confusion=confusion,
        bins=[_bin(number, [judgement for judgement in judged if judgement.bin == number]) for number in numbers],
    )


def _bin(number: int, judged: list[_BinCounts]) -> Bin:
    pairs = sum(judgement.pairs for judgement in judged)
    agreeing = sum(judgement.people[judgement.machine] for judgement in judged)
    return Bin(
        low=round(number / BINS, 2),
        high=round((number + 1) / BINS, 2),
        pairs=pairs,
        agreeing=agreeing,
        agreement=agreeing / pairs,
        mean_confidence=sum(judgement.confidence for judgement in judged) / pairs,
    )
