"""From HTTP into the log: written and acknowledged within seconds, or refused so that a caller can act on it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from itertools import islice

from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from servicekit.errors import LogFull, Unavailable
from servicekit.log.messages import Message, Producer, Written, bytes_of
from servicekit.log.records import TRACEPARENT, Headers
from servicekit.log.settings import MESSAGE_LIMIT
from servicekit.request_batcher import RequestBatcher

Room = Callable[[int], bool]
"""Says whether the log has room for that many bytes now."""
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)
_WAITING_LIMIT = 64 * 1024 * 1024
"""Bytes that wait for the log at the most."""
_AT_ONCE = 500
"""Records of one request that are written at once."""
_TOGETHER = 1_000
"""Records of several requests that are written together."""


class LogWriter:
    """Writes what came in over HTTP. `room` says whether the log can take so many bytes; `seconds` bounds the wait.

    Requests that come while others are being written are written together.
    """

    def __init__(self, producer: Producer, *, room: Room = lambda _: True, seconds: float = 5.0) -> None:
        self._producer = producer
        self._room = room
        self._seconds = seconds
        self._waiting_bytes = 0
        self._send = RequestBatcher(self._send_together, most=_TOGETHER, weigh=len)

    async def write(self, messages: Sequence[Message]) -> list[Written]:
        """Write all of `messages`, acknowledged on return; return the position of each.

        The time limit counts anew for every 500 of them.

        Raises LogFull where nothing was written for want of room, MessageSizeTooLargeError where one is larger than a
        topic takes, Unavailable where the log did not acknowledge in time: then any part may have been written, or
        still be.
        """
        if not self._room(bytes_of(messages)):
            raise LogFull
        written: list[Written] = []
        for start in range(0, len(messages), _AT_ONCE):
            written += await self._write(messages[start : start + _AT_ONCE])
        return written

    async def _write(self, messages: Sequence[Message]) -> Sequence[Written]:
        sizes = [message.size for message in messages]
        size = sum(sizes)
        if self._waiting_bytes and self._waiting_bytes + size > _WAITING_LIMIT:
            raise Unavailable("the log", "too many writes are waiting for it")
        if max(sizes) > MESSAGE_LIMIT:
            raise MessageSizeTooLargeError("a record is larger than a topic takes")
        self._waiting_bytes += size
        try:
            # A write given up on here goes on by itself: cutting it off would break the producer under its other users.
            async with asyncio.timeout(self._seconds):
                return await self._send(messages)
        except (KafkaError, OSError, TimeoutError, Unavailable) as error:
            raise Unavailable("the log", type(error).__name__) from None
        finally:
            self._waiting_bytes -= size

    async def _send_together(self, requests: Sequence[Sequence[Message]]) -> list[Sequence[Written]]:
        written = iter(await self._producer.send([message for messages in requests for message in messages]))
        return [list(islice(written, len(messages))) for messages in requests]


def trace_headers(traceparent: str | None) -> Headers:
    """The record headers that carry on the trace of a request, none where its header is not well formed."""
    if traceparent is None or not _TRACEPARENT.fullmatch(traceparent):
        return ()
    return ((TRACEPARENT, traceparent.encode()),)
