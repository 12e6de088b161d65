"""Bugs that the harness must detect. Each is a plausible mistake; none of them is shipped."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from itertools import count
from typing import Any

from aiokafka.producer.sender import SendProduceReqHandler
from faststream import AckPolicy

import servicekit.log.subscriber
from contracts.topics import FEEDBACK_CREATED
from proofs.chaos.plan import Bug
from servicekit.errors import LogUnavailable
from servicekit.log.dead_letters import letters_of
from servicekit.log.delivery import Delivery
from servicekit.log.handler import Slot
from servicekit.log.records import Message, Producer, Written
from servicekit.log.settings import SUBSCRIBER_SETTINGS
from servicekit.service import Service
from servicekit.web.log_writer import LogWriter

RESEND_SECONDS = 2.0


def plant(bug: Bug, service: Service) -> None:
    """Put `bug` into a service that was built and has not started."""
    match bug:
        case "auto_commit":
            vars(servicekit.log.subscriber)["SUBSCRIBER_SETTINGS"] = {
                **SUBSCRIBER_SETTINGS,
                "ack_policy": AckPolicy.ACK_FIRST,
                "auto_commit_interval_ms": 200,
            }
        case "parser_raises_on_header":
            servicekit.log.subscriber._raw_parser = _parser_that_raises(servicekit.log.subscriber._raw_parser)
        case "forget_failed_dead_letter":
            for subscription in service.subscriptions:
                _forget_letters(subscription.delivery)
        case "accept_without_write":
            if service.name == "chat_bridge":
                _skip_writes()
        case "resend_later":
            if service.name == "feedback":
                _resend_later(service)


def _parser_that_raises(parse: Any) -> Any:
    async def parser(batch: Any) -> Any:
        for record in batch:
            for _, value in record.headers:
                value.decode()
        return await parse(batch)

    return parser


def _forget_letters(delivery: Delivery) -> None:
    outcomes = delivery.outcomes

    async def write_letters(slots: Sequence[Slot], _: object) -> None:
        for chunk in letters_of([slot for slot in slots if slot.is_dead_letter], delivery.group):
            with contextlib.suppress(Exception):
                await outcomes.producer.send([letter.message for letter in chunk])

    vars(outcomes)["write_letters"] = write_letters


def _skip_writes() -> None:
    """Accept every tenth HTTP request without writing it."""
    write, numbers = LogWriter.send, count(1)

    async def write_most(self: LogWriter, messages: Sequence[Message]) -> Sequence[Written]:
        if next(numbers) % 10 == 0:
            return [Written(message.topic, 0, 0) for message in messages]
        return await write(self, messages)

    setattr(LogWriter, "send", write_most)  # noqa: B010 # mypy lets nobody assign a method


def _handler_of(service: Service) -> Any:
    """Return the handler of the group with the service's name."""
    handler: Any = next(s for s in service.subscriptions if s.group == service.name).delivery._handler
    return handler


def _resend_later(service: Service) -> None:
    """Write messages without a response again in the background, while the service continues as if it had one."""
    can_retry = SendProduceReqHandler._can_retry

    def unless_announced(self: Any, error: Exception, batch: Any) -> bool:
        return batch.tp.topic != FEEDBACK_CREATED.name and bool(can_retry(self, error, batch))

    setattr(SendProduceReqHandler, "_can_retry", unless_announced)  # noqa: B010 # mypy lets nobody assign a method
    handler = _handler_of(service)
    handler._producer = ResendsLater(handler._producer)


class ResendsLater:
    """Producer that takes a lost response for a lost write, and repeats the write after later ones."""

    def __init__(self, inner: Producer) -> None:
        self._inner = inner
        self._resending: set[asyncio.Task[None]] = set()

    async def send(self, messages: Sequence[Message]) -> Sequence[Written]:
        try:
            return await self._inner.send(messages)
        except LogUnavailable:
            task = asyncio.create_task(self._resend(messages))
            self._resending.add(task)
            task.add_done_callback(self._resending.discard)
            return [Written(message.topic, 0, -1) for message in messages]

    async def _resend(self, messages: Sequence[Message]) -> None:
        await asyncio.sleep(RESEND_SECONDS)
        while True:
            with contextlib.suppress(LogUnavailable):
                await self._inner.send(messages)
                return
