"""Guard that authenticates every request and authorises it by the permission table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from servicekit.db.row_security import EVERY_TENANT, tenant_in_sight
from servicekit.errors import Unavailable
from servicekit.web.auth import COOKIE, Authenticator, Caller
from servicekit.web.paths import UnreadablePath, raw_path, segments_of, template_of
from servicekit.web.permissions import PermissionTable
from servicekit.web.refusals import RefusedPage, refused, unavailable
from servicekit.web.trace import enter_trace

NO_TOKEN = "A valid access token is needed."  # noqa: S105 # a sentence
STARTING = "This service is starting; send this again later."
_FOREIGN = "This request was not sent from a page of this server."
_FRONT = "/"
"""Path of the page that renders refusals of unknown paths to browsers."""
_CHALLENGE = {"WWW-Authenticate": "Bearer"}


class Guard:
    """ASGI middleware that passes a request to `app` if the permission table allows it.

    It sets these attributes of `request.state`:

    - `caller`: the authenticated caller
    - `template` and `place`: the path's template and parameters
    - `authenticator` and `sign_in_url`: for pages that sign people in
    - `page`: the function that renders refusals of a page, or None

    During the request, database reads see only the request's tenant (`row_security.py`), and log writes carry the
    request's trace. Routes get the path as it was sent, so that a slash in an id does not end the path segment.

    A refused request gets one of these statuses:

    - 401 without a valid token
    - 403 if the token lacks the scope, tenant or project, or if a page of another site sent a change
    - 404 for an unknown path, 405 for a known path with another method
    - 422 if the path is not UTF-8
    - 503 if a token cannot be checked, or if the route is not available yet (`to_come`)

    `pages` maps the path of a page to the function that renders its refusals.
    """

    def __init__(
        self,
        app: ASGIApp,
        authenticator: Authenticator,
        table: PermissionTable,
        pages: Mapping[str, RefusedPage] | None = None,
        to_come: Callable[[str], bool] = lambda _: False,
        origins: Collection[str] = (),
        sign_in_url: str | None = None,
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._table = table
        self._to_come = to_come
        self._origins = origins
        self._sign_in_url = sign_in_url
        self._pages = {template_of(path): page for path, page in (pages or {}).items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        path = raw_path(scope)
        scope.setdefault("state", {}).update(authenticator=self._authenticator, sign_in_url=self._sign_in_url)
        scope = {**scope, "path": path}
        request = Request(scope, receive)
        enter_trace(request.headers.get("traceparent"))
        answer = await self._refusal(request, path)
        await (self._app if answer is None else answer)(scope, receive, send)

    async def _refusal(self, request: Request, path: str) -> Response | None:
        """Return the response that refuses a request, or None if the request is allowed."""
        request.state.page = front = self._pages.get(_FRONT) if _of_a_browser(request) else None
        try:
            rows = self._table.rows_at(segments_of(path))
        except UnreadablePath as error:
            return await refused(request, 422, str(error))
        row = rows.get(request.method)
        request.state.template = "no route" if row is None else row.template
        request.state.place = {} if row is None else row.place
        if row is not None:
            request.state.page = self._pages.get(row.template)
            if row.need.public:
                if request.state.page is not None and request.method != "GET" and not is_own_origin(request):
                    return await refused(request, 403, _FOREIGN)
                return await refused(request, 503, STARTING) if self._to_come(row.template) else None
        try:
            caller = await self._caller(request)
        except Unavailable as error:
            return await refused(request, 503, unavailable(error))
        if caller is None:
            return await refused(request, 401, NO_TOKEN, _CHALLENGE)
        if row is None:
            if front:
                return await refused(request, 404, "There is no page at this address.")
            if rows:
                return await refused(request, 405, "Method Not Allowed", {"Allow": ", ".join(sorted(rows))})
            return await refused(request, 404, "Not Found")
        if why := row.need.refusal(caller, row.place):
            return await refused(request, 403, why)
        if why := self._origin_refusal(request):
            return await refused(request, 403, why)
        if self._to_come(row.template):
            return await refused(request, 503, STARTING)
        if request.state.page is not None and brings_token(request):
            return await refused(request, 401, NO_TOKEN)  # a token in the URL replaces the token in the cookie
        request.state.caller = caller
        tenant_in_sight.set(row.place.get("tenant") or caller.tenant or EVERY_TENANT)
        return None

    def _origin_refusal(self, request: Request) -> str | None:
        """Return the reason to refuse a request that a page of another site may have sent, or None.

        A cookie authenticates a change only if the request names this server as its origin. With a token of its own, a
        page may be of the origins that the operator names, and a program names none.
        """
        if request.method in ("GET", "HEAD") or is_own_origin(request):
            return None
        origin = request.headers.get("origin")
        if has_bearer(request) and (origin is None or origin in self._origins):
            return None
        return _FOREIGN

    async def _caller(self, request: Request) -> Caller | None:
        """Return the caller identified by the bearer token or the sign-in cookie, or None if there is no valid token.

        Raises Unavailable.
        """
        token = (
            request.headers["authorization"].partition(" ")[2]
            if has_bearer(request)
            else request.cookies.get(COOKIE, "")
        )
        return await self._authenticator.authenticate(token.strip()) if token.strip() else None


def has_bearer(request: Request) -> bool:
    return request.headers.get("authorization", "").partition(" ")[0].lower() == "bearer"


def brings_token(request: Request) -> bool:
    """Return True if the request is for `/` with a token, the URL that the program prints when it starts.

    A link on another site cannot sign a person in.
    """
    return (
        request.url.path == "/"
        and "token" in request.query_params
        and request.headers.get("sec-fetch-site", "none") in ("same-origin", "none")
    )


def is_own_origin(request: Request) -> bool:
    """Return True if a page of this server sent the request. Browsers name the origin of every form and every POST."""
    return urlsplit(request.headers.get("origin", "")).netloc == request.headers.get("host", "") != ""


def _of_a_browser(request: Request) -> bool:
    return request.method == "GET" and "text/html" in request.headers.get("accept", "")
