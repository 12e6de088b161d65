"""A language model's server on this machine that is right, slow, broken or wrong, as configured."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

NEUTRAL: dict[str, Any] = {
    "is_feedback": False,
    "reaction": "neutral",
    "confidence": 0.9,
    "about": None,
    "reason": "none",
}
REJECTED: dict[str, Any] = NEUTRAL | {"is_feedback": True, "reaction": "not_ok", "reason": "explicit"}
ACCEPTED: dict[str, Any] = NEUTRAL | {"is_feedback": True, "reaction": "ok", "reason": "thanks"}


def response(body: bytes, status: int = 200, *, length: int | None = None, headers: str = "") -> bytes:
    """Return a whole HTTP response; `length` may differ from the body's length."""
    declared = len(body) if length is None else length
    return f"HTTP/1.1 {status} Any\r\nContent-Length: {declared}\r\n{headers}\r\n".encode() + body


def completion(content: Any) -> bytes:
    """Return a chat completion whose message is `content`: a string, or a value to encode as JSON."""
    found = content if isinstance(content, str) or content is None else json.dumps(content)
    return response(json.dumps({"choices": [{"message": {"role": "assistant", "content": found}}]}).encode())


@dataclass
class LlmServer:
    """Server whose `respond` returns the response to a request's JSON; empty bytes reset the connection. Responses
    wait until `released` is set. `sent` counts bytes."""

    url: str = ""
    respond: Callable[[Any], bytes] = lambda _: completion(NEUTRAL)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[Any] = field(default_factory=list)
    authorizations: set[str | None] = field(default_factory=set)
    at_work: int = 0
    most_at_work: int = 0
    sent: int = 0

    def messages(self) -> list[str]:
        """Return the judged messages of the requests."""
        return [json.loads(one["messages"][1]["content"])["message"] for one in self.asked]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                assert head[0] == "POST /v1/chat/completions HTTP/1.1"
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
                self.asked.append(json.loads(await reader.readexactly(int(headers["content-length"]))))
                self.authorizations.add(headers.get("authorization"))
                await self._answer(writer, self.asked[-1])
        writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, request: Any) -> None:
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        try:
            await self.released.wait()
            found = self.respond(request)
            if not found:
                writer.transport.abort()
            for start in range(0, len(found), 65_536):
                writer.write(found[start : start + 65_536])
                await writer.drain()
                self.sent += len(found[start : start + 65_536])
            if b"\r\nConnection: close\r\n" in found[:1_000]:
                writer.close()
        finally:
            self.at_work -= 1


@asynccontextmanager
async def llm_server() -> AsyncIterator[LlmServer]:
    """Run a server that responds immediately that the message gives no feedback."""
    model = LlmServer()
    model.released.set()
    listening = await asyncio.start_server(model._serve, "127.0.0.1", 0)
    model.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    try:
        yield model
    finally:
        model.released.set()
        listening.close()
