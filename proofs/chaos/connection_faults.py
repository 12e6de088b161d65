"""Faults of the connections between one service and its database or the broker, injected by the proxies between
them."""

from __future__ import annotations

import asyncio
import random

from proofs.chaos.proxy import Door
from proofs.chaos.service_faults import SESSION, Scene

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
