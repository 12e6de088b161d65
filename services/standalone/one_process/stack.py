"""All four services with one Kafka and one database, started and stopped together.

Start-up waits and retries during an outage of the database or the broker.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from fastapi import APIRouter

from agent_feedback_kit.deadlines import within
from contracts.topics import Consumer
from reporting.figures.counts import totals
from servicekit.definition import ServiceDefinition
from servicekit.log.producer import BatchProducer
from servicekit.log.records import Producer
from servicekit.service import Service, ServiceContext
from servicekit.settings import read_settings
from servicekit.web.auth import Authenticator
from standalone.embedded.backpressure import Backpressure, BackpressureProducer
from standalone.one_process.outcomes import StoredCounts
from standalone.programs import PROGRAMS
from standalone.waiting import once_answered

T = TypeVar("T")
SILENT_SECONDS: Final = 5.0
"""Time in seconds after which the user is told why the services are not ready."""


class Stack:
    """The services of one process, which are started and stopped concurrently.

    A stack can be started only once. `stop` also closes everything that a failed start has opened.

    Args:
        backpressure: Backpressure of the in-process log, or None if the log is a Kafka cluster.
        defaults: Values of settings by field, for services that have the field, unless their environment sets it.
    """

    def __init__(
        self,
        context: ServiceContext,
        database_url: str,
        backpressure: Backpressure | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        if backpressure is not None:
            context = _on_in_process_log(context, backpressure)
        self._context = context
        self._built: list[Service] = []
        self._backpressure = backpressure
        self._defaults = defaults or {}
        self.database_url = database_url
        self.services: dict[str, Service] = {}
        self.intake = BatchProducer(context.bootstrap, client_id="agent-feedback-intake")
        self.log: Producer = context.wrap_producer(self.intake)

    async def start(self) -> None:
        await together(*(self._build(program, self._settings(program)) for program in PROGRAMS))
        self.services = {service.name: service for service in self._built}
        if self._backpressure is not None:
            self._backpressure.follow(self.groups)
        await self.intake.start()
        await together(*(service.start() for service in self._built))

    async def _build(self, program: ServiceDefinition[Any], settings: Any) -> None:
        self._built.append(await program.build(settings, self._context))

    def _settings(self, program: ServiceDefinition[Any]) -> Any:
        fields = program.settings.model_fields
        addresses = {"broker": str(self._context.bootstrap)} | dict.fromkeys(
            ("database_url", "store_url"), self.database_url
        )
        settings = read_settings(program.settings, **{name: addresses[name] for name in addresses if name in fields})
        unset = {name for name in self._defaults if name in fields and name not in settings.model_fields_set}
        return settings.model_copy(update={name: self._defaults[name] for name in unset})

    @property
    def groups(self) -> list[Consumer]:
        """The consumer groups of all services."""
        return [sub.group for service in self.services.values() for sub in service.subscriptions]

    @property
    def authenticators(self) -> list[Authenticator]:
        """The authenticators for tokens that the services issue."""
        return [authenticator for service in self.services.values() for authenticator in service.authenticators]

    @property
    def routers(self) -> list[APIRouter]:
        """The HTTP routes of all services."""
        return [router for service in self.services.values() for router in service.routers]

    async def drain(self, seconds: float) -> bool:
        """Accept no more work, and wait up to `seconds` until all accepted work is processed.

        Returns True if everything was processed in time.
        """
        if self._backpressure is not None:
            self._backpressure.close()
        with contextlib.suppress(TimeoutError):
            await within(seconds, self.quiet())
            return True
        return False

    async def stop(self) -> None:
        if self._backpressure is not None:
            self._backpressure.stop()
        await self.intake.stop()
        await asyncio.gather(*(service.stop() for service in self._built))

    async def not_ready(self) -> str | None:
        """Return the reason why the stack is not ready, or None if it is."""
        if not self.services:
            return "the services are starting"
        for service in self.services.values():
            if why := await service.not_ready():
                return why
        return None

    @property
    def warnings(self) -> list[str]:
        """The warnings for the operator, one sentence each. A stack may be ready and still have warnings."""
        return [warning for service in self.services.values() for warning in service.warnings]

    @property
    def produced(self) -> Counter[str]:
        """The number of records that this process has written, by topic."""
        producers = [self.intake, *(service.batch_producer for service in self.services.values())]
        return sum((producer.produced for producer in producers), Counter[str]())

    async def stored(self) -> StoredCounts:
        """Count the stored data of all tenants."""
        bridge, feedback, reporting = (self.services[name].parts for name in ("chat_bridge", "feedback", "reporting"))
        return StoredCounts(await feedback.store.count(), await bridge.store.parked(), await totals(reporting.pool))

    async def quiet(self, progress: Callable[[int], None] = lambda _: None) -> None:
        """Wait until all consumer groups have read all records.

        This is the case when two consecutive checks find no unconsumed records, with no write between them.

        Args:
            progress: Called with the number of unconsumed records.
        """
        before: Counter[str] | None = None
        while True:
            lag = sum(await asyncio.gather(*(service.lag() for service in self.services.values())))
            progress(lag)
            written = self.produced
            if lag == 0 and written == before:
                return
            before = written if lag == 0 else None
            await asyncio.sleep(0.03)


async def start_stack(make: Callable[[], Stack], say: Callable[[str], None]) -> Stack:
    """Start a stack created by `make`, and return it when it is ready.

    If the database or the broker fails meanwhile, the stack is stopped and another one is started. All other errors are
    raised.
    """

    async def attempt() -> Stack:
        stack = make()
        try:
            await stack.start()
            await _ready(stack, say)
        except BaseException:
            await stack.stop()
            raise
        return stack

    return await once_answered(attempt, say)


async def _ready(stack: Stack, say: Callable[[str], None]) -> None:
    told = time.monotonic() + SILENT_SECONDS
    while why := await stack.not_ready():
        if time.monotonic() > told:
            say(f"Waiting: {why} ...")
            told = math.inf
        await asyncio.sleep(0.02)


def _on_in_process_log(context: ServiceContext, backpressure: Backpressure) -> ServiceContext:
    return replace(
        context,
        wrap_producer=lambda producer: context.wrap_producer(BackpressureProducer(producer, backpressure)),
        on_commit=backpressure.committed,
        room=backpressure.room,
        unread=backpressure.unread,
    )


async def together(*work: Coroutine[Any, Any, T]) -> list[T]:
    """Run coroutines concurrently and return their results.

    If one fails, the others are cancelled and its error is raised as it is.
    """
    # TaskGroup and gather would drop a cancellation if one of their tasks fails while it ends.
    tasks = [asyncio.create_task(coroutine) for coroutine in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        if pending := [task for task in tasks if not task.done()]:
            for task in pending:
                task.cancel()
            await asyncio.wait(pending)
    for task in done:
        task.result()
    return [task.result() for task in tasks]
