"""Faults that affect all services: the broker, the database, the log, and concurrent writers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.structs import OffsetAndMetadata

from contracts.topics import consumed_by
from proofs.chaos.ledger import REACTION
from proofs.chaos.progress import AWAY, Progress, groups_of
from proofs.chaos.publisher import now_us
from proofs.chaos.service_faults import Scene
from proofs.chaos.traffic import races


async def broker_kill(scene: Scene) -> None:
    scene.cluster.kafka.kill()
    await asyncio.sleep(scene.rng.uniform(0, 3))
    await scene.cluster.kafka.start()


async def broker_stop(scene: Scene) -> None:
    """Pause the broker: connections stay open without responses, sometimes for longer than a request's timeout."""
    scene.cluster.kafka.pause()
    await asyncio.sleep(scene.rng.choice((4.0, 12.0, 25.0)))
    scene.cluster.kafka.resume()


async def postgres_crash(scene: Scene) -> None:
    await scene.cluster.crash_postgres()
    await asyncio.sleep(scene.rng.uniform(0, 5))
    await scene.cluster.postgres.start()


async def racing_producers(scene: Scene) -> None:
    """Let two writers judge the same few turns concurrently, on different partitions."""
    one, two = races(scene.seed, 150, now_us())
    await asyncio.gather(scene.racers[0].write(one), scene.racers[1].write(two))


async def redelivery(scene: Scene, service: str) -> None:
    """Deliver everything that a service has ever read again."""
    fleet = scene.fleet
    fleet.hold(service)
    try:
        scene.stops.append(await fleet.main[service].terminate())
        zero = OffsetAndMetadata(0, "")
        for group in groups_of(service):
            start = {TopicPartition(t.name, n): zero for t in consumed_by(group) for n in range(t.partitions)}
            while not await _reset(scene.cluster.kafka.bootstrap, group, start):
                await asyncio.sleep(1)
        fleet.replace(service)
    finally:
        fleet.release(service)


async def _reset(bootstrap: str, group: str, start: dict[TopicPartition, OffsetAndMetadata]) -> bool:
    """Reset a group's offsets; False while it has members or the broker is unavailable."""
    from aiokafka import AIOKafkaConsumer

    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
    try:
        await consumer.start()
        consumer.assign(list(start))
        await consumer.commit(start)
    except AWAY:
        return False
    finally:
        await consumer.stop()
    return True


async def topic_made_again(scene: Scene, progress: Progress) -> None:
    """Delete and recreate a chat topic while the system is idle and everything in the topic was read."""
    await scene.quiet()
    try:
        if not await progress.quiet(1.0, 60):
            scene.trouble.append("no quiet came for making a topic again")
            return
        admin = AIOKafkaAdminClient(bootstrap_servers=scene.cluster.kafka.bootstrap)
        await admin.start()
        try:
            await admin.delete_topics([REACTION])
            while REACTION in await admin.list_topics():
                await asyncio.sleep(0.2)
        finally:
            await admin.close()
        for writer in (scene.writer, *scene.racers):
            await writer.close()
        await scene.cluster.make_topics()
    finally:
        scene.resume()


SharedFault = Callable[[Scene], Awaitable[None]]
SHARED_FAULTS: tuple[tuple[str, SharedFault, float], ...] = (
    ("racing_producers", racing_producers, 4),
    ("broker_kill", broker_kill, 2),
    ("broker_stop", broker_stop, 2),
    ("postgres_crash", postgres_crash, 3),
)
"""Name, function and weight of each fault. They affect all groups."""
