"""Routes of the widget's files. The files contain no data and need no token."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fastapi import APIRouter

from servicekit import Document

_FOLDER: Final = Path(__file__).parent
FILES: Final = ("/widget", "/widget.js", "/widget-demo.js", "/widget-demo.css")
SHARED: Final = {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'"
)
_PAGE: Final = {"Content-Security-Policy": _POLICY, "Referrer-Policy": "no-referrer"}


def widget_router() -> APIRouter:
    router = APIRouter(include_in_schema=False)
    documents = {
        "/widget.js": _document("thumbs.js", "text/javascript", SHARED),
        "/widget-demo.js": _document("demo.js", "text/javascript"),
        "/widget-demo.css": _document("demo.css", "text/css"),
        "/widget": _document("demo.html", "text/html", _PAGE),
    }
    for path, document in documents.items():
        router.add_route(path, document.answer, ["GET"], include_in_schema=False)
    return router


def _document(name: str, media_type: str, headers: Mapping[str, str] | None = None) -> Document:
    return Document((_FOLDER / name).read_bytes, f"{media_type}; charset=utf-8", headers)
