"""Permissions that routes declare, and the guard that authenticates callers and authorises requests.

For example:

    @router.at("POST", "/things/{tenant}/{project}/{thing_id:segment}/search", READ)

The access is a scope, a tuple of alternative scopes, "any token" or "no token". "any token" accepts tokens without
scopes; the route then limits itself to the caller's own data (see `Caller.person`). "no token" makes the route public.

A path with `{tenant}` is open only to tokens of that tenant, and a path with `{project}` only to tokens of that
project. A path with `{tenant}` but without `{project}` requires a token for all of the tenant's projects.

The guard checks every request. Routes do not check scopes, or the tenant and project in their paths,
themselves. A process does not start with a route that declares no access.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from contracts.scopes import ALL_SCOPES
from servicekit.db.row_security import EVERY_TENANT, tenant_in_sight
from servicekit.errors import Unavailable
from servicekit.web.auth import COOKIE, Authenticator, Caller
from servicekit.web.log_writer import enter_trace
from servicekit.web.paths import is_readable, raw_path
from servicekit.web.refusals import refused, unavailable

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


NO_TOKEN = "A valid access token is needed."  # noqa: S105 # a sentence
STARTING = "This service is starting; send this again later."
_FOREIGN = "This request was not sent from a page of this server."
_CHALLENGE = {"WWW-Authenticate": "Bearer"}


@dataclass(frozen=True, slots=True)
class Guard:
    """Authentication of a process, and the origins of web pages whose scripts may call it with their own tokens.

    `sign_in_url` is the address at which people sign in with an identity provider, and `cookie` the name of the cookie
    with the token of a person who has signed in.
    """

    authenticator: Authenticator
    origins: Collection[str] = ()
    sign_in_url: str | None = None
    cookie: str = COOKIE

    async def refusal(self, request: Request, need: Need) -> Response | None:
        """Return the response that refuses a request to a route, or None if the request is allowed.

        An allowed request has the authenticated caller in `request.state.caller`. Its database reads see only its
        tenant (`row_security.py`). A refused request gets one of these statuses:

        - 401 without a valid token
        - 403 if the token lacks the scope, tenant or project, or if a page of another site sent a change
        - 422 if the path is not UTF-8
        - 503 if a token cannot be checked
        """
        if not is_readable(request.scope["path"]):
            return await refused(request, 422, "The path is not UTF-8.")
        is_page = request.state.page is not None
        if need.public:
            is_foreign = is_page and request.method != "GET" and not _is_own_origin(request)
            return await refused(request, 403, _FOREIGN) if is_foreign else None
        try:
            caller = await self._caller(request)
        except Unavailable as error:
            return await refused(request, 503, unavailable(error))
        # A token in the URL replaces the one in the cookie.
        if caller is None or (is_page and self.brings_token(request)):
            return await refused(request, 401, NO_TOKEN, _CHALLENGE)
        if why := need.refusal(caller, request.path_params):
            return await refused(request, 403, why)
        if self._is_foreign(request):
            return await refused(request, 403, _FOREIGN)
        request.state.caller = caller
        tenant_in_sight.set(request.path_params.get("tenant") or caller.tenant or EVERY_TENANT)
        return None

    def _is_foreign(self, request: Request) -> bool:
        """Return True for a change that a page of another site may have sent.

        With the sign-in cookie, the origin must be this server. With a bearer token, it may also be one of `origins`,
        or missing, as in the requests of programs.
        """
        if request.method in ("GET", "HEAD") or _is_own_origin(request):
            return False
        origin = request.headers.get("origin")
        return not (_has_bearer(request) and (origin is None or origin in self.origins))

    async def _caller(self, request: Request) -> Caller | None:
        """Return the caller identified by the bearer token or the sign-in cookie, or None if there is no valid token.

        Raises Unavailable.
        """
        authorization = request.headers.get("authorization", "")
        token = authorization.partition(" ")[2] if _has_bearer(request) else request.cookies.get(self.cookie, "")
        return await self.authenticator.authenticate(token.strip()) if token.strip() else None

    @staticmethod
    def brings_token(request: Request) -> bool:
        """Return True if the request is for `/` with a token, the URL that the program prints when it starts.

        A link on another site cannot sign a person in.
        """
        return (
            request.url.path == "/"
            and "token" in request.query_params
            and request.headers.get("sec-fetch-site", "none") in ("same-origin", "none")
        )


class Entrance:
    """ASGI middleware that passes the guard and the undecoded path to the routes.

    Log writes of the request carry its trace. While the services start, `is_starting` returns True, and requests to
    anything but the process's own routes get 503.
    """

    def __init__(self, app: ASGIApp, guard: Guard, is_starting: Callable[[], bool] = lambda: False) -> None:
        self._app = app
        self._guard = guard
        self._is_starting = is_starting

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        scope = {**scope, "path": raw_path(scope)}
        scope.setdefault("state", {}).update(guard=self._guard, is_starting=self._is_starting(), page=None)
        enter_trace(Request(scope).headers.get("traceparent"))
        await self._app(scope, receive, send)


def _has_bearer(request: Request) -> bool:
    return request.headers.get("authorization", "").partition(" ")[0].lower() == "bearer"


def _is_own_origin(request: Request) -> bool:
    """Return True if a page of this server sent the request. Browsers name the origin of every form and every POST."""
    return urlsplit(request.headers.get("origin", "")).netloc == request.headers.get("host", "") != ""
