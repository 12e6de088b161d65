"""Originals that were never published, fetched from a chat service that may be slow, broken or wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from prometheus_client import REGISTRY
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from chat_bridge.message_source_http import HttpMessageSource
from chat_bridge.model import MessageKey
from servicekit.web.server import HttpServer
from tests.support.hand_clock import HandClock
from tests.support.running_stack import message, running_stack


@dataclass
class ChatService:
    """Service that returns the messages that it has. `answer` replaces its response; responses wait until `gate` is
    set."""

    url: str
    messages: dict[str, Any] = field(default_factory=dict)
    asked: list[dict[str, Any]] = field(default_factory=list)
    authorizations: set[str | None] = field(default_factory=set)
    status: int = 200
    answer: bytes | None = None
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def has(self, name: str, conversation: str, **fields: Any) -> None:
        self.messages[name] = {
            "messageId": name,
            "conversationId": conversation,
            "turnId": f"turn-of-{name}",
            "senderId": "bot",
            "senderType": "agent",
            "agentId": "bot",
            "content": "It opens at nine.",
            **fields,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        self.authorizations.add(request.headers.get("authorization"))
        question = json.loads(await request.body())
        self.asked.append(question)
        await self.gate.wait()
        found = [self.messages[one] for one in question["message_ids"] if one in self.messages]
        body = json.dumps({"messages": found}).encode() if self.answer is None else self.answer
        await send({"type": "http.response.start", "status": self.status, "headers": []})
        await send({"type": "http.response.body", "body": body})


@pytest_asyncio.fixture
async def chat() -> AsyncIterator[ChatService]:
    server = HttpServer("127.0.0.1", 0)
    service = ChatService(f"http://127.0.0.1:{server.port}/messages")
    service.gate.set()
    await server.start(service)
    try:
        yield service
    finally:
        service.gate.set()
        await server.stop()


def key(name: str, tenant: str = "acme", conversation: str = "c1") -> MessageKey:
    return MessageKey(tenant, "support", conversation, name)


async def test_one_request_asks_for_many_and_gives_what_is_sound(chat: ChatService) -> None:
    source = HttpMessageSource(chat.url, HandClock(), token="secret", seconds=20)
    for name in ("m1", "m2"):
        chat.has(name, "c1")
    chat.has("broken", "c1", content="\x00")
    chat.has("theirs", "c9")
    found = await source.fetch([key("m1"), key("m2"), key("broken"), key("unknown"), key("m1")])
    assert set(found) == {key("m1"), key("m2")}
    assert found[key("m1")].turn_id == "turn-of-m1"
    ids = ["broken", "m1", "m2", "unknown"]
    messages = [{"conversation_id": "c1", "message_id": one} for one in ids]
    assert chat.asked == [{"tenant": "acme", "project": "support", "message_ids": ids, "messages": messages}]
    assert chat.authorizations == {"Bearer secret"}
    await source.fetch([key(f"n{number}") for number in range(101)] + [key("m1", "globex")])
    assert [(one["tenant"], len(one["message_ids"])) for one in chat.asked[1:]] == [
        ("acme", 100),
        ("acme", 1),
        ("globex", 1),
    ]
    await source.close()


async def test_an_answer_about_something_else_is_passed_over(chat: ChatService) -> None:
    source = HttpMessageSource(chat.url, HandClock(), seconds=20)
    chat.has("m1", "c1")
    chat.answer = json.dumps({"messages": [chat.messages["m1"]]}).encode()
    assert await source.fetch([key("m2")]) == {}
    assert await source.fetch([key("m1", conversation="c2")]) == {}
    assert set(await source.fetch([key("m1")])) == {key("m1")}
    await source.close()


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (500, None),
        (404, None),
        (302, None),
        (200, b""),
        (200, b"null"),
        (200, b'{"messages": 7}'),
        (200, b"[" * 10_000),
        (200, b" " * (9 * 1024 * 1024)),
    ],
)
async def test_after_three_failures_it_is_left_alone_for_a_while(
    chat: ChatService, status: int, answer: bytes | None
) -> None:
    clock = HandClock()
    source = HttpMessageSource(chat.url, clock, seconds=20)
    chat.has("m1", "c1")
    chat.status, chat.answer = status, answer
    for _ in range(5):
        assert await source.fetch([key("m1")]) == {}
    assert len(chat.asked) == 3
    clock.forward(30)
    assert await source.fetch([key("m1"), key("m1", "globex")]) == {}
    assert len(chat.asked) == 4, "one request tries whether it is back"
    chat.status, chat.answer = 200, None
    assert await source.fetch([key("m1")]) == {}
    clock.forward(30)
    assert set(await source.fetch([key("m1")])) == {key("m1")}
    assert set(await source.fetch([key("m1")])) == {key("m1")}
    await source.close()


async def test_a_slow_one_is_not_waited_for(chat: ChatService) -> None:
    source = HttpMessageSource(chat.url, HandClock(), seconds=0.3)
    chat.gate.clear()
    assert await source.fetch([key(f"n{number}", f"tenant-{number}") for number in range(200)]) == {}
    assert len(chat.asked) <= 4, "the time is that of all requests, not of each round of four"
    await source.close()


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/messages", "http://127.0.0.1:port/messages", "http://"])
async def test_nobody_there(url: str) -> None:
    source = HttpMessageSource(url, HandClock())
    before = failures()
    assert await source.fetch([key("m1")]) == {}
    assert failures() == before + 1
    await source.close()


def failures() -> float:
    return REGISTRY.get_sample_value("agent_feedback_message_source_total", {"outcome": "failed"}) or 0.0


def reply(name: str, about: str, conversation: str) -> dict[str, Any]:
    said: dict[str, Any] = message(name, conversation)
    return said | {
        "topic": "chat.message.reply.ingested",
        "eventId": str(uuid4()),
        "originalMessageId": about,
    }


async def test_a_reply_to_an_unpublished_message_becomes_feedback(
    chat: ChatService, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAT_BRIDGE_MESSAGE_SOURCE_URL", chat.url)
    monkeypatch.setenv("CHAT_BRIDGE_MESSAGE_SOURCE_SECONDS", "20")
    monkeypatch.setenv("CHAT_BRIDGE_MESSAGE_SOURCE_AGAIN_SECONDS", "2")
    monkeypatch.setenv("CHAT_BRIDGE_SWEEP_SECONDS", "0.2")
    async with running_stack(postgres_url) as running:
        chat.has("m1", "c1")
        await running.publish(reply("r1", "m1", "c1"))
        await running.quiet()
        assert running.stack.produced["feedback.reply.received"] == 1
        assert await running.stack.fact("parked") == 0

        chat.status = 500
        await running.publish(reply("r2", "m2", "c1"))
        await running.quiet()
        assert running.stack.produced["feedback.reply.received"] == 1
        assert await running.stack.fact("parked") == 1

        chat.has("m2", "c1")
        chat.status = 200
        async with asyncio.timeout(60):
            while await running.stack.fact("parked"):
                await asyncio.sleep(0.05)
        await running.quiet()
        assert running.stack.produced["feedback.reply.received"] == 2
