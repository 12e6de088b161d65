"""Permission table with one row per route. Requests to a route without a row are refused.

A service declares its rows in its definition, next to the router:

    Serves(..., {("POST", "/things/{tenant}/{project}/{thing_id:segment}/search"): READ})

The key is the method and path with which the route is declared. The value is a scope, a tuple of alternative scopes,
"any token" or "no token". "any token" accepts tokens without scopes; the route then limits itself to the caller's own
data (see `Caller.person`). "no token" makes the route public.

A path with `{tenant}` is open only to tokens of that tenant, and a path with `{project}` only to tokens of that
project. A path with `{tenant}` but without `{project}` requires a token for all of the tenant's projects. Every path
parameter is written `{name:segment}` in the route.

The guard (`guard.py`) checks every request against this table. Routes do not check scopes, or the tenant and project in
their paths, themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from contracts.scopes import ALL_SCOPES
from servicekit.web.auth import Caller
from servicekit.web.paths import template_of

Permissions = Mapping[tuple[str, str], "Need"]
"""Required permission by method and declared path."""


@dataclass(frozen=True, slots=True)
class Need:
    """Permission that a route requires: a valid token, or nothing if `public` is True.

    If `scopes` is not empty, the token must have one of them. `whole_platform` requires a token for all tenants.
    """

    public: bool = False
    scopes: frozenset[str] = frozenset()
    whole_platform: bool = False

    def refusal(self, caller: Caller, place: Mapping[str, str]) -> str | None:
        """Return the reason why `caller` may not call the route, or None if the call is allowed.

        Args:
            place: The path parameters, such as the tenant.
        """
        if self.scopes and not self.scopes & caller.scopes:
            return f"This needs a token with the scope {' or '.join(sorted(self.scopes))}."
        if self.whole_platform and caller.tenant is not None:
            return "This needs a token of all tenants."
        if "tenant" in place and not caller.may_touch(place["tenant"], place.get("project")):
            return "This token does not reach that tenant and project."
        return None


PUBLIC = Need(public=True)


def needs(*scopes: str, token: bool = True) -> Need:
    """Return the permission that requires a valid token with at least one of `scopes`.

    Without scopes, any valid token suffices. With `token=False`, the route is public.
    """
    return Need(public=not token, scopes=frozenset(scopes))


def need_of(access: str | tuple[str, ...]) -> Need:
    """Return the permission for `access`: one or several scopes, "any token" or "no token".

    Raises ValueError for an unknown scope and for an empty tuple.
    """
    if access == "no token":
        return PUBLIC
    if access == "any token":
        return needs()
    scopes = (access,) if isinstance(access, str) else access
    if not scopes or not ALL_SCOPES.issuperset(scopes):
        raise ValueError(f"{access!r} is neither a scope nor 'any token' nor 'no token'")
    return needs(*scopes)


@dataclass(frozen=True, slots=True)
class Row:
    """Row of the permission table that matches a request, with the decoded path parameters in `place`."""

    template: str
    need: Need
    place: Mapping[str, str]


class PermissionTable:
    """Permission table of a process, in which at most one row matches a request's method and path.

    Raises ValueError if two rows could match the same request, because the result would then depend on their order.
    """

    def __init__(self, permissions: Permissions) -> None:
        self._rows: dict[int, list[_Template]] = defaultdict(list)
        for (method, path), need in permissions.items():
            template = template_of(path)
            parts = template.split("/")
            for other in self._rows[len(parts)]:
                if other.method == method and _overlap(parts, other.parts):
                    raise ValueError(f"{method} {template} and {other.template} match the same path")
            words = [(at, part) for at, part in enumerate(parts) if not part.startswith("{")]
            names = [(at, part[1:-1]) for at, part in enumerate(parts) if part.startswith("{")]
            self._rows[len(parts)].append(_Template(method, template, parts, words, names, need))

    def rows_at(self, segments: list[str]) -> dict[str, Row]:
        """Return the rows that match a path, by method.

        Args:
            segments: The decoded segments of the path. The first one is empty.
        """
        return {
            one.method: Row(one.template, one.need, place)
            for one in self._rows.get(len(segments), ())
            if (place := one.place(segments)) is not None
        }


class _Template(NamedTuple):
    """Path template of a row, split at its slashes into `parts`.

    `words` are the literal parts and `names` the parameters, each with its index in `parts`.
    """

    method: str
    template: str
    parts: Sequence[str]
    words: Sequence[tuple[int, str]]
    names: Sequence[tuple[int, str]]
    need: Need

    def place(self, segments: Sequence[str]) -> dict[str, str] | None:
        """Return the path parameters if the path matches this template, otherwise None.

        A parameter is never empty. `segments` must have as many parts as the template.
        """
        for at, word in self.words:
            if segments[at] != word:
                return None
        place = {name: segments[at] for at, name in self.names}
        return place if all(place.values()) else None


def _overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    return all(a == b or a.startswith("{") or b.startswith("{") for a, b in zip(one, other, strict=True))


def merged(*tables: Permissions) -> dict[tuple[str, str], Need]:
    """Return the rows of all `tables`. Raises ValueError if two tables have the same route."""
    rows: dict[tuple[str, str], Need] = {}
    for table in tables:
        if twice := rows.keys() & table.keys():
            raise ValueError(f"declared twice: {sorted(twice)}")
        rows |= table
    return rows
