"""Response models of a comparison."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from reporting.model.responses import JudgedShare, ProjectReport, ResponseModel

DifferenceVerdict = Literal["higher", "lower", "unclear"]


class ComparedShare(JudgedShare):
    """Verdicts on one side of a comparison. The interval is adjusted for clustering by person."""

    total: Annotated[int, Field(description="Number of verdicts: ok + neutral + not_ok.")]
    effective_size: Annotated[
        float,
        Field(
            description="Effective sample size: the number of independent verdicts with the same information. It is "
            "estimated from at most the 3,000 newest verdicts."
        ),
    ]


class ComparedSide(ResponseModel):
    """One side of a comparison."""

    value: Annotated[str, Field(description="The requested value.")]
    people: Annotated[ComparedShare, Field(description="People's verdicts.")]
    machine: Annotated[ComparedShare, Field(description="The machine's verdicts that no review has replaced.")]


class SatisfactionDifference(ResponseModel):
    """Difference in satisfaction: b minus a."""

    difference: Annotated[
        float | None,
        Field(description="Satisfaction with b minus satisfaction with a, -1 to 1; null if a side has no verdicts."),
    ]
    low: Annotated[float, Field(description="Lower bound of the 95 % confidence interval (Newcombe).")]
    high: Annotated[float, Field(description="Upper bound of the 95 % confidence interval (Newcombe).")]
    verdict: Annotated[
        DifferenceVerdict,
        Field(
            description="Satisfaction with b compared with a: `higher`, `lower`, or `unclear` if the interval "
            "contains 0."
        ),
    ]
    sentence: Annotated[str, Field(description="The result in words.")]


class ValueComparison(ProjectReport):
    """Comparison of two values of a dimension. People's and the machine's verdicts are counted separately."""

    by: Annotated[str, Field(description="The dimension.")]
    a: Annotated[ComparedSide, Field(description="The first value.")]
    b: Annotated[ComparedSide, Field(description="The second value.")]
    people: Annotated[SatisfactionDifference, Field(description="Difference by people's verdicts.")]
    machine: Annotated[SatisfactionDifference, Field(description="Difference by the machine's verdicts.")]
