"""Running service: subscriptions, dependencies, periodic work, start and stop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import asyncpg
from fastapi import APIRouter
from faststream.kafka import KafkaBroker

from agent_feedback_kit.deadlines import within
from contracts.erasure import Person
from contracts.feedback import ServiceName
from contracts.topics import Consumer, Topic
from redaction.redactor import Redactor
from servicekit import metrics
from servicekit.clock import Clock, SystemClock
from servicekit.db.database import Database, ErasureLedger
from servicekit.db.pools import Plan, open_pool, open_reads
from servicekit.db.retention import SWEEP_SECONDS, Expiry, Retention
from servicekit.log.broker import Unread, build_broker
from servicekit.log.cluster import Bootstrap
from servicekit.log.delivery import Delivery, GroupOutcomes
from servicekit.log.group_progress import GroupProgress
from servicekit.log.handler import Erase, ErasingHandler, Handler, Slot, TopicHandlers
from servicekit.log.outcome import Observer, Outcome, RecordIds
from servicekit.log.producer import BatchProducer
from servicekit.log.records import Producer
from servicekit.log.redacting import RedactingProducer, configured_redactor, redact_value
from servicekit.log.settings import CLIENT_PREFIX, LETTER_COMPRESSION
from servicekit.log.subscriber import Committed, Subscription
from servicekit.periodic import Periodic, PeriodicTasks
from servicekit.pseudonyms import ErasureSettings, Pseudonyms
from servicekit.settings import ReadSettings, read_settings
from servicekit.web.auth import Authenticator
from servicekit.web.log_writer import LogWriter

if TYPE_CHECKING:
    from servicekit.otlp import ServiceTracing, Traces

PROBE_SECONDS = 2.0


@dataclass(frozen=True)
class ServiceContext:
    """Resources that every service gets when it is created.

    An event is rejected if its time is too far ahead of the log time, or of `reference_time` (in microseconds) if that
    is set. `room` returns True if the log has room for the given number of bytes; a log on disk always has room.
    `unread` waits for records in a log whose fetches do not wait for them.
    """

    bootstrap: Bootstrap
    clock: Clock = field(default_factory=SystemClock)
    reference_time: int | None = None
    observers: Sequence[Observer] = ()
    say: Callable[[str], None] = lambda _: None
    wrap_producer: Callable[[Producer], Producer] = lambda producer: producer
    on_commit: Committed = lambda _group, _offsets: None
    room: Callable[[int], bool] = lambda _: True
    unread: Unread | None = None
    traces: Traces | None = None


NoteLetters = Callable[[Sequence[tuple[str, RecordIds | None, Outcome]]], Awaitable[None]]


class Service:
    """Running service with its subscriptions, producer, resources, periodic work and HTTP routes."""

    def __init__(self, name: ServiceName, context: ServiceContext) -> None:
        self.name: ServiceName = name
        self.context = context
        self.tracing: ServiceTracing | None = None if context.traces is None else context.traces.of(name)
        """Traces of this service, None while they are off."""
        self.batch_producer = BatchProducer(context.bootstrap, client_id=f"{CLIENT_PREFIX}{name}")
        self.producer: Producer = context.wrap_producer(self.batch_producer)
        # Dead letters have their own producer, so that a failed dead letter does not break the producer of all other
        # records.
        self._letters = BatchProducer(
            context.bootstrap, client_id=f"{CLIENT_PREFIX}{name}-letters", compression=LETTER_COMPRESSION
        )
        self.subscriptions: list[Subscription] = []
        self.routers: list[APIRouter] = []
        self.parts: Any = None
        """Resources of the service, which its definition has opened."""
        self.note_dead_letters: NoteLetters | None = None
        """Function that is called with the topic, ids and outcome of each record whose dead letter has been written.
        Must not raise."""
        self.watched: list[Callable[[], Sequence[str]]] = []
        """Additional sources of warnings for operators."""
        self.authenticators: list[Authenticator] = []
        """Authenticators of tokens that this service issues, for all routes of the process."""
        self.resources = AsyncExitStack()
        self.periodics = PeriodicTasks(context.clock)
        self._probes: list[Callable[[], Awaitable[object]]] = []
        self._broker: KafkaBroker | None = None
        self.started = False

    def consume(
        self, group: Consumer, handler: Handler | Mapping[Handler, Collection[Topic]], *, is_prompt: bool = False
    ) -> None:
        """Subscribe `group` when the service starts, and pass its batches to `handler` or to the topics' handlers.

        A prompt group waits only 40 % of the usual time for a batch to grow.
        """
        handler = handler if isinstance(handler, Handler) else TopicHandlers(handler)
        delivery = Delivery(
            group,
            handler,
            self.context.wrap_producer(self._letters),
            clock=self.context.clock,
            reference_time=self.context.reference_time,
            observers=self.context.observers,
            probe=self._probe,
            note_dead_letters=self._tell_dead_letters,
            redactor=self.redactor,
            tracing=self.tracing,
        )
        self.subscriptions.append(Subscription(delivery, self.context.clock, self.context.on_commit, is_prompt))

    def erasing(
        self,
        handler: Handler,
        pool: asyncpg.Pool,
        erase: Erase,
        receipts: Producer | None = None,
        *,
        is_guarded: bool = False,
    ) -> ErasingHandler:
        """Wrap `handler` so that it also carries out erasures, with the erasure ledger in `pool`.

        Args:
            receipts: The producer of erasure confirmations; by default, the service's own producer.
            is_guarded: True if the handler's store checks the ledger in its writes (`ErasingHandler`).
        """
        producer = self.producer if receipts is None else receipts
        return ErasingHandler(handler, ErasureLedger(pool), erase, producer, self.name, is_guarded=is_guarded)

    def subscription(self, group: Consumer) -> Subscription:
        """Return the subscription of `group`. Raises StopIteration if the service does not consume that group."""
        return next(subscription for subscription in self.subscriptions if subscription.group == group)

    def progress(
        self, group: Consumer, topics: Collection[Topic] | None = None, *, seconds: float = 5.0
    ) -> GroupProgress:
        """Return the progress of `group` on `topics`, by default on all of its topics.

        A request to the log takes at most `seconds`.
        """
        subscription = self.subscription(group)
        topics = subscription.delivery.topics if topics is None else topics
        progress = GroupProgress(subscription, topics, self.context.bootstrap, self.context.clock, seconds=seconds)
        self.resources.push_async_callback(progress.close)
        return progress

    def request_producer(self, seconds: float) -> Producer:
        """Return the producer for HTTP routes, which waits at most `seconds` for the log's acknowledgement."""
        redacting = RedactingProducer(self.producer, self.redactor)
        return LogWriter(redacting, room=self.context.room, seconds=seconds)

    @cached_property
    def redactor(self) -> Redactor:
        """Redactor for texts that enter the service. Raises StartError if its settings are invalid."""
        return configured_redactor()

    def redact(self, value: bytes, project: str | None = None) -> bytes:
        """Return the JSON `value` of an HTTP request, redacted by the rules of `project` (`tenant/project`)."""
        return redact_value(self.redactor, value, project)

    @cached_property
    def pseudonym_of(self) -> Callable[[Person], str]:
        """Function that returns the id to keep in an erased person's remaining rows.

        That id is the person's own id or a pseudonym. Raises StartError if the settings are invalid.
        """
        return Pseudonyms(read_settings(ErasureSettings))

    def late_outcomes(self, group: Consumer) -> GroupOutcomes:
        """Return the recorder for outcomes in `group` that become known only after a record's batch.

        It also passes dead letters to `note_dead_letters`.
        """
        return GroupOutcomes(group, self.producer, self.context.observers, self._tell_dead_letters)

    async def _tell_dead_letters(self, refused: Sequence[Slot]) -> None:
        if self.note_dead_letters is not None:
            await self.note_dead_letters(
                [(slot.topic, slot.ids, slot.outcome) for slot in refused if slot.outcome is not None]
            )

    def every(self, name: str, seconds: float, work: Callable[[], Awaitable[object]], delay: float = 0.0) -> None:
        """Run `work` every `seconds`, for the first time after `delay` seconds."""
        self.periodics.all.append(Periodic(name, seconds, work, delay))

    def wake(self, name: str) -> None:
        """Run the periodic work `name` immediately. If it is running already, it runs again afterwards."""
        self.periodics.wake(name)

    def expire(self, pool: asyncpg.Pool, expiries: Sequence[Expiry]) -> None:
        """Delete expired rows from the tables in `pool` every hour."""
        retention = Retention(self.name, pool, self.context.clock, expiries)
        self.every("retention", SWEEP_SECONDS, retention.sweep, delay=SWEEP_SECONDS)

    async def open_database(
        self,
        url: str,
        sql: str,
        *,
        size: int = 4,
        init: Callable[..., Coroutine[Any, Any, None]] | None = None,
    ) -> Database:
        """Open a connection pool for the service's schema.

        The service is ready only while the database responds.

        Args:
            size: The maximum number of connections.
            init: A function that is called once with each new connection.
        """
        pool = await open_pool(url, self.name, sql, size=size, say=self.context.say, init=init, plan="once")
        self.resources.push_async_callback(pool.close)
        self.probe(partial(pool.execute, "select 1"))
        return pool

    async def open_reads(
        self, settings: ReadSettings, sql: str, *, plan: Plan = "automatic", replica: str | None = None
    ) -> Database:
        """Open a pool for HTTP reads, each restricted to one tenant (see `servicekit.db.pools.open_reads`)."""
        pool = await open_reads(settings, self.name, sql, say=self.context.say, plan=plan, replica=replica)
        self.resources.push_async_callback(pool.close)
        return pool

    def probe(self, probe: Callable[[], Awaitable[object]]) -> None:
        """Register a dependency check, which must raise an error if the dependency does not respond."""
        self._probes.append(probe)

    async def start(self) -> None:
        await self.batch_producer.start()
        self._broker = build_broker(
            self.context.bootstrap,
            client_id=f"{CLIENT_PREFIX}{self.name}",
            subscriptions=self.subscriptions,
            unread=self.context.unread,
        )
        await self._broker.start()
        self.every("lag", 5.0, self.lag)
        self.periodics.start()
        self.started = True

    async def stop(self) -> None:
        """Finish the current batches, leave the consumer groups, and close everything within 20 s."""
        self.started = False
        await self.periodics.stop()
        await asyncio.gather(*(subscription.stop() for subscription in self.subscriptions))
        if self._broker is not None:
            with contextlib.suppress(TimeoutError):
                await within(4, self._broker.stop())
        with contextlib.suppress(TimeoutError):
            await within(3, asyncio.gather(self.batch_producer.stop(), self._letters.stop()))
        with contextlib.suppress(TimeoutError):
            await within(3, self.resources.aclose())

    async def _probe(self) -> None:
        for probe in self._probes:
            await probe()

    async def lag(self) -> int:
        """Return the number of uncommitted records in the partitions that this process reads."""
        return sum(await asyncio.gather(*(subscription.lag() for subscription in self.subscriptions)))

    async def not_ready(self) -> str | None:
        """Return the reason why the service is not ready, or None if it is."""
        why = await self._why_not_ready()
        metrics.READY.labels(self.name).set(why is None)
        return why

    @property
    def warnings(self) -> list[str]:
        """Warnings for operators, one sentence each. They do not affect readiness."""
        of_groups = [warning for subscription in self.subscriptions for warning in subscription.warnings]
        of_tasks = [f"{self.name}: {stuck}" for stuck in self.periodics.stuck()]
        return of_groups + [warning for warnings in self.watched for warning in warnings()] + of_tasks

    async def _why_not_ready(self) -> str | None:
        if not self.started:
            return f"{self.name} is starting"
        for subscription in self.subscriptions:
            if why := subscription.not_ready():
                return f"{self.name}: the group {subscription.group} is not ready: {why}"
        for probe in self._probes:
            try:
                await within(PROBE_SECONDS, probe())
            except Exception as error:
                return f"{self.name}: its database does not answer ({type(error).__name__})"
        return None
