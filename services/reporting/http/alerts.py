"""HTTP routes for the alerts of a project and their rules and channels."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from fastapi import Body
from pydantic import BaseModel, ConfigDict, Field

from contracts.base import Name
from contracts.instants import format_instant
from contracts.scopes import ADMIN, OPERATE, READ
from reporting.alerts.administration import AlertAdministration, ChannelState
from reporting.alerts.channels import ChannelKind
from reporting.alerts.rules import AlertRule
from reporting.alerts.store import AlertRow
from reporting.http.conversations import FAILURES, PROJECT
from reporting.model.responses import ResponseModel, Time
from reporting.model.selection import Project
from servicekit.web.auth import RequestCaller
from servicekit.web.routes import Routes

ALERTS: Final = PROJECT + "/alerts"
RULES, REMOVALS, TESTS = ALERTS + "/rules", ALERTS + "/removals", ALERTS + "/tests"


class AlertShown(ResponseModel):
    """An alert, either open or over."""

    rule: Annotated[str, Field(description="Name of the alert's rule.", examples=["support-bot-low"])]
    kind: Annotated[str, Field(description="Kind of the alert's rule.", examples=["satisfaction_below"])]
    agent: Annotated[
        str | None, Field(description="The agent that the alert is about; null if it is about the project.")
    ]
    version: Annotated[
        str | None, Field(description="The version of the agent that the alert is about; null for all versions.")
    ]
    issue: Annotated[
        int | None, Field(description="The issue that the alert is about; null if it is not about an issue.")
    ]
    title: Annotated[str, Field(description="Summary of the alert.")]
    opened_at: Annotated[Time, Field(description="Start of the alert, in UTC.")]
    over_at: Annotated[Time | None, Field(description="End of the alert, in UTC; null while it is open.")]
    path: Annotated[str, Field(description="Path of the dashboard page with the turns of the alert.")]


class ChannelShown(ResponseModel):
    """A channel that the project's rules may use."""

    name: Annotated[str, Field(description="Name of the channel.", examples=["support-slack"])]
    kind: Annotated[ChannelKind, Field(description="Kind of the channel.", examples=["slack"])]
    waiting: Annotated[int, Field(description="Number of the project's messages that will be retried.", examples=[0])]
    dead: Annotated[int, Field(description="Number of the project's messages that are not retried.", examples=[0])]
    last_answer: Annotated[
        str | None,
        Field(
            description="Last failure of these messages: an HTTP status, `timeout`, `private_address` or "
            "the name of an error."
        ),
    ]


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
    name: Annotated[
        Name,
        Field(description="Name of a rule.", examples=["support-bot-low"]),
    ]


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


def alerts_router(administration: AlertAdministration) -> Routes:
    """Return the routes under `…/alerts`."""
    router = Routes("alerts", FAILURES)

    @router.at("GET", ALERTS, READ, summary="Alerts, rules and channels")
    async def alerts(tenant: Name, project: Name) -> ProjectAlertsState:
        """Get the project's open and most recent alerts, its rules, and the channels that its rules may use."""
        overview = await administration.overview(Project(tenant, project))
        alerts = [_shown(alert) for alert in overview.alerts]
        channels = [_channel(channel) for channel in overview.channels]
        return ProjectAlertsState(
            tenant=tenant, project=project, alerts=alerts, rules=list(overview.rules), channels=channels
        )

    @router.at(
        "POST",
        RULES,
        (OPERATE, ADMIN),
        summary="Set an alert rule",
        refuses={409: "The project has too many rules."},
    )
    async def set_rule(
        tenant: Name, project: Name, body: Annotated[AlertRule, Body(discriminator="kind")], caller: RequestCaller
    ) -> ChangedRule:
        """Store a rule. It replaces a rule with the same name."""
        await administration.set_rule(Project(tenant, project), body, caller.subject)
        return ChangedRule(name=body.name, state="stored")

    @router.at(
        "POST",
        REMOVALS,
        (OPERATE, ADMIN),
        summary="Remove an alert rule",
        refuses={404: "No stored rule has this name."},
    )
    async def remove(tenant: Name, project: Name, body: RuleName, caller: RequestCaller) -> ChangedRule:
        """Remove a rule. Its open alerts end within a minute."""
        await administration.remove_rule(Project(tenant, project), body.name, caller.subject)
        return ChangedRule(name=body.name, state="removed")

    @router.at(
        "POST",
        TESTS,
        (OPERATE, ADMIN),
        summary="Test an alert channel",
        refuses={404: "The project has no such channel.", 429: "Too many tests within a minute; see Retry-After."},
    )
    async def test(tenant: Name, project: Name, body: ChannelName) -> TestedChannel:
        """Send a test message now and return the channel's response."""
        result = await administration.test(Project(tenant, project), body.channel)
        return TestedChannel(delivered=result.delivered, answer=result.what)

    return router


def _channel(state: ChannelState) -> ChannelShown:
    count = state.count
    return ChannelShown(
        name=state.name, kind=state.kind, waiting=count.waiting, dead=count.dead, last_answer=count.last_answer
    )


def _shown(row: AlertRow) -> AlertShown:
    return AlertShown(
        rule=row.rule,
        kind=row.kind,
        agent=row.subject.agent,
        version=row.subject.version,
        issue=row.subject.issue,
        title=row.title,
        opened_at=format_instant(row.opened_at),
        over_at=None if row.over_at is None else format_instant(row.over_at),
        path=row.path,
    )
