"""All sources, from which the route, the settings and their reference are derived."""

from __future__ import annotations

from collections.abc import Mapping

from chat_bridge.sources.slack_workspace import SlackSettings, open_slack
from chat_bridge.sources.source import Source
from chat_bridge.sources.webhook_files import WebhookMapSettings, open_maps
from servicekit.errors import StartError


class SourceSettings(SlackSettings, WebhookMapSettings):
    """Settings of all sources."""


def open_sources(settings: SourceSettings) -> Mapping[str, Source]:
    """Return the configured sources by name.

    Raises:
        StartError: A source is configured incorrectly, or two have the same name.
    """
    slack, maps = open_slack(settings), open_maps(settings)
    if slack.keys() & maps.keys():
        raise StartError("CHAT_BRIDGE_WEBHOOK_MAPS has a slack.toml, but Slack is configured by its own settings.")
    return slack | maps
