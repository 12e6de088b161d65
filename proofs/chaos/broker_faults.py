"""A run on three replicated brokers: the fault lane breaks one or two of them at a time."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, cast

from contracts.topics import CHAT_MESSAGE, EXPLICIT_RECEIVED, FEEDBACK_CREATED
from proofs.chaos.cluster import SERVICES, Cluster, KafkaWithListeners
from proofs.chaos.process import say
from proofs.chaos.progress import GROUPS
from proofs.chaos.service_faults import Scene, kill
from tests.support.three_brokers import NODES, ThreeBrokers

_LED = (CHAT_MESSAGE.name, EXPLICIT_RECEIVED.name, FEEDBACK_CREATED.name)
IN_SYNC_SECONDS = 120.0


class ReplicatedCluster(Cluster):
    """Three brokers and one database. Services reach the brokers directly."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.brokers = ThreeBrokers(folder / "brokers")
        # `run` only starts, stops and addresses the log, and these brokers can do that.
        self.kafka = cast(KafkaWithListeners, self.brokers)

    def broker(self, service: str) -> str:
        """Return the addresses of all brokers."""
        return self.brokers.bootstrap


async def leader_killed(brokers: ThreeBrokers, rng: random.Random) -> None:
    """Kill the leader of a partition under load, and start it again later."""
    node = await _leader(brokers, rng)
    brokers.nodes[node].kill()
    await asyncio.sleep(rng.uniform(1, 8))
    await brokers.nodes[node].start()


async def broker_isolated(brokers: ThreeBrokers, rng: random.Random) -> None:
    """Cut one broker off from the other two for longer than its session; clients still reach it."""
    brokers.isolate(rng.choice(NODES))
    await asyncio.sleep(rng.uniform(6, 15))
    brokers.heal()


async def broker_paused(brokers: ThreeBrokers, rng: random.Random) -> None:
    """Freeze the leader of a partition, whose connections stay open, until after its session."""
    node = await _leader(brokers, rng)
    brokers.nodes[node].pause()
    await asyncio.sleep(rng.uniform(5, 12))
    brokers.nodes[node].resume()


async def two_killed(brokers: ThreeBrokers, rng: random.Random) -> None:
    """Kill two brokers: the third one alone must not acknowledge anything."""
    pair = rng.sample(NODES, 2)
    for node in pair:
        brokers.nodes[node].kill()
    await asyncio.sleep(rng.uniform(2, 6))
    await asyncio.gather(*(brokers.nodes[node].start() for node in pair))


async def rolling_restart(brokers: ThreeBrokers, rng: random.Random) -> None:
    """Stop and start each broker in order, each after the replicas of the previous one are in sync."""
    for node in NODES:
        await brokers.nodes[node].stop()
        await brokers.nodes[node].start()
        await brokers.in_sync(IN_SYNC_SECONDS)


BrokerFault = Callable[[ThreeBrokers, random.Random], Coroutine[Any, Any, None]]
FAULTS: Mapping[str, BrokerFault] = {
    "leader_killed": leader_killed,
    "broker_isolated": broker_isolated,
    "broker_paused": broker_paused,
    "two_killed": two_killed,
    "rolling_restart": rolling_restart,
}


async def broker_lane(scene: Scene, until: float) -> None:
    """Inject every fault once in random order, then again; half of the time a service is killed as well."""
    brokers = cast(ReplicatedCluster, scene.cluster).brokers
    rng = random.Random(f"{scene.seed}-brokers")
    deck: list[str] = []
    await asyncio.sleep(5)
    while time.monotonic() < until:
        if not deck:
            deck = rng.sample(sorted(FAULTS), len(FAULTS))
        name = deck.pop()
        scene.note(name)
        say(name)
        async with scene.recovery.under(name, GROUPS):
            striking = asyncio.create_task(FAULTS[name](brokers, rng))
            if rng.random() < 0.5:
                await asyncio.sleep(rng.uniform(0, 3))
                service = rng.choice(SERVICES)
                say(f"kill {service}")
                await kill(scene, service)
            await striking
            await brokers.in_sync(IN_SYNC_SECONDS)
        await asyncio.sleep(rng.uniform(3, 8))


async def _leader(brokers: ThreeBrokers, rng: random.Random) -> int:
    leader = await brokers.leader_of(rng.choice(_LED), rng.randrange(6))
    return leader if leader > 0 else rng.choice(NODES)
