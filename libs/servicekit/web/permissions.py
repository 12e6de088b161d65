"""Permission that a route requires, declared at the route.

For example:

    @router.at("POST", "/things/{tenant}/{project}/{thing_id:segment}/search", READ)

The access is a scope, a tuple of alternative scopes, "any token" or "no token". "any token" accepts tokens without
scopes; the route then limits itself to the caller's own data (see `Caller.person`). "no token" makes the route public.

A path with `{tenant}` is open only to tokens of that tenant, and a path with `{project}` only to tokens of that
project. A path with `{tenant}` but without `{project}` requires a token for all of the tenant's projects.

The guard (`guard.py`) checks every request. Routes do not check scopes, or the tenant and project in their paths,
themselves. A process does not start with a route that declares no access.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contracts.scopes import ALL_SCOPES
from servicekit.web.auth import Caller

Access = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Need:
    """Permission that a route requires: a valid token, or nothing if `public` is True.

    If `scopes` is not empty, the token must have one of them. `whole_platform` requires a token for all tenants.
    """

    public: bool = False
    scopes: frozenset[str] = frozenset()
    whole_platform: bool = False

    def refusal(self, caller: Caller, parameters: Mapping[str, Any]) -> str | None:
        """Return the reason why `caller` may not call the route, or None if the call is allowed.

        Args:
            parameters: The path parameters, such as the tenant.
        """
        if self.scopes and not self.scopes & caller.scopes:
            return f"This needs a token with the scope {' or '.join(sorted(self.scopes))}."
        if self.whole_platform and caller.tenant is not None:
            return "This needs a token of all tenants."
        if "tenant" in parameters and not caller.may_touch(parameters["tenant"], parameters.get("project")):
            return "This token does not reach that tenant and project."
        return None


def need_of(access: Access) -> Need:
    """Return the permission for `access`: one or several scopes, "any token" or "no token".

    Raises ValueError for an unknown scope and for an empty tuple.
    """
    if access in ("no token", "any token"):
        return Need(public=access == "no token")
    scopes = (access,) if isinstance(access, str) else access
    if not scopes or not ALL_SCOPES.issuperset(scopes):
        raise ValueError(f"{access!r} is neither a scope nor 'any token' nor 'no token'")
    return Need(scopes=frozenset(scopes))
