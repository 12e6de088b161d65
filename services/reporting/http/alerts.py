"""HTTP routes for the alerts of a project and their rules and channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from fastapi import Body
from pydantic import AliasPath, BaseModel, ConfigDict, Field

from contracts.base import Name
from contracts.scopes import ADMIN, OPERATE, READ
from reporting.alerts.administration import AlertAdministration
from reporting.alerts.channels import ChannelKind
from reporting.alerts.rules import AlertRule
from reporting.http.paths import FAILURES, PROJECT, ProjectPath
from reporting.model.responses import InstantTime, ResponseModel
from servicekit.web.auth import RequestCaller
from servicekit.web.routes import Routes

ALERTS: Final = PROJECT + "/alerts"
RULES, REMOVALS, TESTS = ALERTS + "/rules", ALERTS + "/removals", ALERTS + "/tests"


class AlertShown(ResponseModel):
    """An alert, either open or over."""

    rule: Annotated[str, Field(description="Name of the alert's rule.", examples=["support-bot-low"])]
    kind: Annotated[str, Field(description="Kind of the alert's rule.", examples=["satisfaction_below"])]
    agent: str | None = Field(
        validation_alias=AliasPath("subject", "agent"),
        description="The agent that the alert is about; null if it is about the project.",
    )
    version: str | None = Field(
        validation_alias=AliasPath("subject", "version"),
        description="The version of the agent that the alert is about; null for all versions.",
    )
    issue: int | None = Field(
        validation_alias=AliasPath("subject", "issue"),
        description="The issue that the alert is about; null if it is not about an issue.",
    )
    title: Annotated[str, Field(description="Summary of the alert.")]
    opened_at: Annotated[InstantTime, Field(description="Start of the alert, in UTC.")]
    over_at: Annotated[InstantTime | None, Field(description="End of the alert, in UTC; null while it is open.")]
    path: Annotated[str, Field(description="Path of the dashboard page with the turns of the alert.")]


class ChannelShown(ResponseModel):
    """A channel that the project's rules may use."""

    name: Annotated[str, Field(description="Name of the channel.", examples=["support-slack"])]
    kind: Annotated[ChannelKind, Field(description="Kind of the channel.", examples=["slack"])]
    waiting: int = Field(
        validation_alias=AliasPath("count", "waiting"),
        description="Number of the project's messages that will be retried.",
        examples=[0],
    )
    dead: int = Field(
        validation_alias=AliasPath("count", "dead"),
        description="Number of the project's messages that are not retried.",
        examples=[0],
    )
    last_answer: str | None = Field(
        validation_alias=AliasPath("count", "last_answer"),
        description="Last failure of these messages: an HTTP status, `timeout`, `private_address` or the name of an "
        "error.",
    )


class ProjectAlertsState(ResponseModel):
    """The alerts, rules and channels of a project."""

    tenant: Annotated[str, Field(description="The tenant in the path.")]
    project: Annotated[str, Field(description="The project in the path.")]
    alerts: Annotated[list[AlertShown], Field(description="Open alerts, then the others, newest first; at most 100.")]
    rules: Annotated[
        list[Annotated[AlertRule, Field(discriminator="kind")]], Field(description="Rules, sorted by name.")
    ]
    channels: Annotated[list[ChannelShown], Field(description="Channels, sorted by name.")]


class RuleName(BaseModel):
    """Name of a rule."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)
    name: Annotated[Name, Field(description="Name of a rule.", examples=["support-bot-low"])]


class ChannelName(BaseModel):
    """Name of a channel."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)
    channel: Annotated[Name, Field(description="Name of a channel of the project.", examples=["support-slack"])]


class ChangedRule(ResponseModel):
    """Result of storing or removing a rule."""

    name: Annotated[str, Field(description="Name of the rule.", examples=["support-bot-low"])]
    state: Annotated[Literal["stored", "removed"], Field(description="State of the rule after the request.")]


class TestedChannel(ResponseModel):
    """Result of a test message."""

    delivered: Annotated[bool, Field(description="True if the channel accepted the test message.")]
    answer: Annotated[
        str,
        Field(
            description="Outcome: an HTTP status, `delivered`, `timeout`, `private_address` or the name of an error.",
            examples=["200"],
        ),
    ]


@dataclass(frozen=True, slots=True)
class _Handlers:
    administration: AlertAdministration

    async def alerts(self, project: ProjectPath) -> dict[str, Any]:
        """Get the project's open and most recent alerts, its rules, and the channels that its rules may use."""
        overview = await self.administration.overview(project)
        return {
            **project._asdict(),
            "alerts": overview.alerts,
            "rules": overview.rules,
            "channels": overview.channels,
        }

    async def set_rule(
        self, project: ProjectPath, body: Annotated[AlertRule, Body(discriminator="kind")], caller: RequestCaller
    ) -> ChangedRule:
        """Store an alert rule. It replaces a rule with the same name."""
        await self.administration.set_rule(project, body, caller.subject)
        return ChangedRule(name=body.name, state="stored")

    async def remove(self, project: ProjectPath, body: RuleName, caller: RequestCaller) -> ChangedRule:
        """Remove an alert rule. Its open alerts end within a minute."""
        await self.administration.remove_rule(project, body.name, caller.subject)
        return ChangedRule(name=body.name, state="removed")

    async def test(self, project: ProjectPath, body: ChannelName) -> TestedChannel:
        """Send a test message now and return the channel's response."""
        result = await self.administration.test(project, body.channel)
        return TestedChannel(delivered=result.delivered, answer=result.what)


def alerts_router(administration: AlertAdministration) -> Routes:
    """Return the routes under `…/alerts`."""
    router, handlers = Routes("alerts", FAILURES), _Handlers(administration)
    operators = (OPERATE, ADMIN)
    router.at("GET", ALERTS, READ, response_model=ProjectAlertsState)(handlers.alerts)
    router.at("POST", RULES, operators, {409: "The project has too many rules."})(handlers.set_rule)
    router.at("POST", REMOVALS, operators, {404: "No stored rule has this name."})(handlers.remove)
    refusals = {404: "The project has no such channel.", 429: "Too many tests within a minute; see Retry-After."}
    router.at("POST", TESTS, operators, refusals)(handlers.test)
    return router
