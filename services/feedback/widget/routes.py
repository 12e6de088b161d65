"""Serves the widget's files. They hold no data and need no token."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fastapi import APIRouter, Response

_FOLDER: Final = Path(__file__).parent
PUBLIC: Final = frozenset({"/widget", "/widget.js", "/widget-demo.js", "/widget-demo.css"})
"""The paths served here."""
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'"
)


def widget_router() -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/widget.js")
    async def component() -> Response:
        """The web component. Other sites may load it."""
        return _file("thumbs.js", "text/javascript", {"Access-Control-Allow-Origin": "*"})

    @router.get("/widget-demo.js")
    async def script() -> Response:
        return _file("demo.js", "text/javascript", {})

    @router.get("/widget-demo.css")
    async def style() -> Response:
        return _file("demo.css", "text/css", {})

    @router.get("/widget")
    async def page() -> Response:
        return _file("demo.html", "text/html", {"Content-Security-Policy": _POLICY, "Referrer-Policy": "no-referrer"})

    return router


def _file(name: str, media_type: str, headers: dict[str, str]) -> Response:
    return Response(
        (_FOLDER / name).read_text(encoding="utf-8"),
        media_type=f"{media_type}; charset=utf-8",
        headers={"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache", **headers},
    )
