"""Recognises the responses to writes in the bytes of a connection: PostgreSQL, HTTP, Kafka. No I/O."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

_WRITE = re.compile(rb"C\x00\x00\x00.(?:COMMIT|INSERT 0 \d+|UPDATE \d+|DELETE \d+)\x00", re.S)
_ROWS = re.compile(rb"C\x00\x00\x00.SELECT [1-9]\d*\x00", re.S)
_CHANGES = re.compile(rb"\b(?:insert into|update \w+|delete from)\b", re.I)
_IDLE = b"Z\x00\x00\x00\x05I"
_PRODUCE = 0
"""Kafka's api key of a produce request."""


class WriteRecogniser(Protocol):
    """Observer of both directions of one connection."""

    def requested(self, data: bytes) -> None:
        """Process bytes of the client, before they are forwarded."""
        ...

    def confirmed(self, data: bytes) -> bool:
        """Return True if these bytes of the server are, or begin, its response to a write."""
        ...


@dataclass(frozen=True, slots=True)
class ByResponse:
    """Protocol whose responses alone tell that a write was done."""

    confirmed: Callable[[bytes], bool]

    def requested(self, data: bytes) -> None:
        """Ignore requests."""


def is_success(response: bytes) -> bool:
    """Return True if `response` begins with an HTTP status line that accepts the request."""
    return response.startswith(b"HTTP/1.1 2")


class CommitRecogniser:
    """PostgreSQL: a response to a write ends outside a transaction.

    A statement that changes rows in a common table expression and selects them has a response like a query's, so the
    prepared statements of the connection tell which one it is.
    """

    def __init__(self) -> None:
        self._held = b""
        self._started = False
        """Whether the start-up message, which has no type, has passed."""
        self._changing: set[bytes] = set()
        self._changes = False
        """Whether the statement executed last changes rows."""

    def requested(self, data: bytes) -> None:
        self._held += data
        while len(self._held) >= 5:
            head = 1 if self._started else 0
            end = head + int.from_bytes(self._held[head : head + 4])
            if len(self._held) < end:
                return
            if self._started:
                self._note(self._held[:1], self._held[5:end])
            self._started, self._held = True, self._held[end:]

    def _note(self, kind: bytes, message: bytes) -> None:
        if kind == b"P":  # parse: a statement's name and text
            name, text, _ = message.split(b"\0", 2)
            (self._changing.add if _CHANGES.search(text) else self._changing.discard)(name)
        elif kind == b"B":  # bind: the names of a portal and a statement
            self._changes = message.split(b"\0", 2)[1] in self._changing

    def confirmed(self, data: bytes) -> bool:
        if not data.endswith(_IDLE):
            return False
        return _WRITE.search(data) is not None or (self._changes and _ROWS.search(data) is not None)


class FrameHeads:
    """Beginnings, `length` bytes each, of the frames in a stream; each frame follows its size in four bytes."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._skip = 0
        """Remaining bytes of the current frame after its beginning."""
        self._held = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the beginnings that `data` completes."""
        beginnings: list[bytes] = []
        self._held += data
        while True:
            skipped = min(self._skip, len(self._held))
            self._held, self._skip = self._held[skipped:], self._skip - skipped
            if len(self._held) < 4 + self._length:
                return beginnings
            size, head = int.from_bytes(self._held[:4]), self._held[4 : 4 + self._length]
            beginnings.append(head)
            self._held, self._skip = self._held[4 + self._length :], max(0, size - self._length)


class ProduceRecogniser:
    """Recogniser for Kafka: a response has the correlation id of its request, and only the request tells that it
    writes records."""

    def __init__(self) -> None:
        self._requests, self._responses = FrameHeads(8), FrameHeads(4)
        self._written: set[bytes] = set()

    def requested(self, data: bytes) -> None:
        # api key and version in two bytes each, then the correlation id
        self._written.update(head[4:] for head in self._requests.feed(data) if int.from_bytes(head[:2]) == _PRODUCE)

    def confirmed(self, data: bytes) -> bool:
        answered = self._written.intersection(self._responses.feed(data))
        self._written -= answered
        return bool(answered)


def commits() -> WriteRecogniser:
    return CommitRecogniser()


def acceptances() -> WriteRecogniser:
    return ByResponse(is_success)
