"""Committed offsets of every group, read from the log."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import get_args

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from contracts.topics import OPTIONAL, TOPICS, Consumer

GROUPS: tuple[Consumer, ...] = tuple(group for group in get_args(Consumer) if group not in OPTIONAL)
"""Consumer groups of each service, except the optional ones."""
AWAY = (KafkaError, OSError, TimeoutError)


def groups_of(service: str) -> tuple[Consumer, ...]:
    return tuple(group for group in GROUPS if group == service or group.startswith(f"{service}_"))


@dataclass(frozen=True, slots=True)
class Positions:
    """Next offset to read (0 without a commit) and end of the log, by group and partition."""

    committed: dict[str, dict[TopicPartition, int]]
    ends: dict[TopicPartition, int]

    def lag(self, group: str) -> int:
        return sum(max(0, self.ends[p] - n) for p, n in self.committed[group].items())

    @property
    def total(self) -> int:
        return sum(self.lag(group) for group in self.committed)


class Progress:
    """Reader of positions; raises one of AWAY if the broker does not respond within five seconds."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._admin: AIOKafkaAdminClient | None = None
        self._consumer: AIOKafkaConsumer | None = None

    async def positions(self) -> Positions:
        try:
            return await asyncio.wait_for(self._ask(), 5)
        except AWAY:
            await self.close()
            raise

    async def _ask(self) -> Positions:
        if self._admin is None or self._consumer is None:
            self._admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
            await self._admin.start()
            self._consumer = AIOKafkaConsumer(bootstrap_servers=self._bootstrap, group_id=None)
            await self._consumer.start()
        partitions = [TopicPartition(topic.name, n) for topic in TOPICS for n in range(topic.partitions)]
        ends: dict[TopicPartition, int] = await self._consumer.end_offsets(partitions)
        committed: dict[str, dict[TopicPartition, int]] = {}
        for group in GROUPS:
            offsets = await self._admin.list_consumer_group_offsets(group)
            own = {topic.name for topic in TOPICS if group in topic.consumers}
            committed[group] = {
                p: max(0, offsets[p].offset) if p in offsets else 0 for p in partitions if p.topic in own
            }
        return Positions(committed, ends)

    async def quiet(self, seconds: float, limit: float) -> bool:
        """Wait until no group has anything to read and nothing was written for `seconds`; False after `limit`."""
        loop = asyncio.get_running_loop()
        deadline, since, before = loop.time() + limit, loop.time(), None
        while loop.time() < deadline:
            try:
                now = await self.positions()
            except AWAY:
                await asyncio.sleep(1)
                continue
            if now.total or now.ends != before:
                since, before = loop.time(), now.ends
            elif loop.time() - since >= seconds:
                return True
            await asyncio.sleep(0.3)
        return False

    async def close(self) -> None:
        admin, consumer = self._admin, self._consumer
        self._admin = self._consumer = None
        for client in (admin and admin.close(), consumer and consumer.stop()):
            if client is not None:
                with contextlib.suppress(*AWAY):
                    await asyncio.wait_for(client, 3)
