"""Faults of the database that keep its connections open: it rejects writes, is full, cancels statements, or blocks."""

from __future__ import annotations

import asyncio
import os

from proofs.chaos.asked import says
from proofs.chaos.cluster import SERVICES
from proofs.chaos.service_faults import Scene
from proofs.chaos.small_disk import change_setting

LOCK_SECONDS = 40.0
TABLES = (
    "chat_bridge.messages",
    "feedback.feedback",
    "inference.messages",
    "reporting.feedbacks",
    "reporting.messages",
)
"""Tables of each service; every batch writes to at least one of its service's."""
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
            answers = (
                says(scene, name, lambda answer: answer.get("status") != "ready", "that it waits", LOCK_SECONDS)
                for name in SERVICES
            )
            await asyncio.gather(asyncio.sleep(LOCK_SECONDS), *answers)
    finally:
        await connection.close()
