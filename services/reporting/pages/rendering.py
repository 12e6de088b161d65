"""Templates, assets and response headers of all pages.

Templates escape all user text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

from contracts.base import DecidedBy
from contracts.instants import format_instant
from detector.intervals import wilson
from detector.reasons import reason_in_words
from reporting.access.sign_in import PRIVATE
from reporting.figures.votes import Votes
from reporting.model.selection import BINS
from reporting.pages import charts
from reporting.pages.markdown import rendered
from reporting.pages.view import FILTERS, PERIODS, REACTIONS
from reporting.pages.zones import local, offset_text, zone_of

_FOLDER: Final = Path(__file__).parent
ASSETS_AT: Final = "/dashboard/assets"
_POLICY: Final = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
REASONS: Final = {
    "explicit": "said that it is wrong",
    "rephrased": "asked the same again",
    "abandonment": "gave up",
}
"""Label of each correction type."""
_PARTS: Final[Mapping[DecidedBy, str]] = {"rules": "rules", "learned": "learned layer", "llm": "language model"}
_DATASET_NAMES: Final = {
    "KTO": "answers with a label",
    "DPO": "chosen and rejected answers",
    "SFT": "accepted and corrected answers",
    "EVENTS": "verdicts",
}
"""Content of each training dataset, by the name in the export menu."""
_TYPE_NAMES: Final = {"reaction": "emoji", "explicit": "explicit", "inferred": "inferred"}

ASSETS: Final = {
    file.name: (file.read_bytes(), _TYPES[file.suffix])
    for file in sorted((_FOLDER / "assets").iterdir())
    if file.suffix in _TYPES
}
"""Content and media type of each asset, by file name."""
VERSION: Final = hashlib.sha256(b"".join(body for body, _ in ASSETS.values())).hexdigest()[:12]
"""Digest of all assets. It is part of their URLs, so that browsers may cache them indefinitely."""


def _number(count: int) -> str:
    return f"{count:,}".replace(",", "\N{THIN SPACE}")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f}%"


def _points(points: float) -> str:
    return f"{points:+.1f}".replace("-", "\N{MINUS SIGN}")


@pass_context
def _moment(context: Context, moment: int) -> str:
    zone = context.get("zone") or zone_of("UTC")
    return f"{local(moment, zone):%-d %b %Y, %H:%M}"


@pass_context
def _date(context: Context, moment: int, zone: ZoneInfo | None = None) -> str:
    """Return the local date. An imported macro must pass the zone, because it does not see the page's variables."""
    zone = zone or context.get("zone") or zone_of("UTC")
    return f"{local(moment, zone):%-d %b %Y}"


def _in_words(reason: str) -> str:
    return REASONS.get(reason, reason.replace("_", " "))


def reasons_shown(feedback: Mapping[str, Any]) -> list[str]:
    """Return the labels of a feedback record's reasons: a person's tags, or the machine's rules."""
    if feedback["origin"] == "machine":
        return list(reason_in_words(feedback["tags"]))
    return [_in_words(tag) for tag in feedback["tags"]]


_ENVIRONMENT: Final = Environment(
    loader=FileSystemLoader(_FOLDER / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {
    "number": _number,
    "percent": _percent,
    "points": _points,
    "moment": _moment,
    "date": _date,
    "instant": format_instant,
    "in_words": _in_words,
    "reasons": reasons_shown,
    "markdown": rendered,
    "json": json.dumps,
    "pair": lambda value: (value, value),
}
_ENVIRONMENT.globals |= {
    "assets": ASSETS_AT,
    "version": VERSION,
    "periods": PERIODS,
    "reaction_names": REACTIONS,
    "filter_form": FILTERS,
    "verdicts_of": {"user": "People's verdicts", "machine": "Machine verdicts", "reviewer": "Reviews"},
    "type_names": _TYPE_NAMES,
    "dataset_names": _DATASET_NAMES,
    "part_names": _PARTS,
    "interval": charts.interval,
    "split": charts.split,
    "spark": lambda days: charts.spark([Votes(not_ok=count) for count in days]),
    "offset_text": offset_text,
    "wilson": wilson,
    "n_bins": BINS,
    "view": None,
    "signed_in": False,
    "operates": False,
    "navigation": None,
    "of_tabs": {},
    "project": None,
    "zone": None,
}


def page(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a page from a template.

    The response is not cached. Its content security policy blocks inline scripts and scripts from other sites.
    """
    return HTMLResponse(_rendered(template, values), status, {**PRIVATE, "Content-Security-Policy": _POLICY})


def _rendered(template: str, values: Mapping[str, Any]) -> str:
    """Render a template, then clear its context.

    A context and its macros form a reference cycle, which would keep the page's data in memory until the next garbage
    collection. After sixteen transcripts of 200 turns, that collection would block the event loop for 40 ms.
    """
    source = _ENVIRONMENT.get_template(template)
    context = source.new_context(dict(values))
    try:
        return "".join(source.root_render_func(context))
    finally:
        for names in (context.parent, context.vars, context.exported_vars):
            names.clear()
