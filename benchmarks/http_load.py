"""HTTP load that keeps each connection busy with one request, over plain sockets, to need little processor time
itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, Protocol

import psutil

WARM_SECONDS: Final = 2.0
_LENGTH: Final = b"content-length:"


class Server(Protocol):
    """Process that serves a port."""

    @property
    def port(self) -> int: ...

    @property
    def pid(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Load:
    """Load of `clients` connections to a server, for `seconds` after a warm-up.

    Each connection sends its next request after a response. `request` returns the bytes of request number n. Any status
    other than `status` fails the run.
    """

    server: Server
    clients: int
    seconds: float
    status: int
    request: Callable[[int], bytes]

    async def measure(self) -> dict[str, Any]:
        """Return the responses per second, the latency in milliseconds, and the server's microseconds per response.

        The processor time includes the work that the server does after its responses.
        """
        numbers, late = count(), list[float]()
        began = time.perf_counter() + WARM_SECONDS
        until = began + self.seconds
        before = self._cpu_seconds()
        async with asyncio.TaskGroup() as group:
            for _ in range(self.clients):
                group.create_task(self._client(numbers, began, until, late))
        spent = round((self._cpu_seconds() - before) * 1e6 / next(numbers), 1)
        return {"per_s": round(len(late) / self.seconds, 1), "clients": self.clients, "cpu_us": spent, **spread(late)}

    def _cpu_seconds(self) -> float:
        return sum(psutil.Process(self.server.pid).cpu_times()[:2])

    async def _client(self, numbers: count[int], began: float, until: float, late: list[float]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
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
    """Return the bytes of a POST request on a persistent connection."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _length(head: bytes) -> int:
    start = head.lower().index(_LENGTH) + len(_LENGTH)
    return int(head[start : head.index(b"\r\n", start)])


def in_turn(choices: Sequence[bytes]) -> Callable[[int], bytes]:
    """Return a function that selects one of `choices` by the request's number, in rotation."""
    return lambda number: choices[number % len(choices)]


def spread(seconds: Sequence[float]) -> dict[str, Any]:
    """Return the count, the median and the 99th percentile, in milliseconds."""
    ordered = sorted(seconds)
    p50, p99 = (round(1000 * ordered[int(len(ordered) * share)], 2) for share in (0.5, 0.99))
    return {"p50": p50, "p99": p99, "count": len(ordered)}
