"""Agreement between machine verdicts and people's feedback on the same turns."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final, NamedTuple

import asyncpg
from pydantic import Field

from contracts.base import DecidedBy, Reaction
from contracts.detectors import precedence
from reporting.figures.rollup_counts import judgements
from reporting.figures.satisfaction import window_of
from reporting.model.responses import ResponseModel, Window
from reporting.model.selection import BINS, NONE_GIVEN, Filters, Project, TimeSpan, where
from reporting.sql import SQL

NEWEST_VERDICTS: Final = 10_000
"""Maximum number of machine verdicts (newest first) that are counted by detector."""
REACTIONS: Final[tuple[Reaction, ...]] = ("ok", "neutral", "not_ok")


class Bin(ResponseModel):
    """Agreement of people's verdicts with the machine verdicts in one confidence bin."""

    low: Annotated[float, Field(description="Lower bound of the confidence, inclusive, 0 to 1.")]
    high: Annotated[float, Field(description="Upper bound, exclusive; the last bin includes 1.")]
    pairs: Annotated[int, Field(description="Number of pairs of a machine verdict and a person's verdict.")]
    agreeing: Annotated[int, Field(description="Number of pairs with the same verdict.")]
    agreement: Annotated[float, Field(description="agreeing / pairs; ideally equal to the mean confidence.")]
    mean_confidence: Annotated[float, Field(description="Mean confidence of the bin's pairs, 0 to 1.")]


class Threshold(ResponseModel):
    """Agreement of people's verdicts with the machine verdicts at or above a confidence threshold."""

    threshold: Annotated[float, Field(description="Minimum confidence, 0 to 1.")]
    verdicts: Annotated[
        int, Field(description="Number of machine verdicts at or above the threshold, judged by people or not.")
    ]
    pairs: Annotated[int, Field(description="Number of pairs of such a verdict and a person's verdict.")]
    agreeing: Annotated[int, Field(description="Number of pairs with the same verdict.")]
    agreement: Annotated[float | None, Field(description="agreeing / pairs; null without pairs.")]


class OfDetector(ResponseModel):
    """Number of verdicts decided by one component of a detector version: rules, learned model or language model."""

    detector: Annotated[str | None, Field(description="The detector's version.")]
    decided_by: Annotated[DecidedBy | None, Field(description="The deciding part.")]
    verdicts: Annotated[int, Field(description="Number of verdicts, judged by people or not.")]


class Calibration(ResponseModel):
    """Agreement between machine verdicts, including overruled ones, and people's verdicts.

    Each machine verdict is paired with a person's effective reaction to the same turn, or with the turn's effective
    review.
    """

    tenant: Annotated[str, Field(description="The tenant in the path.")]
    project: Annotated[str, Field(description="The project in the path.")]
    window: Annotated[
        Window, Field(description="Time window of the machine verdicts: `start` inclusive, `end` exclusive.")
    ]
    pairs: Annotated[int, Field(description="Number of pairs.")]
    agreeing: Annotated[int, Field(description="Number of pairs with the same verdict.")]
    confusion: Annotated[
        dict[Reaction, dict[Reaction, int]], Field(description="`confusion[machine][person]` counts pairs.")
    ]
    bins: Annotated[list[Bin], Field(description="Confidence bins with pairs, lowest first.")]
    thresholds: Annotated[
        list[Threshold],
        Field(
            description="Agreement by threshold, lowest first. The first threshold is the window's lowest confidence."
        ),
    ]
    detectors: Annotated[
        list[OfDetector],
        Field(
            description="Number of verdicts by detector version and part, latest version first; at most 100 entries. "
            "Only the newest 10,000 verdicts are counted."
        ),
    ]


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


async def calibration(
    pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters = NONE_GIVEN
) -> Calibration:
    """Compare the machine verdicts of a time window with people's verdicts on the same turns.

    People's verdicts may be from any time.
    """
    source, values = judgements(project, span, filters)
    rows, detectors = await asyncio.gather(
        pool.fetch(*SQL.count_judgements.filled(source=source)(**values)),
        _detectors(pool, project, span, filters),
    )
    verdicts = {row["bin"]: int(row["total"]) for row in rows if row["kind"] == "verdict"}
    judged = [
        _BinCounts(row["kind"], row["bin"], {person: int(row[person]) for person in REACTIONS}, row["confidence"])
        for row in rows
        if row["kind"] != "verdict"
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
        tenant=project.tenant,
        project=project.project,
        window=window_of(span),
        pairs=sum(judgement.pairs for judgement in judged),
        agreeing=sum(confusion[reaction][reaction] for reaction in REACTIONS),
        confusion=confusion,
        bins=[_bin(number, [judgement for judgement in judged if judgement.bin == number]) for number in numbers],
        thresholds=[_threshold(number, judged, verdicts) for number in range(min(verdicts, default=BINS), BINS)],
        detectors=detectors,
    )


async def _detectors(pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters) -> list[OfDetector]:
    condition, values = where(project, span, filters)
    rows = await pool.fetch(*SQL.count_by_detector.filled(where=condition)(**values, most=NEWEST_VERDICTS))
    counts = [OfDetector(**row) for row in rows]
    return sorted(counts, key=lambda count: precedence(count.detector), reverse=True)


def _bin(number: int, judged: list[_BinCounts]) -> Bin:
    pairs, agreeing = _agreeing(judged)
    return Bin(
        low=round(number / BINS, 2),
        high=round((number + 1) / BINS, 2),
        pairs=pairs,
        agreeing=agreeing,
        agreement=agreeing / pairs,
        mean_confidence=sum(judgement.confidence for judgement in judged) / pairs,
    )


def _threshold(number: int, judged: list[_BinCounts], verdicts: dict[int, int]) -> Threshold:
    pairs, agreeing = _agreeing([judgement for judgement in judged if judgement.bin >= number])
    return Threshold(
        threshold=round(number / BINS, 2),
        verdicts=sum(count for bin_, count in verdicts.items() if bin_ >= number),
        pairs=pairs,
        agreeing=agreeing,
        agreement=agreeing / pairs if pairs else None,
    )


def _agreeing(judged: list[_BinCounts]) -> tuple[int, int]:
    return sum(judgement.pairs for judgement in judged), sum(
        judgement.people[judgement.machine] for judgement in judged
    )
