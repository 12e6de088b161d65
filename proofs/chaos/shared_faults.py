"""Faults that affect all services: the broker, the database, the log, and concurrent writers."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable

from aiokafka import TopicPartition
from aiokafka.structs import OffsetAndMetadata

from contracts.topics import consumed_by
from proofs.chaos.cluster import SERVICES
from proofs.chaos.progress import AWAY, Progress, groups_of
from proofs.chaos.publisher import now_us
from proofs.chaos.service_faults import Scene, says
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


LOCK_SECONDS = 40.0
OUTAGE_SECONDS = 120.0
TABLES = (
    "chat_bridge.messages",
    "feedback.feedback",
    "inference.messages",
    "reporting.feedbacks",
    "reporting.messages",
)
"""Tables of each service; every batch writes to at least one of its service's."""
_LAG = re.compile(r'^agent_feedback_lag_records\{group="(\w+)"\} (\S+)', re.M)
_BACKENDS = "from pg_stat_activity where application_name like 'agent-feedback%' and pid <> pg_backend_pid()"


async def cancelled_backends(scene: Scene) -> None:
    """Cancel statements and terminate connections for five seconds."""
    connection = await scene.cluster.connect()
    try:
        for number in range(15):
            what = "pg_terminate_backend" if number % 5 == 4 else "pg_cancel_backend"
            await connection.execute(f"select {what}(pid) {_BACKENDS}")
            await asyncio.sleep(scene.rng.uniform(0.1, 0.5))
    finally:
        await connection.close()


async def locked_tables(scene: Scene, _: Progress) -> None:
    """Lock a table of every service for 40 s; during that time no service may report that it is ready."""
    connection = await scene.cluster.connect()
    try:
        async with connection.transaction():
            await connection.execute(f"lock table {', '.join(TABLES)} in access exclusive mode")
            await _all_wait(scene, LOCK_SECONDS)
    finally:
        await connection.close()


async def database_outage(scene: Scene, progress: Progress) -> None:
    """Stop the database for two minutes under load. During that time no service may report that it is ready, and the
    lag metric must be right; afterwards each group must read its backlog at twice the rate of the load."""
    await scene.cluster.crash_postgres()
    await _all_wait(scene, OUTAGE_SECONDS)
    start = await progress.positions()
    for name in SERVICES:
        for group, lag in _LAG.findall(await scene.fleet.main[name].ask("/metrics")):
            actual = start.lag(group) if group in start.committed else 0
            if actual and abs(float(lag) - actual) > 0.3 * actual + 1_500:
                scene.wrong.append(f"{group} says lag {float(lag):.0f} during the outage; it was {actual}")
    await scene.cluster.postgres.start()
    await asyncio.gather(*(_catch_up(scene, progress, group) for group in start.committed))


async def _catch_up(scene: Scene, progress: Progress, group: str) -> None:
    """Wait until the group is within two seconds of its input, which continues; note an error if it is slow."""
    began, start = time.monotonic(), await progress.positions()
    while True:
        await asyncio.sleep(1)
        now, seconds = await progress.positions(), time.monotonic() - began
        arrived = sum(now.ends[p] - start.ends[p] for p in now.committed[group])
        if now.lag(group) <= 2 * arrived / seconds + 300:
            break
    read = sum(now.committed[group][p] - offset for p, offset in start.committed[group].items())
    if start.lag(group) > scene.load.rate and read < 2 * min(arrived, scene.load.rate * seconds):
        scene.wrong.append(
            f"{group} read {read / seconds:.0f}/s after the outage, with {arrived / seconds:.0f}/s input"
        )


async def _all_wait(scene: Scene, seconds: float) -> None:
    """Wait for `seconds`, within which each service must report that it is not ready."""
    answers = (
        says(scene, name, lambda answer: answer.get("status") != "ready", "that it waits", seconds) for name in SERVICES
    )
    await asyncio.gather(asyncio.sleep(seconds), *answers)


SharedFault = Callable[[Scene], Awaitable[None]]
SHARED_FAULTS: tuple[tuple[str, SharedFault, float], ...] = (
    ("racing_producers", racing_producers, 4),
    ("broker_kill", broker_kill, 2),
    ("broker_stop", broker_stop, 2),
    ("postgres_crash", postgres_crash, 3),
    ("cancelled_backends", cancelled_backends, 2),
)
"""Name, function and weight of each fault. They affect all groups."""
