"""Routes that bypass FastAPI, for frequent requests. FastAPI only documents them.

FastAPI's own processing (the search for the route, dependencies and response models) would take twice as long as the
work of accepting a judgement.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, get_type_hints

from fastapi import HTTPException, Request, Response
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError, create_model
from starlette.types import ASGIApp, Receive, Scope, Send

from servicekit.errors import RequestRefused
from servicekit.web.auth import caller_of
from servicekit.web.documents import Document
from servicekit.web.refusals import answer_of, invalid


class DirectRoute(APIRoute):
    """Lightweight route for frequent requests.

    The handler takes only `request`, `caller` and the path parameters. It reads the request body itself, and returns a
    response or a model for the response body.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        hints = get_type_hints(self.endpoint, include_extras=True)
        fields: dict[str, Any] = {name: (hints[name], ...) for name in self.param_convertors}
        self._place = create_model("Place", **fields)

        async def handler(request: Request) -> Response:
            return await self.answer(request, request.path_params)

        return handler

    async def answer(self, request: Request, place: Mapping[str, str]) -> Response:
        """Handle a request. Raises RequestRefused and HTTPException.

        Args:
            place: The decoded path parameters.
        """
        try:
            values = self._place.model_validate(place).__dict__
        except ValidationError as error:
            return invalid(error.errors(include_url=False, include_context=False, include_input=False))
        said: BaseModel | Response = await self.endpoint(request=request, caller=await caller_of(request), **values)
        if isinstance(said, Response):
            return said
        return Response(said.model_dump_json(by_alias=True), self.status_code or 200, media_type="application/json")


class DirectCalls:
    """ASGI application that calls the direct route for a request, or `app` if there is none.

    The guard has already authorised the request.

    Args:
        routes: The direct routes and documents, by method and path template.
    """

    def __init__(self, app: ASGIApp, routes: Mapping[tuple[str, str], DirectRoute | Document]) -> None:
        self._app = app
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        state = scope["state"]
        route = self._routes.get((scope["method"], state["template"]))
        if route is None:
            await self._app(scope, receive, send)
            return
        try:
            answer = await route.answer(Request(scope, receive), state["place"])
        except RequestRefused as error:
            answer = answer_of(error)
        except HTTPException as refused:
            answer = JSONResponse({"detail": refused.detail}, refused.status_code, refused.headers)
        await answer(scope, receive, send)
