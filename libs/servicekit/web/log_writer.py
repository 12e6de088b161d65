"""Log writer for HTTP routes, which acknowledges a write within seconds or raises an error for the caller."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from itertools import islice

from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from contracts.headers import Headers, derived_headers, well_formed_trace
from servicekit.errors import LogFull, Unavailable
from servicekit.log.records import Message, Producer, Written, bytes_of
from servicekit.log.settings import MESSAGE_LIMIT
from servicekit.request_batcher import RequestBatcher

_traceparent: ContextVar[str | None] = ContextVar("traceparent", default=None)


def enter_trace(traceparent: str | None) -> None:
    """Set the current task's trace from a request header. A malformed header counts as missing."""
    _traceparent.set(well_formed_trace(traceparent))


def trace_headers() -> Headers:
    """Return the headers that pass the current request's trace to its records, or none if there is no trace."""
    return derived_headers(traceparent=_traceparent.get())


Room = Callable[[int], bool]
"""Function that returns True if the log has room for that many bytes."""
_WAITING_LIMIT = 64 * 1024 * 1024
"""Maximum number of bytes that wait for the log."""
_AT_ONCE = 500
"""Maximum number of one request's records in one write."""
_TOGETHER = 1_000
"""Maximum number of records in one write that joins several requests."""


class LogWriter:
    """Producer for HTTP routes. Requests that arrive during a write share the next one.

    Args:
        room: A function that returns True if the log has room for a number of bytes.
        seconds: The maximum wait for an acknowledgement.
    """

    def __init__(self, producer: Producer, *, room: Room = lambda _: True, seconds: float = 5.0) -> None:
        self._producer = producer
        self._room = room
        self._seconds = seconds
        self._waiting_bytes = 0
        self._send = RequestBatcher(self._send_together, most=_TOGETHER, weigh=len)

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        """Write `messages` with the current request's trace, and wait until the log acknowledges them.

        Up to 500 messages are written at once, and each such write has its own time limit.

        Returns:
            The positions of the messages.

        Raises:
            LogFull: If the log has no room. Nothing is written.
            MessageSizeTooLargeError: If a message is larger than a topic allows.
            Unavailable: If the log does not acknowledge in time. Some or all messages may have been written, or may
                still be written later.
        """
        if trace := trace_headers():
            messages = [replace(message, headers=[*message.headers, *trace]) for message in messages]
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
            raise MessageSizeTooLargeError("a record exceeds the topic's size limit")
        self._waiting_bytes += size
        try:
            # An abandoned write continues: cancelling it would break the producer for its other users.
            async with asyncio.timeout(self._seconds):
                return await self._send(messages)
        except (KafkaError, OSError, TimeoutError, Unavailable) as error:
            raise Unavailable("the log", type(error).__name__) from None
        finally:
            self._waiting_bytes -= size

    async def _send_together(self, requests: Sequence[Sequence[Message]]) -> list[Sequence[Written]]:
        written = iter(await self._producer.send([message for messages in requests for message in messages]))
        return [list(islice(written, len(messages))) for messages in requests]
