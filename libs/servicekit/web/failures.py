"""Responses to failed requests: timeouts, unavailable dependencies and internal errors."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import asyncpg
from aiokafka.errors import KafkaError
from pydantic import Field
from pydantic_settings import SettingsConfigDict
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from servicekit import metrics
from servicekit.db.database import ConnectionUsage, connection_usage
from servicekit.error_kinds import in_words, is_of_database, is_transient
from servicekit.errors import LogFull, Unavailable
from servicekit.logging import frames, logger
from servicekit.settings import Settings
from servicekit.web.refusals import refused, unavailable

REQUEST_SECONDS = 10.0
"""Default deadline for the start of a response, in seconds."""
log = logger("http")


class HttpSettings(Settings):
    """Settings of the HTTP server, from environment variables with the prefix HTTP_.

    - `request_seconds`: time until a response begins
    """

    model_config = SettingsConfigDict(env_prefix="HTTP_")

    request_seconds: float = Field(default=REQUEST_SECONDS, gt=0, le=300)


class DeadlineMiddleware:
    """Middleware that sends an error response if a request fails or takes too long.

    The status is 503 if `app` has not started its response within `seconds` or raises a transient error, 429 if the log
    is full, and 500 for any other error. Once a response has started, there is no deadline.

    The response is one sentence, as a page if the route is a page, otherwise as JSON. If the request was waiting for
    the database, the sentence says so. With status 500, the sentence contains an id under which the cause is logged.
    """

    def __init__(self, app: ASGIApp, seconds: float = REQUEST_SECONDS) -> None:
        self._app = app
        self._seconds = seconds
        self._abandoned: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = {**scope, "state": dict(scope.get("state", {}))}
        begun = given_up = False
        usage = ConnectionUsage()
        connection_usage.set(usage)

        async def noted(message: Message) -> None:
            nonlocal begun
            if not given_up:
                begun = True
                await send(message)

        work = asyncio.ensure_future(self._app(scope, receive, noted))
        try:
            await asyncio.wait([work], timeout=self._seconds)
            if work.done() or begun:
                await work
                return
            given_up = True
            answer = await _late(self._seconds, usage, Request(scope, receive))
        except asyncio.CancelledError:
            work.cancel()
            raise
        except ClientDisconnect:
            return
        except Exception as error:
            answer = await answer_to(error, Request(scope, receive))
            if begun:
                return  # closes the connection: the response is incomplete
        finally:
            self._leave(work)
        await answer(scope, receive, send)

    def _leave(self, work: asyncio.Future[None]) -> None:
        """Cancel unfinished work without waiting for its end, because a frozen database ignores even a cancellation."""
        if isinstance(work, asyncio.Task) and not work.done():
            work.cancel()
            self._abandoned.add(work)
            work.add_done_callback(self._forget)

    def _forget(self, work: asyncio.Task[None]) -> None:
        self._abandoned.discard(work)
        if not work.cancelled():
            work.exception()


async def answer_to(error: Exception, request: Request) -> Response:
    """Return the response to a request whose route raised `error`.

    The status is 429 if the log is full, 503 for a transient error, and 500 for any other error.
    """
    if isinstance(error, LogFull):
        return JSONResponse({"detail": str(error)}, 429, {"Retry-After": str(error.retry_after)})
    route = _route(request.scope)
    if is_transient(error) and (not isinstance(error, OSError) or is_of_database(error)):
        log.warning("request_unavailable", route=route, error=type(error).__name__)
        return await refused(request, 503, unavailable(_as_unavailable(error)))
    name = uuid4().hex[:12]
    metrics.HTTP_FAILURES.labels(route).inc()
    log.error("request_failed", id=name, route=route, error=type(error).__name__, where=frames(error))
    return await refused(request, 500, f"This request failed on our side; the log names it {name}.")


def _as_unavailable(error: Exception) -> Unavailable:
    match error:
        case Unavailable():
            return error
        case KafkaError():
            return Unavailable("the log", in_words(error))
        case asyncpg.PostgresError() | asyncpg.InterfaceError() | OSError() | TimeoutError():
            return Unavailable("the database", in_words(error))
        case _:
            return Unavailable("a part of this service", type(error).__name__)


def _route(scope: Scope) -> str:
    """Return the path template of the request's route. The path itself contains ids, so it must not be logged."""
    return str(scope["state"].get("template", "unknown"))


async def _late(seconds: float, usage: ConnectionUsage, request: Request) -> Response:
    why = ": the database does not answer" if usage.count else ""
    answer = await refused(request, 503, f"There was no answer within {seconds:g} s{why}; send this again later.")
    answer.headers["Connection"] = "close"  # the rest of the request's body may still be on its way
    return answer
