"""Redaction of people's texts in records read from the log and in events written by HTTP routes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from pydantic_settings import SettingsConfigDict

from contracts.topics import EXPLICIT_RECEIVED, FOREIGN
from redaction.presidio import PresidioUnavailable
from redaction.recognisers import RedactionRules
from redaction.redactor import Redactor
from servicekit import metrics
from servicekit.errors import StartError
from servicekit.log.handler import Slot
from servicekit.log.records import Message, Producer, RawRecord, Written
from servicekit.settings import Settings, read_settings

INTAKE: Final = FOREIGN | {EXPLICIT_RECEIVED.name}
"""Topics with texts that people send; the texts of every other topic come from these."""
_AT_ONCE: Final = 65_536
"""Maximum number of bytes that are redacted in the event loop. A megabyte of digits takes a second."""
T = TypeVar("T")


class RedactionSettings(Settings, RedactionRules):
    """Settings of redaction for all services, from environment variables with the prefix REDACTION_."""

    model_config = SettingsConfigDict(env_prefix="REDACTION_")


def configured_redactor() -> Redactor:
    """Return the redactor that the environment configures. Raises StartError if a setting cannot be used."""
    try:
        return Redactor(read_settings(RedactionSettings))
    except PresidioUnavailable as error:
        raise StartError(f"REDACTION_PRESIDIO_LANGUAGE: {error}") from None


async def in_thread_if_large(size: int, work: Callable[[], T]) -> T:
    """Return the result of `work`, which redacts `size` bytes. If these are many, it runs in a thread."""
    return work() if size <= _AT_ONCE else await asyncio.to_thread(work)


async def redact_all(slots: Sequence[Slot], redactor: Redactor, counted: Container[str]) -> None:
    """Redact people's texts in the records, as `redact` does, without blocking the event loop."""

    def work() -> None:
        for slot in slots:
            slot.raw = redact(slot.raw, redactor, counted)

    await in_thread_if_large(sum(len(slot.raw.value or b"") for slot in slots if slot.topic in INTAKE), work)


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
        _count(masks)
    return raw._replace(value=value)


class RedactingProducer:
    """Producer wrapper that redacts events from outside the platform before they are written to the log."""

    def __init__(self, producer: Producer, redactor: Redactor) -> None:
        self._producer = producer
        self._redactor = redactor

    async def send(self, messages: Sequence[Message]) -> Sequence[Written]:
        size = sum(len(message.value or b"") for message in messages)
        return await self._producer.send(
            await in_thread_if_large(size, lambda: [self._redacted(message) for message in messages])
        )

    def _redacted(self, message: Message) -> Message:
        if message.value is None:
            return message
        value = redact_value(self._redactor, message.value)
        return message if value == message.value else replace(message, value=value)


def redact_value(redactor: Redactor, value: bytes, project: str | None = None) -> bytes:
    """Redact `value` as `Redactor.redact` does, and add the number of masks to the metric."""
    clean, masks = redactor.redact(value, project)
    _count(masks)
    return clean


def _count(masks: Mapping[str, int]) -> None:
    for kind, number in masks.items():
        metrics.REDACTED.labels(kind).inc(number)
