"""The dashboard's addresses."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import asyncpg
from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from pydantic import ValidationError

from reporting.pages.health import Health, HealthFacts, health_facts
from reporting.pages.overview import live, overview
from reporting.pages.rendering import ASSETS, ASSETS_AT, apology, page
from reporting.pages.session import caller_of_page, sign_in, way_in
from reporting.pages.view import TranscriptView, View, chosen
from reporting.queries.projects import projects
from reporting.queries.transcript import transcript
from reporting.scope import Conversation
from servicekit.auth import Caller
from servicekit.clock import Clock
from servicekit.failures import is_transient
from servicekit.logging import frames, logger

__all__ = ["Health", "pages_router"]
log = logger("reporting")
_NOT_FOUND = ("There is nothing here", "No such project, or this token does not reach it.")


class PageRoute(APIRoute):
    """A route whose failures are pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                return await handler(request)
            except ValidationError:
                return apology(400, "This address does not work", "One of the filters in it is not one of ours.")
            except Exception as error:
                if is_transient(error):
                    log.warning("database_unavailable", error=type(error).__name__)
                    return apology(503, "The figures are out of reach", "The database does not answer just now.")
                log.error("page_failed", error=type(error).__name__, where=frames(error))
                return apology(500, "This page failed", "The fault is ours; the log says where.")

        return guarded


def pages_router(pool: asyncpg.Pool, clock: Clock, health: Health | None) -> APIRouter:
    """The overview, its live part, transcripts and assets; all of them need the token."""
    router = APIRouter(include_in_schema=False, route_class=PageRoute)

    async def health_for(caller: Caller) -> HealthFacts | None:
        # These figures are the whole platform's, so only a caller without bounds sees them.
        return await health_facts(health) if caller.tenant is None and caller.project is None else None

    @router.get("/")
    async def front(request: Request) -> Response:
        token = request.query_params.get("token")
        if token is not None:
            return await sign_in(request, token)
        caller = await caller_of_page(request)
        if caller is None:
            return way_in()
        view = View.model_validate(dict(request.query_params))
        known = await projects(pool, caller.tenant, caller.project)
        at = chosen(view, known)
        if at is None and (view.at is not None or view.tenant is not None):
            return apology(404, *_NOT_FOUND)
        if at is None:
            return page("empty.html", health=await health_for(caller))
        if not caller.may_touch(*at):
            return apology(404, *_NOT_FOUND)
        figures = await overview(pool, at, view, clock.now())
        return page(
            "overview.html",
            view=view,
            at=at,
            known=known,
            o=figures,
            live=figures.live,
            health=await health_for(caller),
        )

    @router.get("/dashboard/live")
    async def tail(request: Request) -> Response:
        caller = await caller_of_page(request)
        if caller is None:
            return way_in()
        view = View.model_validate(dict(request.query_params))
        at = chosen(view, await projects(pool, caller.tenant, caller.project))
        if at is None or not caller.may_touch(*at):
            return apology(404, *_NOT_FOUND)
        now = await live(pool, at, view, clock.now())
        return page("live.html", at=at, live=now, health=await health_for(caller))

    @router.get("/dashboard/conversation")
    async def conversation(request: Request) -> Response:
        caller = await caller_of_page(request)
        if caller is None:
            return way_in()
        view = TranscriptView.model_validate(dict(request.query_params))
        at = Conversation(view.tenant, view.project, view.id)
        if not caller.may_touch(view.tenant, view.project):
            return apology(404, *_NOT_FOUND)
        async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
            told = await transcript(connection, at, view.turn)
        if not told.lines and not told.stray:
            return apology(404, "No such conversation", "Nothing is known of it in this project.")
        return page("conversation.html", at=at, turn=view.turn, told=told)

    @router.get(ASSETS_AT + "/{name}")
    async def asset(request: Request, name: str) -> Response:
        if await caller_of_page(request) is None:
            return way_in()
        if name not in ASSETS:
            return apology(404, "There is nothing here", "No such file.")
        body, media_type = ASSETS[name]
        headers = {"Cache-Control": "private, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
        return Response(body, 200, headers, media_type)

    return router
