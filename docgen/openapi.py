"""The OpenAPI document of all services' routes."""

from __future__ import annotations

from typing import Any

from servicekit.web.application import application
from standalone.programs import PROGRAMS


def openapi() -> dict[str, Any]:
    """Return the OpenAPI document of all services, without running any service."""
    app = application(_not_running)
    app.router.routes.extend(route for program in PROGRAMS for route in program.routes)
    return app.openapi()


async def _not_running() -> str | None:
    return "only described"
