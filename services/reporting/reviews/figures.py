"""Figures of the audit: precision of announced rejections, and rejections that the machine missed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from detector.intervals import wilson
from reporting.model.responses import ProjectReport, ResponseModel


class SampledShare(ResponseModel):
    """Share of rejected answers in a random sample, with its 95 % confidence interval (Wilson)."""

    answers: Annotated[int, Field(description="Number of answers from which the sample was drawn.")]
    reviewed: Annotated[int, Field(description="Number of these answers that were drawn at random and reviewed.")]
    rejected: Annotated[int, Field(description="Number of reviewed answers that the person rejected.")]
    share: Annotated[float | None, Field(description="rejected / reviewed, 0 to 1; null without reviews.")]
    low: Annotated[float, Field(description="Lower bound of the interval, 0 to 1.")]
    high: Annotated[float, Field(description="Upper bound of the interval, 0 to 1.")]


class SecondReview(ResponseModel):
    """A sampled turn on which reviewers disagree."""

    conversation_id: Annotated[str, Field(description="The conversation.")]
    turn_id: Annotated[str, Field(description="The turn.")]
    reviews: Annotated[list[str], Field(description="Each reviewer and verdict, such as `ann: not_ok`.")]


class Agreement(ResponseModel):
    """Agreement between reviewers: drawn turns with reviews by two or more reviewers, among the newest 1,000 drawn."""

    turns: Annotated[int, Field(description="Number of these turns.")]
    agreeing: Annotated[int, Field(description="Number of them on which all reviewers gave the same verdict.")]
    low: Annotated[float, Field(description="Lower bound of agreeing / turns, 0 to 1 (Wilson, 95 %).")]
    high: Annotated[float, Field(description="Upper bound of agreeing / turns, 0 to 1.")]
    disagreements: Annotated[list[SecondReview], Field(description="The newest other turns, at most 20.")]


class Audit(ProjectReport):
    """Accuracy of the machine's rejections, measured by reviews of randomly drawn answers."""

    pending: Annotated[int, Field(description="Number of drawn answers that nobody has reviewed yet.")]
    precision: Annotated[
        SampledShare, Field(description="Answers with a rejection by the machine: `share` is its precision.")
    ]
    missed: Annotated[
        SampledShare,
        Field(description="All other answers: 100 times `share` is the number of missed rejections per 100 of them."),
    ]
    agreement: Annotated[Agreement, Field(description="Agreement between reviewers; not limited to the window.")]


def sampled(answers: int, reviewed: int, rejected: int) -> SampledShare:
    """Return the share of rejected answers among the reviewed ones."""
    bounds = wilson(rejected, reviewed)
    share = rejected / reviewed if reviewed else None
    return SampledShare(
        answers=answers, reviewed=reviewed, rejected=rejected, share=share, low=bounds.low, high=bounds.high
    )
