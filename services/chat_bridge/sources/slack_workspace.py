"""Slack's Events API as a source: settings, signature verification, and the response to Slack's URL challenge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import Field, SecretStr

from chat_bridge.sources.slack import Agents, chat_events
from chat_bridge.sources.slack_controls import interaction_in, judgements
from chat_bridge.sources.source import Dropped, Payload, Source, SourceAnswer
from chat_bridge.sources.webhook_map import Signature
from chat_bridge.sources.webhook_signature import is_signed
from contracts.base import Id, Name
from servicekit.settings import Settings

SIGNATURE: Final = Signature(
    kind="hmac-sha256",
    secret="CHAT_BRIDGE_SLACK_SIGNING_SECRET",  # noqa: S106 # a variable's name
    header="x-slack-signature",
    prefix="v0=",
    signed="v0:{timestamp}:{body}",
    timestamp_header="x-slack-request-timestamp",
)


_INTERACTIONS: Final = ("block_actions", "view_submission")


class SlackSettings(Settings):
    """Settings of a Slack app whose events are accepted."""

    slack_signing_secret: SecretStr | None = Field(
        default=None, description="The signing secret on the app's page; without it Slack is not a source."
    )
    slack_tenant: Name = Field(default="default", description="The tenant of the events.")
    slack_project: Name = Field(default="slack", description="The project of the events.")
    slack_agents: dict[str, Id] = Field(
        default_factory=dict, description="A JSON object: agent ids by bot id, or by the bot's user id."
    )


def open_slack(settings: SlackSettings) -> dict[str, Source]:
    """Return Slack as a source by its name, if it is configured."""
    if not settings.slack_signing_secret:
        return {}
    key = settings.slack_signing_secret.get_secret_value().encode()
    source = Source(
        name="slack",
        tenant=settings.slack_tenant,
        project=settings.slack_project,
        verify=lambda request: is_signed(SIGNATURE, key, request),
        events=lambda payload: _events(payload, settings.slack_agents),
        answer=_answer,
        json_in=interaction_in,
    )
    return {source.name: source}


def _events(payload: Payload, agents: Agents) -> Sequence[Payload | Dropped]:
    is_interaction = payload.get("type") in _INTERACTIONS
    return judgements(payload, agents) if is_interaction else chat_events(payload, agents)


def _answer(payload: Payload) -> SourceAnswer | None:
    if payload.get("type") in _INTERACTIONS:
        return SourceAnswer()  # Slack shows an error if the response to a modal has other fields than it expects
    if payload.get("type") != "url_verification":
        return None
    return SourceAnswer(body={"outcome": "challenge", "challenge": str(payload.get("challenge", ""))[:1_000]})
