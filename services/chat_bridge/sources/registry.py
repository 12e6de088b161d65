"""Registry of source kinds, from which the routes, the settings and the reference are derived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from chat_bridge.sources.slack_workspace import SLACK, SlackSettings
from chat_bridge.sources.source import Source, SourceKind
from chat_bridge.sources.webhook_files import MAPPED_WEBHOOKS, WebhookMapSettings

SOURCES: Final[Sequence[SourceKind]] = (SLACK, MAPPED_WEBHOOKS)


class SourceSettings(SlackSettings, WebhookMapSettings):
    """Settings of all kinds of sources."""


OpenSources = Mapping[str, Mapping[str, Source]]
"""Sources by the name of their kind, then by their own name."""


def open_sources(settings: Any) -> OpenSources:
    """Open the sources that are configured in `settings`.

    Raises:
        StartError: A source is configured incorrectly.
    """
    return {kind.name: kind.open(settings) for kind in SOURCES}
