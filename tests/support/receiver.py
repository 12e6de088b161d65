"""A receiver of webhooks on this machine that accepts requests, is slow, fails or is down, depending on the path."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tests.support.served import served
from tests.support.waits import PATIENCE_SECONDS


@dataclass
class Taken:
    """Received request."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """Receiver. `answers` has the status of a path, by default 204; paths in `held` get their response once
    `released` is set."""

    url: str = ""
    answers: dict[str, int] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    taken: list[Taken] = field(default_factory=list)
    came: asyncio.Condition = field(default_factory=asyncio.Condition)

    def at(self, path: str) -> list[Taken]:
        return [one for one in self.taken if one.path == path]

    async def until(self, path: str, fits: Callable[[list[Taken]], Any]) -> list[Taken]:
        """Wait until the requests of a path meet a condition, and return them."""
        async with asyncio.timeout(PATIENCE_SECONDS), self.came:
            await self.came.wait_for(lambda: fits(self.at(path)))
        return self.at(path)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        path = scope["path"]
        async with self.came:
            self.taken.append(Taken(path, dict(request.headers), await request.body()))
            self.came.notify_all()
        if path in self.held:
            await self.released.wait()
        status = self.answers.get(path, 204)
        headers = {"location": f"{self.url}/elsewhere"} if status == 302 else {}
        await Response(status_code=status, headers=headers)(scope, receive, send)


@asynccontextmanager
async def receiver() -> AsyncIterator[Receiver]:
    running = Receiver()
    async with served(running) as running.url:
        yield running
