"""Registry of the HTTP routes that accept chat events: `/ingest`, and one row per kind of source.

The routes, their permissions and body limits, the settings and docs/sources.md are derived from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import APIRouter

from chat_bridge import api
from chat_bridge.intake import Intake
from chat_bridge.sources.api import SOURCE_LIMIT, source_router
from chat_bridge.sources.slack_workspace import SLACK, SlackSettings
from chat_bridge.sources.source import Source, SourceKind
from chat_bridge.sources.webhook_files import MAPPED_WEBHOOKS, WebhookMapSettings
from servicekit.web.permissions import PUBLIC, Permissions

SOURCES: Final[Sequence[SourceKind]] = (SLACK, MAPPED_WEBHOOKS)


class SourceSettings(SlackSettings, WebhookMapSettings):
    """Settings of all kinds of sources."""


OpenSources = Mapping[str, Mapping[str, Source]]
"""Sources by name of their kind and by their own name."""
PERMISSIONS: Final[Permissions] = {**api.PERMISSIONS, **{("POST", kind.path): PUBLIC for kind in SOURCES}}
"""Sources need no token, because platforms sign their requests."""
BODY_LIMITS: Final = {"/ingest/": api.INGEST_LIMIT} | {kind.path.partition("{")[0]: SOURCE_LIMIT for kind in SOURCES}


def open_sources(settings: Any) -> OpenSources:
    """Return the sources that `settings` configure. Raises StartError."""
    return {kind.name: kind.open(settings) for kind in SOURCES}


def routers(intake: Intake, sources: OpenSources) -> list[APIRouter]:
    """Return the routes of `/ingest` and of all sources. A source that is not configured responds with 404."""
    return [api.ingest_router(intake), *(source_router(kind, sources.get(kind.name, {}), intake) for kind in SOURCES)]
