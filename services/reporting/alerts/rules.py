"""Alert rules: the table of kinds, and the settings of each kind. Pure."""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from contracts.base import Id, Name

JudgedBy = Literal["people", "machine"]
"""Verdicts that a rule counts; `machine` includes the reviews that replace the machine's verdicts."""


class RuleSettings(BaseModel):
    """Settings of every rule. `channels` are names of channels in the file; without any, only the page shows alerts."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    name: Annotated[Name, Field(description="Name of the rule, unique in its project.", examples=["support-bot-low"])]
    channels: Annotated[
        tuple[Name, ...],
        Field(max_length=10, description="Names of the channels that get its alerts.", examples=[["support-slack"]]),
    ] = ()


class ShareRuleSettings(RuleSettings):
    """Settings of a rule about satisfaction, tested for each agent or each version of an agent."""

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
            description="Number of days to test: one test covers the verdicts since each of the last days (UTC).",
        ),
    ] = 7


class SatisfactionBelow(ShareRuleSettings):
    """Satisfaction is below a level, and so is its upper always-valid confidence bound."""

    kind: Annotated[Literal["satisfaction_below"], Field(description="Kind of the rule.")]
    below: Annotated[float, Field(gt=0, lt=1, description="The level, between 0 and 1.", examples=[0.8])]


class SatisfactionDropped(ShareRuleSettings):
    """Satisfaction is significantly lower than in the 28 days before. A version is compared with its whole agent."""

    kind: Annotated[Literal["satisfaction_dropped"], Field(description="Kind of the rule.")]


class Silence(RuleSettings):
    """There is no feedback, although there was some at the same time a week before."""

    kind: Annotated[Literal["silence"], Field(description="Kind of the rule.")]
    agent: Annotated[Id | None, Field(description="The only agent to test; null for the whole project.")] = None
    hours: Annotated[int, Field(ge=1, le=168, description="Length of the time without any verdict, in hours.")] = 24
    least: Annotated[
        int, Field(ge=5, le=1_000_000, description="Minimum number of verdicts in the same hours of the week before.")
    ] = 10


class IssueRuleSettings(RuleSettings):
    """Settings of a rule about issues, tested for each issue."""

    agent: Annotated[Id | None, Field(description="The only agent whose issues are tested; null for all agents.")] = (
        None
    )


class NewIssue(IssueRuleSettings):
    """An open issue with a recent first rejection affects many people. The alert is over once the issue is not open."""

    kind: Annotated[Literal["new_issue"], Field(description="Kind of the rule.")]
    people: Annotated[int, Field(ge=1, le=1_000_000, description="Minimum number of people affected.")] = 5
    days: Annotated[int, Field(ge=1, le=90, description="Maximum age of the issue's first rejection, in days.")] = 7


class RegressedIssue(IssueRuleSettings):
    """A resolved issue has regressed. The alert is over once it is resolved again, muted or reopened."""

    kind: Annotated[Literal["regressed_issue"], Field(description="Kind of the rule.")]


class DeadLetters(RuleSettings):
    """Records became dead letters in the last hour."""

    kind: Annotated[Literal["dead_letters"], Field(description="Kind of the rule.")]
    more_than: Annotated[
        int, Field(ge=0, description="Number of dead letters in an hour above which the rule raises an alert.")
    ] = 0


class Lag(RuleSettings):
    """Records have been waiting in the log for some time."""

    kind: Annotated[Literal["lag"], Field(description="Kind of the rule.")]
    more_than: Annotated[
        int, Field(ge=0, description="Number of waiting records above which the rule raises an alert.")
    ] = 10_000
    minutes: Annotated[
        int, Field(ge=0, le=1_440, description="Minutes for which more records than that must have been waiting.")
    ] = 5


ShareRule = SatisfactionBelow | SatisfactionDropped
IssueRule = NewIssue | RegressedIssue
ProjectRule = ShareRule | Silence | IssueRule
"""Rule about the feedback of one project."""
PlatformRule = DeadLetters | Lag
"""Rule about the whole platform, which is shown only to callers with access to all tenants."""
AlertRule = ProjectRule | PlatformRule
KINDS: Final = {get_args(one.model_fields["kind"].annotation)[0]: one for one in get_args(AlertRule)}
"""Class of each kind of rule. A new kind needs a class here and a row in `decisions.DECISIONS`."""
PROJECT_RULE: Final[TypeAdapter[ProjectRule]] = TypeAdapter(Annotated[ProjectRule, Field(discriminator="kind")])
