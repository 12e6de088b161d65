"""Faults of the database that keep its connections open: it rejects writes, is full, cancels statements, or blocks."""

from __future__ import annotations

import asyncio
import os
import re
import time

from proofs.chaos.cluster import SERVICES
from proofs.chaos.progress import Progress
from proofs.chaos.service_faults import Scene, says
from proofs.chaos.small_disk import change_setting

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


async def database_read_only(scene: Scene) -> None:
    """Reject every transaction that writes, like a former primary."""
    connection = await scene.cluster.connect()
    try:
        await change_setting(connection, "default_transaction_read_only", "on")
        await asyncio.sleep(scene.rng.uniform(5, 15))
    finally:
        await change_setting(connection, "default_transaction_read_only", "off")
        await connection.close()


async def database_full(scene: Scene) -> None:
    """Fill the disk below all tables, so that no table can grow."""
    disk = scene.cluster.disk
    if disk is None:
        scene.trouble.append("no small disk could be mounted: the database was never full")
        return
    filler = disk / "filler"
    room = os.statvfs(disk)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_bsize)
    try:
        await asyncio.sleep(scene.rng.uniform(8, 15))
    finally:
        filler.unlink()


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


async def locked_tables(scene: Scene) -> None:
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
