"""History of one seed. The same seed always gives exactly the same history."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import structlog

from proofs.simulation.faults import FEWEST, Operator
from proofs.simulation.history import Author, Said
from proofs.simulation.processes import Wiring
from proofs.simulation.promises import broken
from proofs.simulation.world import KINDS, MOST_SECONDS, World


class Stuck(Exception):
    """Every task waits, and no event is scheduled."""


class VirtualLoop(asyncio.BaseEventLoop):
    """Event loop that runs ready callbacks, then advances to the next scheduled one. No sockets, no threads."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._selector = self

    def time(self) -> float:
        return self._now

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise Stuck
        self._now += timeout
        return []

    def _process_events(self, events: list[Any]) -> None:
        return None

    def _write_to_self(self) -> None:
        return None


REAL = Wiring()


@dataclass(frozen=True)
class Verdict:
    """Outcome of a seed. `broken` names every violated invariant; `fingerprint` is the hash of the whole history."""

    seed: int
    events: int
    faults: dict[str, int]
    steps: int
    broken: tuple[str, ...]
    fingerprint: str


def run_seed(seed: int, wiring: Wiring = REAL) -> Verdict:
    """Run the history of `seed` and check the invariants at its end."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner, _silent():
        return runner.run(_live(seed, wiring))


async def _live(seed: int, wiring: Wiring) -> Verdict:
    rng = Random(seed)
    events = Author(rng).write()
    world = World(seed, rng)
    operator = Operator(world, wiring)
    differences: list[str] = []
    published = 0
    try:
        async with asyncio.timeout(MOST_SECONDS):
            await operator.start()
            published = await _publish(world, events)
            while operator.faults_left and world.time() < MOST_SECONDS / 2:
                await asyncio.sleep(1)
            await operator.heal()
            await _quiet(world, operator)
        differences = await broken(world, events)
    except (TimeoutError, Stuck):
        lags = {kind: group.lag() for kind, group in world.groups.items() if group.lag()}
        differences.append(f"P6/P7: it never came to rest; still to be read: {lags}")
    for process in operator.processes:
        process.kill()
    if sum(world.injected.values()) < FEWEST - 1 or published < 50:
        differences.append(f"the history is too tame: {published} events, {sum(world.injected.values())} faults")
    return Verdict(seed, published, dict(world.injected), world.steps, tuple(differences), world.fingerprint)


async def _publish(world: World, events: list[Said]) -> int:
    """Publish the events in changed order, some much earlier or later, some twice, with pauses."""
    rng = world.rng
    late = [
        (rng.uniform(0, len(events)) if rng.random() < 0.5 else number + rng.expovariate(0.15), number)
        for number in range(len(events))
    ]
    again = [(position + rng.uniform(0, 40), number) for position, number in late if rng.random() < 0.12]
    for _, number in sorted(late + again):
        world.log.append(events[number].message(rng))
        if rng.random() < 0.3:
            await asyncio.sleep(rng.expovariate(2))
    return len(late) + len(again)


async def _quiet(world: World, operator: Operator) -> None:
    """Wait until nothing is left to read for longer than a sweep takes, twice."""
    calm, before = 0, -1
    while calm < 3:
        await asyncio.sleep(6)
        size = sum(len(lane) for lane in world.log.lanes.values())
        idle = not any(group.lag() for group in world.groups.values())
        at_work = any(p.subscription.at_work for kind in KINDS for p in operator.alive(kind))
        calm = calm + 1 if idle and not at_work and size == before else 0
        before = size


@contextmanager
def _silent() -> Iterator[None]:
    """Suppress the log lines of thousands of injected faults."""
    kept = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**kept)
