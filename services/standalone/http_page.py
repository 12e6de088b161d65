"""The reference in docs/http.md, generated from the routes: `python -m standalone.http_page [--check]`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import APIRouter

from chat_bridge.api import ingest_router
from chat_bridge.api_refused import refused_router
from chat_bridge.service import WHERE_CHAT
from chat_bridge.sources.api import source_router
from chat_bridge.sources.registry import SOURCES
from feedback.api import intake_router
from feedback.api_erasure import erasure_router
from feedback.api_reviews import reviews_router
from feedback.api_sessions import sessions_router
from feedback.where import PATH as WHERE_FEEDBACK
from inference.api import inference_router
from inference.where import PATH as WHERE_INFERENCE
from reporting.api.audit.routes import audit_router
from reporting.api.conversations import conversations_router
from reporting.api.exports import exports_router
from reporting.api.figures import figures_router
from reporting.api.webhooks import webhooks_router
from reporting.read_models.where import PATH as WHERE_REPORTS
from servicekit.web.application import application
from servicekit.web.journal import WhereLookup, where_router
from servicekit.web.reference import as_markdown

PAGE = Path(__file__).parents[2] / "docs" / "http.md"
MARK = "<!-- Everything below is made from the routes by `make docs`. -->\n"
_NO_JOURNAL: Any = None
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
    webhooks_router,
    inference_router,
    lambda: where_router(WHERE_CHAT, WhereLookup(_NO_JOURNAL), "ingest"),
    lambda: where_router(WHERE_INFERENCE, WhereLookup(_NO_JOURNAL), "inference"),
    lambda: where_router(WHERE_FEEDBACK, WhereLookup(_NO_JOURNAL), "feedback"),
    lambda: where_router(WHERE_REPORTS, WhereLookup(_NO_JOURNAL), "reporting"),
)


def openapi() -> dict[str, Any]:
    """Return the OpenAPI document of all services, without running any."""
    app = application(_not_running)
    nothing: Any = None
    made = (make(*(nothing for _ in inspect.signature(make).parameters)) for make in ROUTERS)
    of_bridge = (ingest_router(nothing), *(source_router(kind, {}, nothing) for kind in SOURCES))
    for router in (*of_bridge, *made):
        app.include_router(router)
    return app.openapi()


async def _not_running() -> str | None:
    return "only described"


def main() -> int:
    text = PAGE.read_text("utf-8")
    wanted = text.partition(MARK)[0] + MARK + "\n" + as_markdown(openapi())
    if "--check" in sys.argv:
        if text != wanted:
            sys.stderr.write(f"{PAGE.name} is not up to date. Run `make docs`.\n")
        return int(text != wanted)
    PAGE.write_text(wanted, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
