"""From HTTP into the log: written and acknowledged within seconds, or refused so that a caller can act on it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence

from aiokafka.errors import KafkaError

from servicekit.failures import Unavailable
from servicekit.producer import Message, Producer, Written, bytes_of
from servicekit.records import TRACEPARENT, Headers

Room = Callable[[int], bool]
"""Says whether the log has room for that many bytes now."""
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)
_WAITING_LIMIT = 256
_AT_ONCE = 500


class LogFull(Exception):
    """The log has no room now; consumers are catching up. `retry_after` in seconds."""

    def __init__(self, retry_after: int = 2) -> None:
        super().__init__("The log is full until its consumers have caught up; send this again later.")
        self.retry_after = retry_after


class LogIntake:
    """Writes what came in over HTTP. `room` says whether the log can take so many bytes; `seconds` bounds the wait."""

    def __init__(self, producer: Producer, *, room: Room = lambda _: True, seconds: float = 5.0) -> None:
        self._producer = producer
        self._room = room
        self._seconds = seconds
        self._waiting: set[asyncio.Task[list[Written]]] = set()

    async def write(self, messages: Sequence[Message]) -> None:
        """Write all of `messages`, acknowledged on return. The time limit counts anew for every 500 of them.

        Raises LogFull where nothing was written for want of room, Unavailable where the log did not acknowledge in
        time: then any part may have been written, or still be.
        """
        if not self._room(bytes_of(messages)):
            raise LogFull
        for start in range(0, len(messages), _AT_ONCE):
            await self._write(messages[start : start + _AT_ONCE])

    async def _write(self, messages: Sequence[Message]) -> None:
        if len(self._waiting) >= _WAITING_LIMIT:
            raise Unavailable("the log", "too many writes are waiting for it")
        # A write given up on here goes on by itself: cutting it off would break the producer under its other users.
        task = asyncio.create_task(self._producer.send(messages))
        self._waiting.add(task)
        task.add_done_callback(self._done)
        try:
            await asyncio.wait_for(asyncio.shield(task), self._seconds)
        except (KafkaError, OSError, TimeoutError, Unavailable) as error:
            raise Unavailable("the log", type(error).__name__) from None

    def _done(self, task: asyncio.Task[list[Written]]) -> None:
        self._waiting.discard(task)
        if not task.cancelled():
            task.exception()


def trace_headers(traceparent: str | None) -> Headers:
    """The record headers that carry on the trace of a request, none where its header is not well formed."""
    if traceparent is None or not _TRACEPARENT.fullmatch(traceparent):
        return ()
    return ((TRACEPARENT, traceparent.encode()),)
