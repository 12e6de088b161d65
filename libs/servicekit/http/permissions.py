"""What every route asks of its caller: one row a route, and whatever has no row is refused.

A service declares its rows beside its routes and hands them over in its `Surface`:

    PERMISSIONS: Permissions = {("POST", "/things/{tenant}/{project}/{thing_id:segment}/search"): needs(READ)}

The key is the method and the path as the route is declared with. The need is PUBLIC, ANY_TOKEN (the route keeps to
what is the caller's own, see `Caller.person`) or `needs(...)` with scopes of which one suffices. A template with
`{tenant}` is open to tokens of that tenant only, one with `{project}` too to tokens of that project; one without
`{project}` asks for a token of all the tenant's projects. Every parameter is written `{name:segment}` in the route.

The guard (`guard.py`) holds every request to this table; no route checks a scope, tenant or project of its path itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from servicekit.http.auth import Caller
from servicekit.http.paths import template_of

Permissions = Mapping[tuple[str, str], "Need"]
"""(method, path as declared) to what the route asks of its caller."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a route asks of its caller: nothing if `public`, else a valid token and, where there are any, one of
    `scopes`. `whole_platform` asks for a token of all tenants."""

    public: bool = False
    scopes: frozenset[str] = frozenset()
    whole_platform: bool = False

    def refusal(self, caller: Caller, place: Mapping[str, str]) -> str | None:
        """Why `caller` may not have the route at `place` (its path's parameters), in one sentence, or None."""
        if self.scopes and not self.scopes & caller.scopes:
            return f"This needs a token with the scope {' or '.join(sorted(self.scopes))}."
        if self.whole_platform and caller.tenant is not None:
            return "This needs a token of all tenants."
        if "tenant" in place and not caller.may_touch(place["tenant"], place.get("project")):
            return "This token does not reach that tenant and project."
        return None


PUBLIC = Need(public=True)
ANY_TOKEN = Need()


def needs(*scopes: str) -> Need:
    """A valid token with at least one of `scopes`."""
    return Need(scopes=frozenset(scopes))


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table, found by a request. `place` holds the path's parameters, decoded."""

    template: str
    need: Need
    place: Mapping[str, str]


class PermissionTable:
    """The rows of a process, found by method and path. Two templates of one method never fit the same path.

    Raises ValueError for rows that overlap: which of them a request meets would depend on the order of the routes.
    """

    def __init__(self, permissions: Permissions) -> None:
        self._rows: dict[int, list[tuple[str, str, list[str], Need]]] = defaultdict(list)
        for (method, path), need in permissions.items():
            template = template_of(path)
            parts = template.split("/")
            for other_method, other, other_parts, _ in self._rows[len(parts)]:
                if other_method == method and _overlap(parts, other_parts):
                    raise ValueError(f"{method} {template} and {other} fit the same path")
            self._rows[len(parts)].append((method, template, parts, need))

    def rows_at(self, segments: list[str]) -> dict[str, Row]:
        """The rows of a path by their method. `segments` are its decoded parts, the first one empty."""
        return {
            method: Row(template, need, place)
            for method, template, parts, need in self._rows.get(len(segments), ())
            if (place := _place(parts, segments)) is not None
        }


def _place(parts: list[str], segments: list[str]) -> dict[str, str] | None:
    place: dict[str, str] = {}
    for part, segment in zip(parts, segments, strict=True):
        if part.startswith("{") and segment:
            place[part[1:-1]] = segment
        elif part != segment:
            return None
    return place


def _overlap(one: list[str], other: list[str]) -> bool:
    return all(a == b or a.startswith("{") or b.startswith("{") for a, b in zip(one, other, strict=True))


def merged(*tables: Permissions) -> dict[tuple[str, str], Need]:
    """All rows of `tables`. Raises ValueError where two name one route."""
    rows: dict[tuple[str, str], Need] = {}
    for table in tables:
        if twice := rows.keys() & table.keys():
            raise ValueError(f"declared twice: {sorted(twice)}")
        rows |= table
    return rows
