"""Fault schedule drawn from the seed: one lane for each service and one for faults that affect all of them."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from proofs.chaos.cluster import SERVICES
from proofs.chaos.process import say
from proofs.chaos.progress import GROUPS, Progress, groups_of
from proofs.chaos.service_faults import (
    Scene,
    commit_cut,
    cut_database,
    cut_log,
    join_and_leave,
    kill,
    kill_at_point,
    produce_cut,
    slow_database,
    stopped_minute,
    term,
    wrong_clock,
    zombie,
)
from proofs.chaos.shared_faults import SHARED_FAULTS, database_outage, locked_tables, redelivery

ServiceFault = Callable[[Scene, str], Awaitable[None]]
SERVICE_FAULTS: tuple[tuple[str, ServiceFault, float], ...] = (
    ("kill", kill, 40),
    ("kill_at_point", kill_at_point, 20),
    ("term", term, 10),
    ("join_and_leave", join_and_leave, 10),
    ("zombie", zombie, 6),
    ("slow_database", slow_database, 7),
    ("cut_database", cut_database, 4),
    ("commit_cut", commit_cut, 10),
    ("produce_cut", produce_cut, 10),
    ("cut_log", cut_log, 4),
    ("wrong_clock", wrong_clock, 3),
)
"""Name, function, and weight of each fault of one service."""


async def service_lane(scene: Scene, name: str, until: float) -> None:
    """Inject faults into one service, each after it has recovered from the previous one."""
    lane = replace(scene, rng=random.Random(f"{scene.seed}-{name}"))
    rng = lane.rng
    await asyncio.sleep(rng.uniform(0, 5))
    while time.monotonic() < until:
        fault, strike, _ = rng.choices(SERVICE_FAULTS, [weight for _, _, weight in SERVICE_FAULTS])[0]
        async with lane.locks[name], lane.recovery.under(fault, groups_of(name)):
            lane.note(fault)
            say(f"{fault} {name}")
            await strike(lane, name)
        await _recovered(lane, groups_of(name))
        await asyncio.sleep(rng.uniform(0.5, 3))


async def common_lane(scene: Scene, until: float) -> None:
    """Inject faults that affect all services: redelivery, then those of broker and database, and concurrent writers."""
    lane = replace(scene, rng=random.Random(f"{scene.seed}-common"))
    rng = lane.rng
    began = time.monotonic()
    await asyncio.sleep(min(20, (until - began) / 6))
    if until - began >= 90:
        service = rng.choice(SERVICES)
        say(f"redelivery {service}")
        lane.note("redelivery")
        # Its duration depends on the number of records, so it is no recovery time.
        async with lane.locks[service], lane.recovery.under("redelivery", groups_of(service), measured=False):
            await redelivery(lane, service)
        await _recovered(lane, GROUPS)
    while time.monotonic() < until:
        name, strike, _ = rng.choices(SHARED_FAULTS, [weight for _, _, weight in SHARED_FAULTS])[0]
        lane.note(name)
        say(name)
        async with lane.recovery.under(name, GROUPS if name != "racing_producers" else []):
            await strike(lane)
        await _recovered(lane, GROUPS)
        await asyncio.sleep(rng.uniform(5, 15))


async def edge_lane(scene: Scene, progress: Progress, names: Sequence[str]) -> None:
    """Inject the faults `names` one after another, without others at the same time."""
    for name in names:
        lane = replace(scene, rng=random.Random(f"{scene.seed}-{name}"))
        strike = EDGES[name]
        lane.note(name)
        say(name)
        async with lane.recovery.under(name, GROUPS):
            try:
                await strike(lane, progress)
            except Exception as error:
                scene.wrong.append(f"{name} ended with {error!r}")
        await _recovered(lane, GROUPS)


Edge = Callable[[Scene, Progress], Awaitable[None]]
EDGES: dict[str, Edge] = {
    "locked_tables": locked_tables,
    "database_outage": database_outage,
    "stopped_minute": lambda scene, _: stopped_minute(scene, scene.rng.choice(SERVICES)),
}
"""Faults that are injected only on request, because they take long."""


async def _recovered(lane: Scene, groups: Sequence[str], limit: float = 60.0) -> None:
    """Wait until the groups have recovered, are under another fault, or the time limit has passed."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline and not all(lane.recovery.recovered(group) for group in groups):
        await asyncio.sleep(0.25)
