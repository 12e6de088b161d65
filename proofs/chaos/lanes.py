"""Fault schedule drawn from the seed: one lane for each service and one for faults that affect all of them."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from proofs.chaos.announce import say
from proofs.chaos.cluster import SERVICES
from proofs.chaos.connection_faults import commit_cut, cut_database, cut_log, produce_cut, slow_database
from proofs.chaos.database_faults import (
    cancelled_backends,
    database_full,
    database_outage,
    database_read_only,
    locked_tables,
)
from proofs.chaos.log_faults import compressed_bomb, records_deleted
from proofs.chaos.progress import GROUPS, Progress, groups_of
from proofs.chaos.service_faults import (
    Scene,
    join_and_leave,
    jumping_clock,
    kill,
    kill_at_point,
    stopped_minute,
    term,
    wrong_clock,
    zombie,
)
from proofs.chaos.shared_faults import SHARED_FAULTS, SharedFault, redelivery, topic_made_again

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


async def common_lane(scene: Scene, progress: Progress, until: float) -> None:
    """Inject faults that affect all services: redelivery, a recreated topic, then broker, database and concurrent
    writers."""
    lane = replace(scene, rng=random.Random(f"{scene.seed}-common"))
    rng = lane.rng
    began = time.monotonic()
    await asyncio.sleep(min(20, (until - began) / 6))
    once = ["redelivery", "topic_made_again"] if until - began >= 90 else []
    while time.monotonic() < until:
        if once:
            await _once(lane, once.pop(0), progress)
        else:
            name, strike, _ = rng.choices(SHARED_FAULTS, [weight for _, _, weight in SHARED_FAULTS])[0]
            lane.note(name)
            say(name)
            async with lane.recovery.under(name, GROUPS if name != "racing_producers" else []):
                await strike(lane)
        await _recovered(lane, GROUPS)
        await asyncio.sleep(rng.uniform(5, 15))


async def _once(lane: Scene, name: str, progress: Progress) -> None:
    lane.note(name)
    if name == "redelivery":
        service = lane.rng.choice(SERVICES)
        say(f"redelivery {service}")
        # Its duration depends on the number of records, so it is no recovery time.
        async with lane.locks[service], lane.recovery.under(name, groups_of(service), measured=False):
            await redelivery(lane, service)
    else:
        say(name)
        async with AsyncExitStack() as locks:
            for lock in lane.locks.values():
                await locks.enter_async_context(lock)
            async with lane.recovery.under(name, GROUPS):
                await topic_made_again(lane, progress)


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


def _on_one_service(strike: ServiceFault) -> Edge:
    return lambda scene, _: strike(scene, scene.rng.choice(SERVICES))


def _on_all(strike: SharedFault) -> Edge:
    return lambda scene, _: strike(scene)


Edge = Callable[[Scene, Progress], Awaitable[None]]
EDGES: dict[str, Edge] = {
    "database_read_only": _on_all(database_read_only),
    "database_full": _on_all(database_full),
    "cancelled_backends": _on_all(cancelled_backends),
    "locked_tables": _on_all(locked_tables),
    "database_outage": database_outage,
    "stopped_minute": _on_one_service(stopped_minute),
    "records_deleted": records_deleted,
    "compressed_bomb": compressed_bomb,
    "jumping_clock": _on_one_service(jumping_clock),
}
"""Faults that are injected only on request, because they take long, need privileges, or an idle system."""


async def _recovered(lane: Scene, groups: Sequence[str], limit: float = 60.0) -> None:
    """Wait until the groups have recovered, are under another fault, or the time limit has passed."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline and not all(lane.recovery.recovered(group) for group in groups):
        await asyncio.sleep(0.25)
