"""Response models of a comparison."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from reporting.queries.answers import ResponseModel, Window

DifferenceVerdict = Literal["higher", "lower", "unclear"]


class ComparedShare(ResponseModel):
    """People's or the machine's verdicts on one side of a comparison."""

    ok: Annotated[int, Field(description="Satisfied.")]
    neutral: Annotated[int, Field(description="Neither.")]
    not_ok: Annotated[int, Field(description="Not satisfied.")]
    total: Annotated[int, Field(description="ok + neutral + not_ok.")]
    satisfaction: Annotated[float | None, Field(description="ok / total; null without verdicts.")]
    low: Annotated[float, Field(description="Lower bound of the 95 % confidence interval, clustered by person.")]
    high: Annotated[float, Field(description="Upper bound of the 95 % confidence interval, clustered by person.")]
    effective_size: Annotated[
        float, Field(description="Number of independent verdicts that say as much, from at most 10,000 newest ones.")
    ]


class AnsweredTurns(ResponseModel):
    """Number of the window's answered turns, and the number of those that have feedback so far."""

    turns: Annotated[int, Field(description="Answered turns, at most the 5,000 newest.")]
    complete: Annotated[bool, Field(description="True if these are all answered turns of the window.")]
    with_verdict_of_people: Annotated[int, Field(description="Those with a person's verdict.")]
    with_verdict_of_machine: Annotated[int, Field(description="Those with a verdict of the machine or a reviewer.")]
    response_rate: Annotated[
        float | None, Field(description="with_verdict_of_people / turns; null without answered turns.")
    ]


class ComparedSide(ResponseModel):
    """One side of a comparison."""

    value: Annotated[str, Field(description="As requested.")]
    people: Annotated[ComparedShare, Field(description="People's verdicts.")]
    machine: Annotated[ComparedShare, Field(description="The machine's verdicts, and the reviews that replace them.")]
    answered: Annotated[
        AnsweredTurns | None, Field(description="Answered turns; null for `user_type`, which answers do not have.")
    ]


class SatisfactionDifference(ResponseModel):
    """Difference in satisfaction: b minus a."""

    difference: Annotated[float | None, Field(description="-1 to 1; null if a side has no verdicts.")]
    low: Annotated[float, Field(description="Lower bound of the 95 % confidence interval (Newcombe).")]
    high: Annotated[float, Field(description="Upper bound of the 95 % confidence interval (Newcombe).")]
    verdict: Annotated[
        DifferenceVerdict,
        Field(description="b compared with a: `higher`, `lower`, or `unclear` if the interval contains 0."),
    ]
    sentence: Annotated[str, Field(description="The result in words.")]
    adjusted: Annotated[
        bool, Field(description="True if both sides were given the same mix of questions, by the answers' intents.")
    ]
    shared: Annotated[
        float | None, Field(description="If adjusted: share of the verdicts whose intent both sides have.")
    ] = None


class ValueComparison(ResponseModel):
    """Comparison of two values of a dimension. People's and the machine's verdicts are counted separately."""

    tenant: Annotated[str, Field(description="As in the path.")]
    project: Annotated[str, Field(description="As in the path.")]
    window: Annotated[Window, Field(description="`start` inclusive, `end` exclusive.")]
    by: Annotated[str, Field(description="The dimension.")]
    a: Annotated[ComparedSide, Field(description="The first value.")]
    b: Annotated[ComparedSide, Field(description="The second value.")]
    people: Annotated[SatisfactionDifference, Field(description="By people's verdicts.")]
    machine: Annotated[SatisfactionDifference, Field(description="By the machine's verdicts, with reviews.")]
    people_adjusted: Annotated[
        SatisfactionDifference | None,
        Field(description="The same for one mix of questions; null if the intents do not suffice."),
    ]
    machine_adjusted: Annotated[
        SatisfactionDifference | None,
        Field(description="The same for one mix of questions; null if the intents do not suffice."),
    ]
