"""HTTP route for the alerts of a project, and their rules and channels."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AliasPath, Field

from contracts.scopes import READ
from reporting.alerts.administration import AlertAdministration
from reporting.alerts.channels import ChannelKind
from reporting.alerts.rules import AlertRule
from reporting.http.paths import FAILURES, PROJECT, ProjectPath
from reporting.model.responses import InstantTime, ResponseModel
from servicekit.web.routes import Routes


class AlertShown(ResponseModel):
    """An open or ended alert."""

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
        description="Number of the project's messages that will be retried.",
        examples=[0],
    )
    dead: int = Field(
        description="Number of the project's messages that are not retried.",
        examples=[0],
    )
    last_answer: str | None = Field(
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


def alerts_router(administration: AlertAdministration) -> Routes:
    """Return the route of a project's alerts. Rules and channels are set on the alerts page."""

    async def alerts(project: ProjectPath) -> dict[str, Any]:
        """Get the project's open and most recent alerts, its rules, and the channels that its rules may use."""
        return {**project._asdict(), **await administration.overview(project)}

    router = Routes("alerts", FAILURES)
    router.at("GET", PROJECT + "/alerts", READ, response_model=ProjectAlertsState)(alerts)
    return router
