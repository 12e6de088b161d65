"""Templates and assets, and the headers that every page carries. User text is escaped wherever it stands."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Final

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from contracts.instants import format_instant
from reporting.pages import charts
from reporting.pages.session import PRIVATE
from reporting.pages.view import ORIGINS, PERIODS, address

_FOLDER: Final = Path(__file__).parent
ASSETS_AT: Final = "/dashboard/assets"
_POLICY: Final = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_REACTIONS: Final = {"ok": "OK", "not_ok": "Not OK", "neutral": "Neutral"}
_TYPE_NAMES: Final = {"reaction": "emoji", "explicit": "explicit", "inferred": "inferred", "implicit": "reply"}

ASSETS: Final = {
    file.name: (file.read_bytes(), _TYPES[file.suffix])
    for file in sorted((_FOLDER / "assets").iterdir())
    if file.suffix in _TYPES
}
"""Name to bytes and media type."""
VERSION: Final = hashlib.sha256(b"".join(body for body, _ in ASSETS.values())).hexdigest()[:12]
"""Changes with any asset, so that browsers may keep the old one for good."""


def _number(count: int) -> str:
    return f"{count:,}".replace(",", "\N{THIN SPACE}")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f}%"


def _day(moment: int) -> str:
    return charts.moment_text(moment, "%-d %b %Y, %H:%M UTC")


_ENVIRONMENT: Final = Environment(
    loader=FileSystemLoader(_FOLDER / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {"number": _number, "percent": _percent, "day": _day, "instant": format_instant}
_ENVIRONMENT.globals |= {
    "assets": ASSETS_AT,
    "version": VERSION,
    "periods": PERIODS,
    "origins": ORIGINS,
    "reaction_names": _REACTIONS,
    "type_names": _TYPE_NAMES,
    "interval": charts.interval,
    "split": charts.split,
    "address": address,
}


def page(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """The template filled in, never cached, under a policy that lets no foreign or inline script run."""
    body = _ENVIRONMENT.get_template(template).render(**values)
    return HTMLResponse(body, status, {**PRIVATE, "Content-Security-Policy": _POLICY})


def apology(status: int, title: str, text: str) -> HTMLResponse:
    """A page that says what went wrong and how to go on."""
    return page("apology.html", status, title=title, text=text)
