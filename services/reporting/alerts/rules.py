"""Alert rules and their settings. No I/O."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from contracts.base import Id, Name

JudgedBy = Literal["people", "machine"]
"""Author of the verdicts that a rule counts. `machine` counts the verdicts that no review has replaced."""
MOST_CHANNELS_OF_RULE: Final = 10


class RuleSettings(BaseModel):
    """Settings common to all rules. Without channels, alerts are only shown on the page."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    name: Annotated[Name, Field(description="Name of the rule, unique in its project.", examples=["support-bot-low"])]
    channels: Annotated[
        tuple[Name, ...],
        Field(
            max_length=MOST_CHANNELS_OF_RULE,
            description="Names of the channels that get the rule's alerts.",
            examples=[["support-slack"]],
        ),
    ] = ()


class ShareRuleSettings(RuleSettings):
    """Settings common to all satisfaction rules. Each agent, or each version of an agent, is tested separately."""

    agent: Annotated[Id | None, Field(description="The only agent to test; null for every agent.")] = None
    per: Annotated[
        Literal["agent", "version"], Field(description="Test each agent, or each version of each agent.")
    ] = "agent"
    verdicts: Annotated[JudgedBy, Field(description="Verdicts that count: people's or the machine's.")] = "people"
    days: Annotated[
        int,
        Field(
            ge=1,
            le=28,
            description="Number of tests: for each of the last days (UTC), one test of the verdicts since that day.",
        ),
    ] = 7


class SatisfactionBelow(ShareRuleSettings):
    """Rule that fires if satisfaction is significantly below a level.

    The upper bound of the always-valid confidence interval of satisfaction must be below the level.
    """

    kind: Annotated[Literal["satisfaction_below"], Field(description="Kind of the rule.")]
    below: Annotated[float, Field(gt=0, lt=1, description="The level, between 0 and 1.", examples=[0.8])]


class SatisfactionDropped(ShareRuleSettings):
    """Rule that fires if satisfaction is significantly lower than in the preceding 28 days.

    A version is compared with all versions of its agent.
    """

    kind: Annotated[Literal["satisfaction_dropped"], Field(description="Kind of the rule.")]


class Silence(RuleSettings):
    """Rule that fires if there are no verdicts, although there were enough in the same hours a week earlier."""

    kind: Annotated[Literal["silence"], Field(description="Kind of the rule.")]
    agent: Annotated[Id | None, Field(description="The only agent to test; null for the whole project.")] = None
    hours: Annotated[int, Field(ge=1, le=168, description="Length of the time without verdicts, in hours.")] = 24
    least: Annotated[
        int, Field(ge=5, le=1_000_000, description="Minimum number of verdicts in the same hours of the week before.")
    ] = 10


class IssueRuleSettings(RuleSettings):
    """Settings common to all rules about issues. Each issue is tested separately."""

    agent: Annotated[Id | None, Field(description="The only agent with tested issues; null for all agents.")] = None


class NewIssue(IssueRuleSettings):
    """Rule that fires if a new issue affects many people.

    The alert ends when the issue is no longer open.
    """

    kind: Annotated[Literal["new_issue"], Field(description="Kind of the rule.")]
    people: Annotated[int, Field(ge=1, le=1_000_000, description="Minimum number of affected people.")] = 5
    days: Annotated[int, Field(ge=1, le=90, description="Maximum age of the issue's first rejection, in days.")] = 7


class RegressedIssue(IssueRuleSettings):
    """Rule that fires if a resolved issue regresses.

    The alert ends when the issue is resolved again, muted or reopened.
    """

    kind: Annotated[Literal["regressed_issue"], Field(description="Kind of the rule.")]


ShareRule = SatisfactionBelow | SatisfactionDropped
IssueRule = NewIssue | RegressedIssue
AlertRule = ShareRule | Silence | IssueRule
"""Rule about the feedback of a project. Each kind also needs an entry in `decisions.DECISIONS`."""
ALERT_RULE: Final[TypeAdapter[AlertRule]] = TypeAdapter(Annotated[AlertRule, Field(discriminator="kind")])
