"""The dashboard's pages and assets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from reporting.pages.session import caller_of_page, sign_in, way_in
from reporting.queries.counts import totals
from servicekit.clock import Clock

Health = Callable[[], Awaitable[dict[str, Any]]]


def pages_router(pool: asyncpg.Pool, clock: Clock, health: Health | None) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def overview(request: Request, token: str | None = None) -> Response:
        if token is not None:
            return await sign_in(request, token)
        caller = await caller_of_page(request)
        if caller is None:
            return way_in()
        counts = await totals(pool) if caller.tenant is None else {}
        rows = "".join(f"<tr><th>{name}<td>{count}" for name, count in counts.items())
        return HTMLResponse(f"<!doctype html><title>agent-feedback</title><table>{rows}</table>")

    return router
