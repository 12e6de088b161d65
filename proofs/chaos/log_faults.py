"""Faults of the log that affect its readers: deleted records, a compressed bomb."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.records_to_delete import RecordsToDelete

from contracts.topics import BY_NAME
from proofs.chaos.cluster import SERVICES
from proofs.chaos.ledger import EXPLICIT, REPLY, Entry
from proofs.chaos.process import status_mb
from proofs.chaos.progress import AWAY, Progress
from proofs.chaos.publisher import now_us
from proofs.chaos.service_faults import Scene, says
from proofs.chaos.traffic import races

DELETED = 60
BOMB_RECORDS = 100
"""Number of one-megabyte records of blanks in one batch of a few kilobytes."""
ROOM_MB = 400.0
"""Additional memory that a service may take while it reads the bomb, in MB."""


async def records_deleted(scene: Scene, progress: Progress) -> None:
    """Delete records before a stopped group reads them. They are duplicates, so nothing is lost; health must report
    them."""
    fleet, name = scene.fleet, "feedback"
    await scene.quiet()
    try:
        judgements, _ = races(scene.seed, DELETED, now_us())
        await scene.racers[0].write(judgements)
        if not await progress.quiet(1.0, 60):
            scene.trouble.append("no quiet came for deleting records")
            return
        fleet.hold(name)
        scene.stops.append(await fleet.main[name].terminate())
        await scene.racers[0].write(judgements)
        await _delete_all(scene.cluster.kafka.bootstrap, EXPLICIT)
        fleet.replace(name)
        await fleet.main[name].running(60)
        words = f"{DELETED} records of {EXPLICIT} were deleted from the log before they were read"
        await says(scene, name, lambda answer: words in str(answer.get("warnings")), f"that {words}", 30)
    finally:
        fleet.release(name)
        scene.resume()


async def _delete_all(bootstrap: str, topic: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        everything = RecordsToDelete(before_offset=-1)
        await admin.delete_records({TopicPartition(topic, n): everything for n in range(BY_NAME[topic].partitions)})
    finally:
        await admin.close()


async def compressed_bomb(scene: Scene, progress: Progress) -> None:
    """Send a few kilobytes that decompress to a hundred megabytes; no service may take much more memory."""
    async with _little_room(scene):
        offset, packed = await _send_bomb(scene.cluster.kafka.bootstrap, REPLY)
        entry = Entry(REPLY, 0, offset, packed, None)
        await asyncio.to_thread(scene.writer.ledger.write, [entry])
        end = TopicPartition(REPLY, 0)
        async with asyncio.timeout(90):
            while not await _passed(progress, end, offset):
                await asyncio.sleep(0.5)


async def _passed(progress: Progress, partition: TopicPartition, offset: int) -> bool:
    """Return True if all groups that read the partition have committed an offset beyond `offset`."""
    try:
        positions = await progress.positions()
    except AWAY:
        return False
    return all(offsets[partition] > offset for offsets in positions.committed.values() if partition in offsets)


async def _send_bomb(bootstrap: str, topic: str) -> tuple[int, str]:
    """Send the oversized batch; return the position of its last record and the hash of the compressed bytes."""
    sender = AIOKafkaProducer(bootstrap_servers=bootstrap, compression_type="gzip", max_batch_size=1 << 40)
    await sender.start()
    try:
        batch, blanks = sender.create_batch(), b" " * 1_000_000
        for _ in range(BOMB_RECORDS):
            batch.append(key=b"key", value=blanks, timestamp=None)
        placed = await (await sender.send_batch(batch, topic, partition=0))
    finally:
        await sender.stop()
    return placed.offset + BOMB_RECORDS - 1, sha256(blanks).hexdigest()


@asynccontextmanager
async def _little_room(scene: Scene) -> AsyncIterator[None]:
    """Limit the memory of a process during the body to slightly more than it has."""
    pids = [scene.fleet.main[name].pid for name in SERVICES]
    for pid in pids:
        room = int((status_mb(pid, "VmData") + ROOM_MB) * 1024**2)
        resource.prlimit(pid, resource.RLIMIT_DATA, (room, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        for pid in pids:
            if scene.fleet.alive(pid):
                resource.prlimit(pid, resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
