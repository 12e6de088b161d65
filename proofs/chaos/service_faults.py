"""Faults of one service: of its process, and of its connections to the database and the broker, in the proxies.

Each is a coroutine that injects the fault and returns when it is over.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from proofs.chaos.callers import Callers
from proofs.chaos.cluster import SERVICES, Cluster
from proofs.chaos.fleet import Fleet
from proofs.chaos.plan import POINTS, Plan
from proofs.chaos.process import ServiceProcess
from proofs.chaos.proxy import Door
from proofs.chaos.publisher import Load, Writer
from proofs.chaos.recovery import Recovery

SESSION = 10.0
"""Session timeout in seconds, after which the broker reassigns a member's partitions."""


@dataclass
class Scene:
    """State that faults use and change."""

    cluster: Cluster
    fleet: Fleet
    load: Load
    callers: Callers
    writer: Writer
    racers: tuple[Writer, Writer]
    recovery: Recovery
    rng: random.Random
    seed: int
    faults: Counter[str] = field(default_factory=Counter)
    stops: list[float] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """Errors that a fault found, in words."""
    responses_cut: Counter[str] = field(default_factory=Counter)
    """Number of responses to writes that a service did not get, by fault and service."""
    locks: dict[str, asyncio.Lock] = field(default_factory=lambda: {name: asyncio.Lock() for name in SERVICES})
    """Locks that a fault holds while it controls a service's processes."""

    def note(self, fault: str) -> None:
        self.faults[fault] += 1


async def says(scene: Scene, name: str, true: Callable[[dict[str, Any]], bool], what: str, seconds: float) -> None:
    """Wait until the service's `/health/ready` meets a condition; otherwise note an error."""
    deadline, answer = time.monotonic() + seconds, ""
    while time.monotonic() < deadline:
        answer = await scene.fleet.main[name].ask("/health/ready")
        if answer.startswith("{") and true(json.loads(answer)):
            return
        await asyncio.sleep(0.5)
    scene.wrong.append(f"{name} did not say {what} within {seconds:.0f} s, but {answer}")


async def kill(scene: Scene, name: str) -> None:
    """Send SIGKILL at a random moment."""
    scene.fleet.main[name].kill()
    await asyncio.sleep(1)


async def kill_at_point(scene: Scene, name: str) -> None:
    """Send SIGKILL, and again at a given point of the next life."""
    fleet, rng = scene.fleet, scene.rng
    points = POINTS if name != "reporting" else ("before_commit", "in_rebalance")
    point = rng.choice(points)
    passes = 1 if point == "in_rebalance" else rng.randint(1, 15)
    await kill_and_replace(scene, name, replace(fleet.base, die_at=point, die_after=passes))
    process = fleet.main[name]
    guest: ServiceProcess | None = None
    if point == "in_rebalance":
        await _started(scene, process)
        guest = await _guest(scene, name)
    if not await _until(lambda: process.code is not None, 30):
        scene.trouble.append(f"{name} did not pass {point} in 30 s")
        process.kill()
    if guest is not None:
        await _leave(scene, guest)


async def kill_and_replace(scene: Scene, name: str, plan: Plan) -> None:
    fleet = scene.fleet
    fleet.hold(name)
    try:
        fleet.main[name].kill()
        fleet.replace(name, plan)
    finally:
        fleet.release(name)


async def term(scene: Scene, name: str) -> None:
    """Stop the service normally under load; its duration is limited."""
    scene.stops.append(await scene.fleet.main[name].terminate())


async def zombie(scene: Scene, name: str) -> None:
    """Pause the service past its session timeout while another takes over, then resume it."""
    guest = await _guest(scene, name)
    main = scene.fleet.main[name]
    main.signal(signal.SIGSTOP)
    await asyncio.sleep(SESSION + scene.rng.uniform(2, 6))
    main.signal(signal.SIGCONT)
    await asyncio.sleep(scene.rng.uniform(0, 3))
    await _leave(scene, guest)


async def join_and_leave(scene: Scene, name: str) -> None:
    """Start and stop additional processes every few seconds."""
    for _ in range(scene.rng.randint(1, 3)):
        guest = await _guest(scene, name)
        await asyncio.sleep(scene.rng.uniform(0.5, 3))
        await _leave(scene, guest)


async def wrong_clock(scene: Scene, name: str) -> None:
    """Kill the service and restart it with a clock that is an hour off, until the next restart."""
    ahead = scene.rng.choice((3_600.0, -3_600.0))
    await kill_and_replace(scene, name, replace(scene.fleet.base, clock_ahead=ahead))


async def stopped_minute(scene: Scene, name: str) -> None:
    """Pause the service for a minute without a replacement: the group is empty, and its member must return by
    itself."""
    main = scene.fleet.main[name]
    main.signal(signal.SIGSTOP)
    await asyncio.sleep(60)
    main.signal(signal.SIGCONT)


async def _guest(scene: Scene, name: str) -> ServiceProcess:
    guest = scene.fleet.spawn(name)
    scene.fleet.guests.append(guest)
    await _started(scene, guest)
    return guest


async def _started(scene: Scene, process: ServiceProcess) -> None:
    """Wait until the service runs; if it dies before, note that and continue without it."""
    try:
        await process.running(60)
    except RuntimeError as error:
        notes = scene.trouble if process.is_ended_by_harness or process.code in (None, -9) else scene.fleet.gave_up
        notes.append(str(error))


async def _leave(scene: Scene, guest: ServiceProcess) -> None:
    if scene.rng.random() < 0.3:
        guest.kill()
    else:
        scene.stops.append(await guest.terminate())
    scene.fleet.guests.remove(guest)


async def _until(true: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.1)
    return True


SHARE_CUT = 0.3
"""Share of responses to writes that `commit_cut` and `produce_cut` lose."""


async def slow_database(scene: Scene, name: str) -> None:
    """Delay everything that the service sends to its database by two seconds."""
    door = scene.cluster.doors[name]
    door.delay = 2.0
    await asyncio.sleep(scene.rng.uniform(5, 10))
    door.delay = 0.0


async def cut_database(scene: Scene, name: str) -> None:
    """Break the connections, and accept no new one for a moment."""
    door = scene.cluster.doors[name]
    door.shut = True
    door.cut()
    await asyncio.sleep(scene.rng.uniform(0, 4))
    door.shut = False


async def commit_cut(scene: Scene, name: str) -> None:
    """Lose the responses to some writes with their connections: the service cannot know that they are committed."""
    scene.responses_cut[f"commit_cut {name}"] += await lose_responses(
        scene.cluster.doors[name], scene.rng, scene.rng.uniform(4, 8)
    )


async def produce_cut(scene: Scene, name: str) -> None:
    """Lose the responses to some produce requests with their connections, after the broker has the records."""
    scene.responses_cut[f"produce_cut {name}"] += await lose_responses(
        scene.cluster.log_doors[name], scene.rng, scene.rng.uniform(4, 8)
    )


async def lose_responses(door: Door, rng: random.Random, seconds: float, share: float = SHARE_CUT) -> int:
    """Lose a share of the responses to writes behind `door` with their connections; return how many were lost."""
    before = door.withheld
    door.withholds = lambda: rng.random() < share
    await asyncio.sleep(seconds)
    door.withholds = None
    return door.withheld - before


async def cut_log(scene: Scene, name: str) -> None:
    """Break the connections to the broker, and accept no new one for up to a session timeout and four seconds."""
    door = scene.cluster.log_doors[name]
    door.shut = True
    door.cut()
    await asyncio.sleep(scene.rng.uniform(0, SESSION + 4))
    door.shut = False
