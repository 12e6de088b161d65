"""Keeps connections busy with one request each, over plain sockets: a client that costs little beside the server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from benchmarks.detect_over_http import spread

WARM_SECONDS: Final = 2.0
_LENGTH: Final = b"content-length:"


@dataclass(frozen=True, slots=True)
class Load:
    """`clients` connections to `port` that ask again as soon as they are answered, for `seconds` after a warm-up.

    `request` makes the bytes of request number n. Any status but `status` fails the run.
    """

    port: int
    clients: int
    seconds: float
    status: int
    request: Callable[[int], bytes]

    async def measure(self) -> dict[str, Any]:
        """Answers a second, and milliseconds from sending a request to having its answer."""
        numbers, late = count(), list[float]()
        began = time.perf_counter() + WARM_SECONDS
        until = began + self.seconds
        async with asyncio.TaskGroup() as group:
            for _ in range(self.clients):
                group.create_task(self._client(numbers, began, until, late))
        return {"per_s": round(len(late) / self.seconds, 1), "clients": self.clients, **spread(late)}

    async def _client(self, numbers: count[int], began: float, until: float, late: list[float]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            while (sent := time.perf_counter()) < until:
                writer.write(self.request(next(numbers)))
                head = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(_length(head))
                if int(head[9:12]) != self.status:
                    raise AssertionError(f"{head[:60]!r} {body[:300]!r}")
                now = time.perf_counter()
                if began <= sent and now <= until:
                    late.append(now - sent)
        finally:
            writer.close()


def post(path: str, body: bytes, token: str, media_type: str = "application/json") -> bytes:
    """The bytes of a POST on a connection that is kept."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _length(head: bytes) -> int:
    at = head.lower().index(_LENGTH) + len(_LENGTH)
    return int(head[at : head.index(b"\r\n", at)])


def in_turn(choices: Sequence[bytes]) -> Callable[[int], bytes]:
    """Request n is the n-th of `choices`, over and over."""
    return lambda number: choices[number % len(choices)]
