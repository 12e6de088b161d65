"""The OpenAPI document of all services' routes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter

from chat_bridge.api import ingest_router
from chat_bridge.api_refused import refused_router
from chat_bridge.sources.api import source_router
from chat_bridge.sources.registry import SOURCES
from feedback.api import intake_router
from feedback.api_erasure import erasure_router
from feedback.api_reviews import reviews_router
from feedback.api_sessions import sessions_router
from inference.api import inference_router
from reporting.access.own_caller import callers_router
from reporting.api.alerts import alerts_router
from reporting.api.audit.routes import audit_router
from reporting.api.conversations import conversations_router
from reporting.api.exports import exports_router
from reporting.api.figures import figures_router
from reporting.api.issues import issues_router
from reporting.api.webhooks import webhooks_router
from servicekit.web.application import application

ROUTERS: tuple[Callable[..., APIRouter], ...] = (
    refused_router,
    intake_router,
    reviews_router,
    sessions_router,
    erasure_router,
    conversations_router,
    figures_router,
    exports_router,
    audit_router,
    issues_router,
    alerts_router,
    webhooks_router,
    callers_router,
    inference_router,
)


def openapi() -> dict[str, Any]:
    """Return the OpenAPI document of all services, without running any service."""
    app = application(_not_running)
    nothing: Any = None
    made = (make(*(nothing for _ in inspect.signature(make).parameters)) for make in ROUTERS)
    of_bridge = (ingest_router(nothing), *(source_router(kind, {}, nothing) for kind in SOURCES))
    for router in (*of_bridge, *made):
        app.include_router(router)
    return app.openapi()


async def _not_running() -> str | None:
    return "only described"
