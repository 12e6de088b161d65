"""Fault injection: faults are drawn from the seed, counted, and ended before the invariants are checked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from contracts.topics import CHAT_TOPICS, Consumer
from proofs.simulation.fake_clients import FAILURES, Part
from proofs.simulation.processes import SESSION_SECONDS, Killed, Process, Unexpected, Wiring
from proofs.simulation.world import KINDS, World
from servicekit.log.records import Message

FEWEST, MOST = 6, 14
"""Minimum and maximum number of faults of one history."""
LAST_STEP = 400
"""Await point before which all faults are injected."""
HEARTBEAT_SECONDS = 3.0
VICTIM_STEPS = 60
"""Number of await points for which a fault waits for its process."""
MOST_COPIES = 3
"""Maximum number of processes of one service."""


VICTIMS: dict[Consumer, int] = {"chat_bridge": 3, "inference": 3, "feedback": 4, "reporting": 1}
PARTS: dict[Part, int] = {"store": 4, "log": 5, "commit": 1}
"""Weight, service and part of each fault: before and after a call of the store, a write or a commit."""


class Due(NamedTuple):
    """Fault that is injected into the wanted process from a step on, or into another if that process is missing."""

    step: int
    name: str
    kind: Consumer
    part: Part

    def strikes(self, step: int, kind: Consumer, part: Part) -> bool:
        return step >= self.step and ((kind, part) == (self.kind, self.part) or step >= self.step + VICTIM_STEPS)


class Operator:
    """Runner of the processes that injects the faults and manages the groups' membership like a cluster."""

    def __init__(self, world: World, wiring: Wiring) -> None:
        self.world = world
        self._wiring = wiring
        self.processes: list[Process] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self._rebalancing = {kind: asyncio.Lock() for kind in KINDS}
        rng = world.rng
        weights = [wiring.likelier.get(name, weight) for name, (weight, _) in _FAULTS.items()]
        names = rng.choices(list(_FAULTS), weights=weights, k=rng.randint(FEWEST, MOST))
        steps = sorted(rng.sample(range(5, LAST_STEP), len(names)))
        kinds = rng.choices(list(VICTIMS), weights=list(VICTIMS.values()), k=len(names))
        parts = rng.choices(list(PARTS), weights=list(PARTS.values()), k=len(names))
        self._due = [Due(*due) for due in zip(steps, names, kinds, parts, strict=True)]

    async def start(self) -> None:
        for kind in KINDS:
            for _ in range(self.world.rng.choice((1, 2, 2, 3))):
                self._add(kind)
            await self.rebalance(kind)

    @property
    def faults_left(self) -> int:
        return len(self._due)

    async def on_point(self, process: Process, label: str, part: Part) -> None:
        rng = self.world.rng
        if rng.random() < 0.3:
            await asyncio.sleep(rng.expovariate(10))
        due = self._due[0] if self._due else None
        if due and due.strikes(self.world.steps, process.kind, part):
            del self._due[0]
            self.world.injected[due.name] += 1
            self.world.note("fault", due.name)
            await asyncio.sleep(_FAULTS[due.name][1](self, process, part) or 0)

    def alive(self, kind: str) -> list[Process]:
        return [process for process in self.processes if process.kind == kind and process.alive]

    async def heal(self) -> None:
        """End all outages, pauses and vacancies."""
        self._due.clear()
        self.world.down_until.clear()
        while self._tasks:
            await asyncio.wait(self._tasks)
        for kind in KINDS:
            if not any(process.member for process in self.alive(kind)):
                self._add(kind)
                await self.rebalance(kind)

    async def rebalance(self, kind: Any) -> None:
        """Revoke the partitions of the running processes, and assign them again."""
        async with self._rebalancing[kind]:
            group = self.world.groups[kind]
            asleep = [p.frozen_until for p in self.alive(kind) if p.frozen_until > self.world.time()]
            if asleep:
                awake = max(asleep) - self.world.time() + self.world.rng.uniform(0, HEARTBEAT_SECONDS)
                self.later(awake, lambda: self.rebalance(kind))
            joining = [p for p in self.alive(kind) if p.frozen_until <= self.world.time()]
            for process in joining:
                await process.subscription.on_partitions_revoked(process.consumer.assignment())
            joining = [p for p in joining if p.alive and p.frozen_until <= self.world.time()]
            self.world.rng.shuffle(joining)
            group.share_out(process.consumer.membership for process in joining)
            self.world.note("rebalanced", kind, len(joining))
            for process in joining:
                await process.subscription.on_partitions_assigned(process.consumer.assignment())
            self.world.log.stir()

    def later(self, seconds: float, work: Callable[[], Any]) -> None:
        """Run `work` after so many seconds; `heal` waits for it."""

        async def wait() -> None:
            await asyncio.sleep(seconds)
            await work()

        task = asyncio.create_task(wait())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _add(self, kind: Any) -> Process:
        process = Process(kind, self.world, self._wiring, self.on_point)
        self.processes.append(process)
        process.run()
        return process

    def crash(self, process: Process, part: Part) -> None:
        kind = process.kind
        process.kill()
        self.later(self.world.rng.uniform(0.1, SESSION_SECONDS), lambda: self._come_back(kind))
        raise Killed

    async def _come_back(self, kind: Any) -> None:
        if len(self.alive(kind)) < MOST_COPIES:
            self._add(kind)
        await self.rebalance(kind)

    def fail_once(self, process: Process, part: Part) -> None:
        raise FAILURES[part]()

    def unexpected(self, process: Process, part: Part) -> None:
        """Raise an error that is neither the database's nor the log's: in the commit, or before it."""
        if part == "commit":
            raise Unexpected
        process.surprised = True

    def stall(self, process: Process, part: Part) -> float:
        """Slow a process down while its heartbeats continue; a rebalance may not wait for it that long."""
        return self.world.rng.uniform(0.5, 12)

    def freeze(self, process: Process, part: Part) -> None:
        """Pause a process past its session timeout, as SIGSTOP does: another takes over, then the first continues
        unaware."""
        seconds = self.world.rng.uniform(SESSION_SECONDS + 1, 40)
        process.frozen_until = self.world.time() + seconds
        kind = process.kind
        if len(self.alive(kind)) == 1:
            self._add(kind)
        self.later(SESSION_SECONDS, lambda: self.rebalance(kind))

    def join(self, process: Process, part: Part) -> None:
        kind = self.world.rng.choice(KINDS)
        self.later(0, lambda: self._come_back(kind))

    def leave(self, process: Process, part: Part) -> None:
        """Stop a process as SIGTERM does: it finishes its batch and leaves. It is restarted if it was the last one."""
        leaver = self.world.rng.choice([p for p in self.processes if p.alive])

        async def stop() -> None:
            await leaver.subscription.stop()
            leaver.kill()
            if not self.alive(leaver.kind):
                self._add(leaver.kind)
            await self.rebalance(leaver.kind)

        self.later(0, stop)

    def database_down(self, process: Process, part: Part) -> None:
        kind = self.world.rng.choice(KINDS)
        self.world.down_until[kind] = self.world.time() + self.world.rng.uniform(0.1, 60)

    def log_down(self, process: Process, part: Part) -> None:
        self.world.down_until["log"] = self.world.time() + self.world.rng.uniform(0.1, 60)

    def rewind(self, process: Process, part: Part) -> None:
        """Reset a group's offsets, as an operator does to have everything delivered again."""
        kind = self.world.rng.choice(KINDS)

        async def back() -> None:
            for each in self.alive(kind):
                await each.subscription.stop()
                each.kill()
            group = self.world.groups[kind]
            group.committed = {
                lane: self.world.rng.randint(0, offset) for lane, offset in sorted(group.committed.items())
            }
            self._add(kind)
            await self.rebalance(kind)

        self.later(0, back)

    def send_again(self, process: Process, part: Part) -> None:
        """Publish events again, as a chat service may do, on another partition."""
        entries = [entry for topic in CHAT_TOPICS for entry in self.world.log.of(topic.name)]
        for entry in self.world.rng.sample(entries, min(5, len(entries))):
            self.world.log.append(Message(entry.topic, None, entry.value, (), self.world.rng.randrange(6)))


_FAULTS: dict[str, tuple[int, Callable[[Operator, Process, Part], float | None]]] = {
    "crash": (6, Operator.crash),
    "fail once": (4, Operator.fail_once),
    "unexpected": (3, Operator.unexpected),
    "stall": (3, Operator.stall),
    "freeze": (5, Operator.freeze),
    "join": (2, Operator.join),
    "leave": (2, Operator.leave),
    "database down": (2, Operator.database_down),
    "log down": (2, Operator.log_down),
    "rewind": (1, Operator.rewind),
    "send again": (2, Operator.send_again),
}
