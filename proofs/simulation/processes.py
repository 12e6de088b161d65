"""A service process over the fakes: it consumes, sweeps, pauses, dies and restarts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from chat_bridge.handlers import ChatHandler
from chat_bridge.parking import Parking
from contracts.erasure import ErasedAt, Erasure, Person
from contracts.feedback import ServiceName
from contracts.instants import DAY
from contracts.topics import Consumer
from contracts.versions import MessageEvent
from feedback.handlers import FEEDBACK_TOPICS, FeedbackHandler
from feedback.reward import DEFAULT_REWARDS
from feedback.turns import TURN_TOPICS
from inference.handlers import ConversationHandler
from inference.judging import Judging
from proofs.simulation.fake_clients import (
    FAILURES,
    FakeConsumer,
    FaultyFeedbackStore,
    FaultyStore,
    Part,
    SimulatedProducer,
)
from proofs.simulation.stub_detector import StubDetector
from proofs.simulation.world import EPOCH_SECONDS, World
from reporting.read_models.handlers import ProjectionHandler
from servicekit.errors import LogUnavailable
from servicekit.log.backoff import Backoff
from servicekit.log.delivery import Delivery, GroupOutcomes
from servicekit.log.handler import ErasingHandler, Handler, TopicHandlers
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received
from servicekit.log.subscriber import Subscription

SWEEP_SECONDS = 5.0
SESSION_SECONDS = 10.0
"""Session timeout of a group member, in seconds."""


class Killed(BaseException):
    """Death of the process. Nothing in it runs any more, not even handlers that catch every Exception."""


class Unexpected(Exception):
    """Failure that no rule of the simulation provides for."""


class SimulatedSubscription(Subscription):
    """The real subscription on a given consumer."""

    def __init__(self, delivery: Delivery, clock: Any, consumer: FakeConsumer) -> None:
        super().__init__(delivery, clock)
        self._given = consumer
        self.generation = -1

    @property
    def consumer(self) -> Any:
        return self._given

    async def take(self, batch: Any) -> None:
        self.generation = self._given.membership.generation
        await self._on_batch(batch)

    @property
    def at_work(self) -> bool:
        return self._busy.locked()


@dataclass(frozen=True)
class Wiring:
    """Parts that a history is built from; a self-check replaces one of them with a broken one.

    `likelier` changes the weights of faults.
    """

    chat_events: type[ChatHandler] = ChatHandler
    parking: type[Parking] = Parking
    feedback_events: type[FeedbackHandler] = FeedbackHandler
    delivery: type[Delivery] = Delivery
    subscription: type[SimulatedSubscription] = SimulatedSubscription
    producer: type[SimulatedProducer] = SimulatedProducer
    store: Callable[[Consumer, Any], Any] = lambda _, store: store
    sweeps: bool = True
    likelier: Mapping[str, int] = field(default_factory=dict)


NOTHING_CUT_OFF = dict.fromkeys(("crash", "fail once", "unexpected", "leave", "database down", "log down", "rewind"), 0)
"""Weights without the faults that interrupt work."""
WITHOUT_SWEEP = Wiring(sweeps=False, likelier=NOTHING_CUT_OFF)
"""Histories without a sweep: every wait must be ended by the later of two events."""


@dataclass
class SkewedClock:
    """Clock whose wall time is wrong by `skew` microseconds; no invariant may depend on it."""

    world: World
    skew: int

    def now(self) -> int:
        return (EPOCH_SECONDS * 1_000_000) + int(self.world.time() * 1_000_000) + self.skew

    def monotonic(self) -> float:
        return self.world.time()


OnPoint = Callable[["Process", str, Part], Coroutine[Any, Any, None]]


@dataclass
class Process:
    """One running copy of a service. At every await point `on_point` determines the fault."""

    kind: Consumer
    world: World
    wiring: Wiring
    on_point: OnPoint
    alive: bool = True
    surprised: bool = False
    frozen_until: float = 0.0
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        world = self.world
        self.consumer = FakeConsumer(world.groups[self.kind], self.point, world.rng)
        self.clock = SkewedClock(world, world.rng.choice((0, 0, -3_600_000_000, 3_600_000_000)))
        self.producer = self.wiring.producer(world.log, self.point, world.rng)
        self.sweep: Callable[[], Coroutine[Any, Any, None]] | None = None
        delivery = self.wiring.delivery(
            self.kind,
            _HANDLERS[self.kind](self),
            self.producer,
            clock=self.clock,
            observers=[self._surprise, world.observe],
            backoff=Backoff(pick=world.rng.uniform),
            probe=partial(self.point, "probe", "store"),
        )
        self.subscription = self.wiring.subscription(delivery, self.clock, self.consumer)

    def store(self, store: Any, faulty: type[FaultyStore] = FaultyStore) -> Any:
        return faulty(self.wiring.store(self.kind, store), self.point)

    def run(self) -> None:
        """Start consuming, and sweeping if the service does."""
        self.tasks.append(asyncio.create_task(self._until_killed(self._consume())))
        if self.sweep is not None and self.wiring.sweeps:
            self.tasks.append(asyncio.create_task(self._until_killed(self._sweep(self.sweep))))

    async def point(self, label: str, part: Part) -> None:
        """Pass an await point. Raises Killed if the process is dead, or the error of `part` if that is unavailable."""
        self._breathe()
        self.world.steps += 1
        self.world.note(self.kind, label)
        await self.on_point(self, label, part)
        while self.frozen_until > self.world.time():
            await asyncio.sleep(self.frozen_until - self.world.time())
        self._breathe()
        if self.world.down_until.get(self.kind if part == "store" else "log", 0) > self.world.time():
            raise FAILURES[part]()

    def kill(self) -> None:
        """End the process as SIGKILL does. One that no longer holds its partitions may leave a stale announcement as
        the last."""
        self.alive = False
        group = self.world.groups[self.kind]
        if self.subscription.at_work and self.subscription.generation != group.generation:
            self.world.unmended = True
        for task in self.tasks:
            if task is not asyncio.current_task():
                task.cancel()

    @property
    def member(self) -> bool:
        return self.consumer.membership in self.world.groups[self.kind].members

    def _surprise(self, _: object) -> None:
        """Fail in an observer, between the work and the commit."""
        if self.surprised:
            self.surprised = False
            raise Unexpected

    def _breathe(self) -> None:
        if not self.alive:
            raise Killed

    async def _consume(self) -> None:
        while True:
            batch = await self.consumer.getmany()
            self._breathe()
            await self.subscription.take(batch)

    async def _sweep(self, sweep: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            with contextlib.suppress(OSError, LogUnavailable):
                await sweep()
            await asyncio.sleep(SWEEP_SECONDS)

    async def _until_killed(self, work: Coroutine[Any, Any, None]) -> None:
        with contextlib.suppress(Killed):
            await work


async def _erase_nothing(_: ErasedAt) -> int:
    return 0


class NoErasures:
    """Ignores erasures, because the histories have no invariant about the indexes after one."""

    async def note(self, erasures: Collection[Erasure]) -> set[Person]:
        return {erasure.person for erasure in erasures}

    async def erased_at(self, people: Collection[Person]) -> ErasedAt:
        return {}


class NoRegistry(Handler):
    """Registers no turns, because no invariant of the histories reads the registry."""

    async def handle(self, batch: Sequence[Received[MessageEvent]]) -> Sequence[Outcome]:
        return [Outcome.UNCHANGED] * len(batch)


def _erasing(process: Process, service: ServiceName, handler: Handler) -> Handler:
    return ErasingHandler(handler, NoErasures(), _erase_nothing, process.producer, service)


def _bridge(process: Process) -> Handler:
    store = process.store(process.world.bridge)
    late = GroupOutcomes("chat_bridge", process.producer, [process.world.observe])
    parking = process.wiring.parking(store, process.producer, process.clock, 7 * DAY, late)
    process.sweep = parking.sweep
    events = process.wiring.chat_events(store, process.producer, parking, process.clock)
    return _erasing(process, "chat_bridge", events)


def _inference(process: Process) -> Handler:
    store = process.store(process.world.inference)
    detector: Any = StubDetector()  # in place of a class, not of a protocol
    return _erasing(process, "inference", ConversationHandler(store, Judging(store, process.producer, detector)))


def _feedback(process: Process) -> Handler:
    store = process.store(process.world.feedback, FaultyFeedbackStore)
    events = process.wiring.feedback_events(store, process.producer, DEFAULT_REWARDS)
    return TopicHandlers({NoRegistry(): TURN_TOPICS, events: FEEDBACK_TOPICS})


def _reporting(process: Process) -> Handler:
    return _erasing(process, "reporting", ProjectionHandler(process.store(process.world.reporting)))


_HANDLERS: Mapping[str, Callable[[Process], Handler]] = {
    "chat_bridge": _bridge,
    "inference": _inference,
    "feedback": _feedback,
    "reporting": _reporting,
}
