"""Routes that serve the files of the widget. The files contain no data and need no token."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from servicekit.web.routes import Routes

_FOLDER: Final = Path(__file__).parent
SHARED: Final = {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'"
)
_PAGE: Final = {"Content-Security-Policy": _POLICY, "Referrer-Policy": "same-origin"}


def widget_router() -> Routes:
    """Return the routes that serve the files of the widget."""
    routes = Routes("widget", token=False, hidden=True)
    for path, name, media_type, headers in (
        ("/widget.js", "thumbs.min.js", "text/javascript", SHARED),
        ("/widget-demo.js", "demo.js", "text/javascript", None),
        ("/widget-demo.css", "demo.css", "text/css", None),
        ("/widget", "demo.html", "text/html", _PAGE),
    ):
        routes.file(path, (_FOLDER / name).read_bytes, f"{media_type}; charset=utf-8", headers)
    return routes
