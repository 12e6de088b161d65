"""Serves the widget's files. They hold no data and need no token."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request, Response

from servicekit.http.permissions import PUBLIC, Permissions

_FOLDER: Final = Path(__file__).parent
PERMISSIONS: Final[Permissions] = {
    ("GET", path): PUBLIC for path in ("/widget", "/widget.js", "/widget-demo.js", "/widget-demo.css")
}
SHARED: Final = {
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Vary": "Accept-Encoding",
}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'"
)


def widget_router() -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/widget.js")
    async def component(request: Request) -> Response:
        """The web component. Other sites may load it."""
        return _file("thumbs.js", "text/javascript", SHARED, compress=_takes_gzip(request))

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


def _file(name: str, media_type: str, headers: Mapping[str, str], *, compress: bool = False) -> Response:
    content = (_FOLDER / name).read_bytes()
    encoding = {"Content-Encoding": "gzip"} if compress else {}
    return Response(
        gzip.compress(content, mtime=0) if compress else content,
        media_type=f"{media_type}; charset=utf-8",
        headers={"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache", **headers, **encoding},
    )


def _takes_gzip(request: Request) -> bool:
    offers = [offer.replace(" ", "") for offer in request.headers.get("accept-encoding", "").lower().split(",")]
    return any(offer == "gzip" or (offer.startswith("gzip;q=") and offer != "gzip;q=0") for offer in offers)
