"""Services as separate processes, on a real Kafka and PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupCoordinatorNotAvailableError

from contracts.topics import Consumer, consumed_by
from servicekit.log.producer import BatchProducer
from servicekit.log.records import Message
from standalone.one_process.replay import Routed, route
from tests.support.command import COMMAND

GROUPS: Mapping[str, tuple[Consumer, ...]] = {
    "chat_bridge": ("chat_bridge",),
    "feedback": ("feedback",),
    "inference": ("inference", "inference_status"),
    "reporting": ("reporting",),
}


class Members:
    """Processes of services on one log and one database; processes still running at the end are killed.

    Their logs are appended to the file `log`.
    """

    def __init__(self, broker: str, database_url: str, log: Path) -> None:
        self._broker = broker
        self._database_url = database_url
        self._log = log
        self._started: list[asyncio.subprocess.Process] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for process in self._started:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def start(
        self, name: str, further: Mapping[str, str] | None = None, port: int = 0
    ) -> asyncio.subprocess.Process:
        """Run `agent-feedback run NAME` at `port` (0: a free one), with `further` variables in its environment."""
        prefix = name.upper()
        environment = {
            **os.environ,
            f"{prefix}_BROKER": self._broker,
            f"{prefix}_DATABASE_URL": self._database_url,
            "FEEDBACK_STORE_URL": self._database_url,
            "AGENT_FEEDBACK_TOKEN": "sixteen-letters.",
            **(further or {}),
        }
        with self._log.open("ab") as out:
            process = await asyncio.create_subprocess_exec(
                COMMAND, "run", name, "--port", str(port), stdout=out, stderr=out, env=environment
            )
        self._started.append(process)
        return process


async def stop_service(process: asyncio.subprocess.Process, within: float = 20) -> None:
    """Send SIGTERM; fail unless the service ends cleanly in time."""
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(within):
        assert await process.wait() == 0


async def publish(broker: str, lines: Sequence[bytes]) -> None:
    """Write the lines of an event file to their topics."""
    records = [record for line in lines if isinstance(record := route(line), Routed)]
    assert len(records) == len(lines), "a line names no topic"
    producer = BatchProducer(broker, client_id="agent-feedback-test")
    try:
        written = await producer.send([Message(record.topic, record.key, record.value) for record in records])
    finally:
        await producer.stop()
    assert len(written) == len(lines)


async def lag_of(broker: str) -> dict[str, int]:
    """Return the lag of the services' groups in records; groups without a lag are left out."""
    admin = AIOKafkaAdminClient(bootstrap_servers=broker)
    consumer = AIOKafkaConsumer(bootstrap_servers=broker)
    await admin.start()
    await consumer.start()
    try:
        lag: Counter[str] = Counter()
        for group in (group for groups in GROUPS.values() for group in groups):
            partitions = [TopicPartition(t.name, p) for t in consumed_by(group) for p in range(t.partitions)]
            ends = await consumer.end_offsets(partitions)
            try:
                committed = await admin.list_consumer_group_offsets(group, partitions=partitions)
            except GroupCoordinatorNotAvailableError:  # until the broker has made its topic of offsets
                committed = {}
            for partition in partitions:
                held = committed.get(partition)
                lag[group] += ends[partition] - max(0, held.offset if held else 0)
        return {group: behind for group, behind in lag.items() if behind}
    finally:
        await consumer.stop()
        await admin.close()


async def until_joined(broker: str, group: str, processes: int) -> None:
    """Wait until so many members of the group have their partitions.

    A member is listed as soon as it asks to join. Until the group is stable, the others keep what they had.
    """
    admin = AIOKafkaAdminClient(bootstrap_servers=broker)
    await admin.start()
    try:
        async with asyncio.timeout(90):
            while await _members_when_stable(admin, group) != processes:
                await asyncio.sleep(0.2)
    finally:
        await admin.close()


async def _members_when_stable(admin: AIOKafkaAdminClient, group: str) -> int:
    """Return the number of members of a group that is not being rebalanced, else 0."""
    try:
        responses = await admin.describe_consumer_groups([group])
    except GroupCoordinatorNotAvailableError:  # until the broker has made its topic of offsets
        return 0
    groups = [group for response in responses for group in response.groups]
    return sum(len(members) for (_, _, state, _, _, members, *_) in groups if state == "Stable")


async def until_quiet(broker: str, within: float) -> None:
    """Wait until everything in the log is committed, twice in succession, half a second apart."""
    quiet, lag = 0, dict[str, int]()
    try:
        async with asyncio.timeout(within):
            while quiet < 2:
                lag = await lag_of(broker)
                quiet = 0 if lag else quiet + 1
                await asyncio.sleep(0.5)
    except TimeoutError:
        raise AssertionError(f"after {within} s there is still something to take in: {lag}") from None
