"""Redaction of people's texts in records read from the log and in events written by HTTP routes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from contracts.topics import EXPLICIT_RECEIVED, FOREIGN
from servicekit.log.messages import Message, Producer, Written
from servicekit.log.records import RawRecord
from servicekit.redaction.redactor import Redactor, count_masks

INTAKE: Final = FOREIGN | {EXPLICIT_RECEIVED.name}
"""Topics with texts that people send; the texts of every other topic come from these."""
_AT_ONCE: Final = 65_536
"""Maximum number of bytes that are redacted in the event loop. A megabyte of digits takes a second."""
T = TypeVar("T")


async def beside_the_loop(size: int, work: Callable[[], T]) -> T:
    """Return the result of `work`, which redacts `size` bytes; in a thread if it takes long."""
    return work() if size <= _AT_ONCE else await asyncio.to_thread(work)


async def redact_all(records: Sequence[RawRecord], redactor: Redactor, counted: Container[str]) -> list[RawRecord]:
    """Return the records with people's texts redacted, as `redact` does, without blocking the event loop."""
    size = sum(len(raw.value or b"") for raw in records if raw.coordinates.topic in INTAKE)
    return await beside_the_loop(size, lambda: [redact(raw, redactor, counted) for raw in records])


def redact(raw: RawRecord, redactor: Redactor, counted: Container[str]) -> RawRecord:
    """Return the record with people's texts redacted, or `raw` itself if there is nothing to redact.

    Only records on the topics in INTAKE contain such texts.

    Args:
        counted: The topics whose redactions are counted in the metric.
    """
    if raw.value is None or raw.coordinates.topic not in INTAKE:
        return raw
    value, masks = redactor.redact(raw.value)
    if not masks:
        return raw
    if raw.coordinates.topic in counted:
        count_masks(masks)
    return raw._replace(value=value)


class RedactingProducer:
    """Producer wrapper that redacts events from outside the platform before they are written to the log."""

    def __init__(self, producer: Producer, redactor: Redactor) -> None:
        self._producer = producer
        self._redactor = redactor

    async def send(self, messages: Sequence[Message]) -> Sequence[Written]:
        size = sum(len(message.value or b"") for message in messages)
        return await self._producer.send(
            await beside_the_loop(size, lambda: [self._redacted(message) for message in messages])
        )

    def _redacted(self, message: Message) -> Message:
        if message.value is None:
            return message
        value = self._redactor.clean(message.value)
        return message if value == message.value else replace(message, value=value)
