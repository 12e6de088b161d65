"""All four services on an in-process log and a real PostgreSQL, with an HTTP client without a socket."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from copy import copy
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper, cached_property, lru_cache
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest
from fastapi import FastAPI
from fastapi.dependencies import models
from starlette.types import ASGIApp

from contracts.ids import conversation_key
from contracts.scopes import ALL_SCOPES
from detector.encoders.embedder import WordLlamaEmbedder, WordVectors
from servicekit.log.outcome import Observation
from servicekit.log.records import Message
from servicekit.log.topics import partitions_by_topic
from servicekit.service import ServiceContext
from servicekit.web.application import add_routes, application, guarded
from servicekit.web.auth import Authenticator, Caller
from servicekit.web.failures import REQUEST_SECONDS
from standalone.embedded.backpressure import Backpressure
from standalone.embedded.memory_broker import MemoryBroker
from standalone.one_process.stack import Stack
from tests.support.databases import SCHEMAS, new_database
from tests.support.waits import PATIENCE_SECONDS

CALLERS = {
    "all": Caller("local", scopes=ALL_SCOPES),
    "ann": Caller("ann", tenant="acme", project="support"),
    "runtime": Caller("ann", tenant="acme", project="support", scopes=frozenset({"detect"})),
    "acme": Caller("ann", tenant="acme", scopes=ALL_SCOPES),
    "support": Caller("sue", tenant="acme", project="support", scopes=ALL_SCOPES),
    "reviewer": Caller("rita", tenant="acme", project="support", scopes=frozenset({"read", "review"})),
    "gus": Caller("gus", tenant="globex", project="support"),
    "chat": Caller("chat-service", tenant="acme", project="support", scopes=frozenset({"ingest", "on_behalf"})),
}
"""Caller of each token."""
PATIENCE = {
    "CHAT_BRIDGE_LOG_SECONDS": "9",
    "FEEDBACK_LOG_SECONDS": "9",
    "FEEDBACK_SESSION_SECONDS": "9",
    "FEEDBACK_TURN_SECONDS": "9",
    "INFERENCE_INDEX_SECONDS": "9",
}
"""Timeouts within a request, in seconds: just below the limit of the whole request (REQUEST_SECONDS), because a busy
machine may stop this process for seconds."""


class Tokens:
    async def authenticate(self, token: str) -> Caller | None:
        return CALLERS.get(token)


@dataclass
class RunningStack:
    """Started stack with its HTTP application. `seen` collects every outcome."""

    stack: Stack
    broker: MemoryBroker
    database_url: str
    backpressure: Backpressure
    seen: list[Observation] = field(default_factory=list)

    def client(self, token: str | None = "all", **options: Any) -> httpx.AsyncClient:
        """Return a client with the token `token` (see CALLERS)."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        transport = httpx.ASGITransport(self.app(), **options)
        return httpx.AsyncClient(transport=transport, base_url="http://stack", headers=headers)

    def app(
        self,
        authenticator: Authenticator | None = None,
        origins: Sequence[str] = (),
        seconds: float = REQUEST_SECONDS,
        sign_in_url: str | None = None,
    ) -> ASGIApp:
        """The complete HTTP application, as `agent-feedback up` mounts it."""
        authenticator = authenticator or Tokens()
        return guarded(self._routes, authenticator, origins, seconds, sign_in_url=sign_in_url)

    @cached_property
    def _routes(self) -> FastAPI:
        """All routes, built once: each application writes its OpenAPI document again."""
        return self.plain_app()

    def plain_app(self) -> FastAPI:
        """All routes without the guard."""
        app = application(self.stack.not_ready)
        add_routes(app, self.stack.routers)
        return app

    async def publish(self, *events: Mapping[str, Any]) -> None:
        """Write chat events, each with its `topic`, like a chat service."""
        await self.stack.log.send(
            [
                Message(
                    event["topic"],
                    conversation_key(event["tenant"], event["project"], event["conversationId"]),
                    json.dumps(event).encode(),
                )
                for event in events
            ]
        )

    async def rows(self, query: str) -> list[asyncpg.Record]:
        """Return the rows in the database."""
        connection = await asyncpg.connect(self.database_url)
        try:
            return list(await connection.fetch(query))
        finally:
            await connection.close()

    async def quiet(self) -> None:
        """Wait until every group has processed everything written."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self.stack.quiet()


@asynccontextmanager
async def running_stack(
    server: str,
    adapt: Callable[[ServiceContext], ServiceContext] = lambda around: around,
) -> AsyncIterator[RunningStack]:
    """Run a stack on a new database and an empty log. `adapt` may change the stack's surroundings.

    `server` is the URL of any database on the server.
    """
    seen: list[Observation] = []
    async with AsyncExitStack() as parts:
        database_url = await parts.enter_async_context(new_database(server, *SCHEMAS))
        broker = parts.enter_context(MemoryBroker(partitions_by_topic()))
        backpressure = Backpressure()
        around = ServiceContext(broker.bootstrap, observers=[seen.append])
        stack = Stack(adapt(around), database_url, backpressure)
        parts.callback(_forget_routes)
        parts.push_async_callback(stack.stop)
        with pytest.MonkeyPatch.context() as environment:
            for name, value in PATIENCE.items():
                environment.setenv(name, os.environ.get(name, value))
            environment.setattr("detector.detector.WordLlamaEmbedder", _embedder)
            await stack.start()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await stack.not_ready():
                await asyncio.sleep(0.02)
        yield RunningStack(stack, broker, database_url, backpressure, seen)


_loaded = lru_cache(WordLlamaEmbedder)


def _embedder() -> WordLlamaEmbedder:
    """Return an embedder with its own cache of words, and the weights that the first stack of this process loaded."""
    loaded, own = _loaded(), copy(_loaded())
    own.words = WordVectors(loaded.words._tokenizer, loaded.words._table)
    return own


def _forget_routes() -> None:
    """Clear FastAPI's caches of route functions, which would keep each stopped stack with its detector (60 MB)."""
    for value in vars(models).values():
        if isinstance(value, _lru_cache_wrapper):
            value.cache_clear()


def message(name: str, conversation: str, *, turn: str | None = None, agent: str | None = None, **fields: Any) -> Any:
    """Return a chat message of acme/support, by an agent if `agent` is given."""
    event = {
        "topic": "chat.message.ingested",
        "eventId": str(uuid4()),
        "occurredAt": "2026-01-01T10:00:05Z" if agent else "2026-01-01T10:00:00Z",
        "tenant": "acme",
        "project": "support",
        "messageId": name,
        "conversationId": conversation,
        "senderId": agent or "ann",
        "senderType": "agent" if agent else "human",
        "content": "It opens at nine." if agent else "When does it open?",
    }
    event |= {"turnId": turn} if turn else {}
    event |= {"agentId": agent} if agent else {}
    return event | fields


def exchange(conversation: str, turn: str, *, agent: str = "bot", **fields: Any) -> Sequence[Any]:
    """Return a question and an agent's answer, on one turn."""
    return (
        message(f"{turn}-question", conversation, turn=turn, **fields),
        message(f"{turn}-answer", conversation, turn=turn, agent=agent, **fields),
    )


def reaction(message_id: str, conversation: str, emoji: str = "👎", *, user: str = "ann", **fields: Any) -> Any:
    """Return a person's emoji on a message of acme/support."""
    return {
        "topic": "chat.message.reaction.ingested",
        "eventId": str(uuid4()),
        "occurredAt": "2026-01-01T10:01:00Z",
        "tenant": "acme",
        "project": "support",
        "messageId": message_id,
        "conversationId": conversation,
        "userId": user,
        "userType": "human",
        "emoji": emoji,
    } | fields


def reply(event: Any, about: str, **fields: Any) -> Any:
    """Return the reply event of a message about the message with the id `about`."""
    return (
        event | {"topic": "chat.message.reply.ingested", "eventId": str(uuid4()), "originalMessageId": about} | fields
    )
