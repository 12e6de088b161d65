"""Validation of page URLs that are saved as views. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlencode

from reporting.dashboard.view import View
from reporting.queries.selection import Project

_PAGES: Final[Mapping[str, frozenset[str]]] = {
    "/": frozenset({"sort", "every"}),
    "/dashboard/feedback": frozenset({"sort", "judged", "bin", "issue"}),
    "/dashboard/issues": frozenset({"sort"}),
    "/dashboard/compare": frozenset({"sort", "dimension", "chosen_by", "a", "b"}),
    "/dashboard/agent": frozenset({"sort"}),
    "/dashboard/review": frozenset({"issue"}),
    "/dashboard/calibration": frozenset(),
    "/dashboard/audit": frozenset(),
    "/dashboard/sessions": frozenset(),
}
"""Parameters kept only in views of one page, by the page's path. Views of all pages keep the common filters."""
SORTED_BY: Final[Mapping[str, frozenset[str]]] = {
    "/": frozenset({"agent", "change", "people", "machine", "rejected", "total"}),
    "/dashboard/issues": frozenset({"turns", "people", "topic", "last"}),
    "/dashboard/compare": frozenset({"value", "first", "last", "people", "machine", "rejected", "total"}),
    "/dashboard/agent": frozenset({"version", "people", "machine", "rejected", "total"}),
}
"""Columns by which the table of each page can be sorted, by path. The names are repeated here because the pages' own
modules import I/O."""
_OLDEST: Final = "oldest"
_OF_PEOPLE: Final = ("user", "conversation", "thread", "q")
"""Filters that may identify a person: ids and search words. A view with such a filter would survive the person's
erasure."""
MOST_CHARACTERS: Final = 2_000


class NotSavable(ValueError):
    """Error for a URL that cannot be saved as a view, with the reason as its text."""


class SavablePage(NamedTuple):
    """Page and filters of a view.

    `query` is a query string without the project.
    """

    path: str
    query: str


def can_be_saved(path: str) -> bool:
    """Return True if the page with this path can be saved as a view."""
    return path in _PAGES


def savable_page(url: str, at: Project) -> SavablePage:
    """Parse a relative URL of the dashboard into its page and filters.

    Unknown parameters, list positions and the project are omitted. Raises NotSavable if the URL cannot be saved.
    """
    path, _, query = url.partition("?")
    if path not in _PAGES:
        raise NotSavable("Only pages with filters can be saved.")
    try:
        said = dict(parse_qsl(query, max_num_fields=80))
        view = View.model_validate(said)
    except ValueError as error:  # a ValidationError too
        raise NotSavable("One of the filters is not valid.") from error
    if any(getattr(view, name) for name in _OF_PEOPLE):
        raise NotSavable("A view of one person, conversation or thread, or with search words, cannot be saved.")
    if view.sort is not None and "sort" in _PAGES[path] and not _is_order(path, view.sort):
        raise NotSavable("The page cannot be sorted by this column.")
    kept = {name: "1" if name == "every" else said[name] for name in _PAGES[path] if said.get(name)}
    filters = urlencode({name: value for name, value in _shared(view, at).items() if value not in (None, "")} | kept)
    if len(filters) > MOST_CHARACTERS:
        raise NotSavable("The filters are too long to be saved.")
    return SavablePage(path, filters)


def _is_order(path: str, sort: str) -> bool:
    if path not in SORTED_BY:
        return sort == _OLDEST
    return sort.removeprefix("-") in SORTED_BY[path]


def _shared(view: View, at: Project) -> dict[str, Any]:
    shared = view.parameters(at)
    del shared["at"]
    return shared


def url_of(page: SavablePage, at: Project) -> str:
    """Return the URL of a saved page in its project."""
    place = urlencode({"at": f"{at.tenant}/{at.project}"})
    return f"{page.path}?{place}&{page.query}" if page.query else f"{page.path}?{place}"
