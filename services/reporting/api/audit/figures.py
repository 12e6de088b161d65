"""Figures of the audit: accuracy of the machine verdicts, and rates corrected by reviews."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Final

from pydantic import Field

from contracts.base import Reaction
from contracts.intervals import wilson
from reporting.api.audit.estimate import Estimate, Stratum, satisfaction, share
from reporting.api.audit.kinds import VerdictKind
from reporting.queries.answers import ResponseModel, Window

Verdicts = Mapping[Reaction | None, Stratum]
VERDICTS: Final[tuple[Reaction | None, ...]] = ("not_ok", "ok", "neutral", None)


class Rate(ResponseModel):
    """An estimated rate with its 95 % confidence interval, all between 0 and 1."""

    rate: Annotated[float, Field(description="The estimated rate, 0 to 1.")]
    low: Annotated[float, Field(description="Lower bound of the interval, 0 to 1.")]
    high: Annotated[float, Field(description="Upper bound of the interval, 0 to 1.")]


class CorrectedRates(ResponseModel):
    """Rates of one agent or of all agents, both as judged by the machine and as corrected by reviews."""

    agent_id: Annotated[str | None, Field(description="The agent; null for all agents.")]
    answers: Annotated[int, Field(description="Number of answers in the window that a person responded to.")]
    reviewed: Annotated[int, Field(description="Number of these answers that were drawn at random and reviewed.")]
    rejected: Annotated[float | None, Field(description="Share of answers with a rejection by the machine.")]
    rejected_corrected: Annotated[
        Rate | None, Field(description="Estimated share of answers that people rejected; null without enough reviews.")
    ]
    satisfaction: Annotated[
        float | None, Field(description="ok / (ok + not_ok) of the machine's verdicts; null if there are none.")
    ]
    satisfaction_corrected: Annotated[
        Rate | None,
        Field(description="Estimated ok / (ok + not_ok) of people's opinions; null without enough reviews."),
    ]


class Accuracy(ResponseModel):
    """Precision and recall of one machine verdict, measured on the random sample."""

    announced: Annotated[int, Field(description="Number of answers with this machine verdict.")]
    reviewed: Annotated[int, Field(description="Number of these answers that were drawn at random and reviewed.")]
    right: Annotated[int, Field(description="Number of reviewed answers with the same verdict by the reviewer.")]
    precision: Annotated[Rate | None, Field(description="right / reviewed; null without reviews.")]
    recall: Annotated[
        float | None,
        Field(
            description="Estimated recall: of all answers that deserve this verdict, the share with this machine "
            "verdict; null without reviews."
        ),
    ]


class Audit(ResponseModel):
    """Accuracy of the machine verdicts and corrected rates, estimated from reviews of randomly drawn answers."""

    tenant: Annotated[str, Field(description="The tenant in the path.")]
    project: Annotated[str, Field(description="The project in the path.")]
    window: Annotated[Window, Field(description="Window of the answers: `start` inclusive, `end` exclusive.")]
    pending: Annotated[int, Field(description="Number of drawn answers that nobody has reviewed yet.")]
    accuracy: Annotated[dict[Reaction, Accuracy], Field(description="Precision and recall, by machine verdict.")]
    kinds: Annotated[
        list[VerdictKind],
        Field(description="Precision by kind of verdict, as shown with each verdict; not limited to the window."),
    ]
    whole: Annotated[CorrectedRates, Field(description="Rates of all agents together.")]
    agents: Annotated[list[CorrectedRates], Field(description="Rates of each agent; agents with most answers first.")]


def corrected(agent_id: str | None, verdicts: Verdicts) -> CorrectedRates:
    """Return the rates of an agent, or of all agents if `agent_id` is None."""
    strata = list(verdicts.values())
    answers = sum(one.size for one in strata)
    ok, not_ok = (verdicts[one].size if one in verdicts else 0 for one in ("ok", "not_ok"))
    return CorrectedRates(
        agent_id=agent_id,
        answers=answers,
        reviewed=sum(one.reviewed for one in strata),
        rejected=not_ok / answers if answers else None,
        rejected_corrected=_rate(share(strata, lambda one: one.not_ok)),
        satisfaction=ok / (ok + not_ok) if ok + not_ok else None,
        satisfaction_corrected=_rate(satisfaction(strata)),
    )


def accuracy(verdict: Reaction, verdicts: Verdicts) -> Accuracy:
    """Return the precision and recall of a machine verdict."""
    one = verdicts.get(verdict, Stratum(0))
    right = getattr(one, verdict)
    whole = share(list(verdicts.values()), lambda each: getattr(each, verdict))
    answers = sum(each.size for each in verdicts.values())
    found = one.size * right / one.reviewed if one.reviewed else 0.0
    bounds = wilson(right, one.reviewed)
    return Accuracy(
        announced=one.size,
        reviewed=one.reviewed,
        right=right,
        precision=Rate(rate=right / one.reviewed, low=bounds.low, high=bounds.high) if one.reviewed else None,
        recall=found / (whole.rate * answers) if whole is not None and whole.rate else None,
    )


def pooled(agents: Iterable[Verdicts]) -> dict[Reaction | None, Stratum]:
    """Combine the strata of several agents into one stratum for each machine verdict."""
    found: dict[Reaction | None, Stratum] = {}
    for verdicts in agents:
        for verdict, one in verdicts.items():
            found[verdict] = found.get(verdict, Stratum(0)) + one
    return found


def _rate(estimate: Estimate | None) -> Rate | None:
    return (
        None if estimate is None else Rate(rate=estimate.rate, low=estimate.interval.low, high=estimate.interval.high)
    )
