"""When which fault strikes: one lane for each service, one for what hits everybody, all drawn from the seed."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from chaos.cluster import SERVICES
from chaos.disasters import DISASTERS, redelivery, topic_made_again
from chaos.hurts import SERVICE_FAULTS, Scene
from chaos.progress import GROUPS, Progress, groups_of


def say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()


async def service_lane(scene: Scene, name: str, until: float) -> None:
    """Hurts one service, waits until it has recovered, and again."""
    lane = replace(scene, rng=random.Random(f"{scene.seed}-{name}"))
    rng = lane.rng
    await asyncio.sleep(rng.uniform(0, 5))
    while time.monotonic() < until:
        fault, hurt, _ = rng.choices(SERVICE_FAULTS, [weight for _, _, weight in SERVICE_FAULTS])[0]
        async with lane.locks[name], lane.recovery.under(fault, groups_of(name)):
            lane.note(fault)
            say(f"{fault} {name}")
            await hurt(lane, name)
        await _recovered(lane, groups_of(name))
        await asyncio.sleep(rng.uniform(0.5, 3))


async def common_lane(scene: Scene, progress: Progress, until: float) -> None:
    """Hurts everybody: everything comes again, a topic is made anew, then broker, database and racing writers."""
    lane = replace(scene, rng=random.Random(f"{scene.seed}-common"))
    rng = lane.rng
    began = time.monotonic()
    await asyncio.sleep(min(20, (until - began) / 6))
    once = ["redelivery", "topic_made_again"] if until - began >= 90 else []
    while time.monotonic() < until:
        if once:
            await _once(lane, once.pop(0), progress)
        else:
            name, disaster, _ = rng.choices(DISASTERS, [weight for _, _, weight in DISASTERS])[0]
            lane.note(name)
            say(name)
            async with lane.recovery.under(name, GROUPS if name != "racing_producers" else []):
                await disaster(lane)
        await _recovered(lane, GROUPS)
        await asyncio.sleep(rng.uniform(5, 15))


async def _once(lane: Scene, name: str, progress: Progress) -> None:
    lane.note(name)
    if name == "redelivery":
        service = lane.rng.choice(SERVICES)
        say(f"redelivery {service}")
        # How long it takes depends on how much has been written, so that it says nothing about recovery.
        async with lane.locks[service], lane.recovery.under(name, groups_of(service), measured=False):
            await redelivery(lane, service)
    else:
        say(name)
        async with AsyncExitStack() as held:
            for lock in lane.locks.values():
                await held.enter_async_context(lock)
            async with lane.recovery.under(name, GROUPS):
                await topic_made_again(lane, progress)


async def _recovered(lane: Scene, groups: Sequence[str], limit: float = 60.0) -> None:
    """Go on once the groups have recovered, or are under another fault, or too much time has passed."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline and not all(lane.recovery.recovered(group) for group in groups):
        await asyncio.sleep(0.25)
