"""FastAPI router with the declarations that all routes of a service share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.routing import APIRoute
from starlette.types import Message

from servicekit.web.auth import caller_of
from servicekit.web.documents import Document
from servicekit.web.guard import Access, Need, need_of
from servicekit.web.refusals import RefusedPage, documented

H = TypeVar("H", bound=Callable[..., Any])
BODY_LIMIT: Final = 64 * 1024
"""Maximum size of a request's body in bytes, unless its route has a different limit."""
_NONE: Final[Mapping[int, str]] = MappingProxyType({})
PageHandler = Callable[[Request], Awaitable[Response]]
_NOBODY: Final = Need(scopes=frozenset({"nobody has this scope"}))


class GuardedRoute(APIRoute):
    """Route that admits a request only with the permission `need`. Without `need`, a process does not start.

    `page` renders the refusals of a route that people open in a browser.
    """

    need: Need | None = None
    body_limit: int = BODY_LIMIT
    page: RefusedPage | None = None

    @property
    def method(self) -> str:
        return "" if self.methods is None else next(iter(self.methods))

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def admit(request: Request) -> Response:
            request.state.template, request.state.page = self.path_format, self.page
            refusal = await request.state.guard.refusal(request, self.need or _NOBODY)
            return await handle(self._limited(request)) if refusal is None else refusal

        return admit

    def _limited(self, request: Request) -> Request:
        """Return the request with a limit on its body. Raises HTTPException (413), now or while the body is read."""
        too_large = HTTPException(413, f"The body is larger than {self.body_limit} bytes.")
        declared = request.headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > self.body_limit:
            raise too_large
        size = 0

        async def receive() -> Message:
            nonlocal size
            message = await request.receive()
            size += len(message.get("body", b""))
            if size > self.body_limit:
                raise too_large
            return message

        return Request(request.scope, receive)


class Routes(APIRouter):
    """Router for routes with the same `tag`, which groups them in the OpenAPI document.

    A handler declares `caller: RequestCaller` and typed path parameters. The document describes the path parameters
    with the texts in `openapi.py`.

    Args:
        refuses: The meaning of each status of a refused request.
        token: False if the routes need no token.
        hidden: True to omit the routes from the document.
        page: The function that renders refusals, for routes that people open in a browser.
    """

    def __init__(
        self,
        tag: str,
        refuses: Mapping[int, str] = _NONE,
        *,
        token: bool = True,
        hidden: bool = False,
        page: RefusedPage | None = None,
    ) -> None:
        super().__init__(
            tags=[tag],
            responses=documented(refuses),
            dependencies=[Depends(caller_of)] if token else [],
            route_class=GuardedRoute,
            include_in_schema=not hidden,
        )
        self._page = page

    def at(
        self,
        method: str,
        path: str,
        access: Access | Need,
        refuses: Mapping[int, str] = _NONE,
        *,
        body_limit: int = BODY_LIMIT,
        **options: Any,
    ) -> Callable[[H], H]:
        """Return a decorator that adds a route with the decorated function as its handler.

        Args:
            access: The permission that the route requires (see `guard.py`).
            body_limit: The maximum size of a request's body, in bytes.
            options: Options for FastAPI's `add_api_route`.
        """
        need = access if isinstance(access, Need) else need_of(access)

        def add(handler: H) -> H:
            self.add_api_route(path, handler, methods=[method], responses=documented(refuses), **options)
            route = self.routes[-1]
            assert isinstance(route, GuardedRoute)
            route.need, route.page, route.body_limit = need, self._page, body_limit
            return handler

        return add

    def show(self, method: str, path: str, access: Access, handler: PageHandler) -> None:
        """Add a route whose handler makes the whole response from the request, such as a page."""

        async def answer(request: Request) -> Response:
            return await handler(request)

        self.at(method, path, access, response_model=None)(answer)

    def file(
        self, path: str, read: Callable[[], bytes], media_type: str, headers: Mapping[str, str] | None = None
    ) -> Document:
        """Add a public route for a file that is the same for every caller (see `Document`)."""
        document = Document(read, media_type, headers)
        self.show("GET", path, "no token", document.answer)
        return document
