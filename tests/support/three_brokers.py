"""Three Kafka brokers on this machine that replicate each other, with a proxy in front of each for the other two."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import psutil
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError, UnknownTopicOrPartitionError, for_code

from proofs.chaos.proxy import Door
from proofs.chaos.wire import ByResponse
from tests.support.local_kafka import LocalKafka, new_cluster_id
from tests.support.ports import LOOPBACK, free_port

NODES: Final = (1, 2, 3)
_SETTINGS: Final = "server.properties"
_REFUSE_SECONDS: Final = 1.0
_REPLICATED: Final = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "unclean.leader.election.enable": "false",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    # A follower leaves the in-sync replicas after this time without fetching; by default 30 s.
    "replica.lag.time.max.ms": "4000",
    "inter.broker.listener.name": "BROKERS",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,BROKERS:PLAINTEXT,CONTROLLER:PLAINTEXT",
}


class BrokerDoor(Door):
    """Proxy for the other brokers' connections to one node, which refuses them if either end is isolated."""

    def __init__(self, node: int, port: int, brokers: ThreeBrokers) -> None:
        super().__init__(lambda: port, lambda: ByResponse(lambda _: False))
        self._node = node
        self._brokers = brokers

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._brokers.isolated and self._is_cut_off(writer.get_extra_info("peername")[1]):
            # An isolated broker connects again at once; a pause leaves the proxies time for the others.
            await asyncio.sleep(_REFUSE_SECONDS)
            writer.close()
            return
        await super()._pass_on(reader, writer)

    def _is_cut_off(self, source_port: int) -> bool:
        isolated = self._brokers.isolated
        return self._node in isolated or any(_owns(self._brokers.nodes[node].pid, source_port) for node in isolated)


def _owns(pid: int | None, port: int) -> bool:
    """Return True if a process has a connection from that local port."""
    if pid is None:
        return False
    try:
        return any(one.laddr and one.laddr.port == port for one in psutil.Process(pid).net_connections("tcp"))
    except psutil.Error:
        return False


class Broker(LocalKafka):
    """One of the three: broker and controller in one process."""

    def __init__(self, directory: Path, node: int, cluster_id: str) -> None:
        super().__init__(directory, port=free_port())
        self.directory = directory
        self.cluster_id = cluster_id
        self.node = node
        self.own = {"BROKERS": free_port(), "CONTROLLER": free_port()}
        """Ports of the listeners for the other two."""
        self.voters = ""
        self.advertised: Mapping[str, int] = {}
        """Ports of the proxies for the other brokers by listener, set before the start."""

    def _write_settings(self, port: int, data: str) -> None:
        super()._write_settings(port, data)
        file = self._directory / _SETTINGS
        settings = dict(line.split("=", 1) for line in file.read_text().splitlines()) | _REPLICATED
        settings |= {
            "node.id": str(self.node),
            "controller.quorum.voters": self.voters,
            "listeners": f"PLAINTEXT://{LOOPBACK}:{port},{_listeners(self.own)}",
            "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port},{_listeners(self.advertised)}",
        }
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))


def _listeners(ports: Mapping[str, int]) -> str:
    return ",".join(f"{name}://{LOOPBACK}:{port}" for name, port in ports.items())


class ThreeBrokers:
    """Cluster of three brokers. Brokers reach each other only through the proxies, clients reach each directly."""

    def __init__(self, directory: Path) -> None:
        cluster_id = new_cluster_id()
        self.nodes: Mapping[int, Broker] = {n: Broker(directory / f"broker-{n}", n, cluster_id) for n in NODES}
        self.isolated: set[int] = set()
        self._doors = {
            (node, name): BrokerDoor(node, port, self)
            for node, broker in self.nodes.items()
            for name, port in broker.own.items()
        }

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self.nodes.values())

    async def start(self) -> None:
        """Start all brokers and wait until each knows the other two."""
        for door in self._doors.values():
            await door.start()
        voters = ",".join(f"{node}@{LOOPBACK}:{self._doors[node, 'CONTROLLER'].port}" for node in NODES)
        for node, broker in self.nodes.items():
            # The controller's too: brokers learn its address from the quorum, not from the list of voters.
            broker.voters, broker.advertised = voters, {name: self._doors[node, name].port for name in broker.own}
        await asyncio.gather(*(broker.start() for broker in self.nodes.values()))

        async def are_known() -> bool:
            return await self.known() == set(NODES)

        await self.until(are_known)

    async def stop(self) -> None:
        await asyncio.gather(*(broker.stop() for broker in self.nodes.values()))
        for door in self._doors.values():
            await door.stop()

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def isolate(self, node: int) -> None:
        """Cut a broker off from the other two, in both directions. Clients still reach it."""
        self.isolated.add(node)
        for door in self._doors.values():
            door.cut()  # the others connect again at once

    def heal(self) -> None:
        """Let all brokers reach each other again."""
        self.isolated.clear()

    async def known(self) -> set[int]:
        """Return the live brokers, in the view of one that answers."""
        async with Admin(self.bootstrap) as admin:
            return {broker["node_id"] for broker in (await admin.describe_cluster())["brokers"]}

    async def leader_of(self, topic: str, partition: int = 0) -> int:
        """Return the node that leads a partition, -1 if none does or the topic is not visible yet."""
        try:
            found = await self.partitions(topic)
        except UnknownTopicOrPartitionError:
            return -1
        return found[partition][0] if partition < len(found) else -1

    async def partitions(self, *topics: str) -> list[tuple[int, set[int], set[int]]]:
        """Return leader, replicas and in-sync replicas of each partition, in order; without names of all topics.

        Raises KafkaError if the broker asked does not know one of the named topics, such as an isolated one.
        """
        async with Admin(self.bootstrap) as admin:
            described = await admin.describe_topics(list(topics) if topics else None)
        for topic in described if topics else ():
            if not topic["partitions"]:
                raise for_code(topic["error_code"])
        return _described(described)

    async def in_sync(self, seconds: float = 120) -> None:
        """Wait until every replica of every partition is in sync and has a leader, in the view of each broker.

        A broker that was isolated describes itself as the leader until it learns of its replacement.
        """

        async def are_in_sync() -> bool:
            views = []
            for broker in self.nodes.values():
                async with Admin(broker.bootstrap) as admin:
                    described = sorted(await admin.describe_topics(None), key=lambda one: str(one["topic"]))
                views.append(_described(described))
            return all(view == views[0] for view in views) and all(
                leader > 0 and replicas == isr for leader, replicas, isr in views[0]
            )

        await self.until(are_in_sync, seconds)

    async def until(self, holds: Callable[[], Awaitable[bool]], seconds: float = 120) -> None:
        """Wait until `holds` returns True; errors of brokers that are away or electing do not count."""
        async with asyncio.timeout(seconds):
            while True:
                with contextlib.suppress(KafkaError, OSError, TimeoutError):
                    if await asyncio.wait_for(holds(), 20):
                        return
                await asyncio.sleep(0.2)


class Admin:
    """Admin client for one request."""

    def __init__(self, bootstrap: str) -> None:
        self._client = AIOKafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=5_000)

    async def __aenter__(self) -> AIOKafkaAdminClient:
        try:
            await self._client.start()
        except BaseException:
            await self._client.close()
            raise
        return self._client

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()


def _described(topics: Iterable[Mapping[str, Any]]) -> list[tuple[int, set[int], set[int]]]:
    """Return leader, replicas and in-sync replicas of each partition, in the order of topics and partitions."""
    return [
        (one["leader"], set(one["replicas"]), set(one["isr"]))
        for topic in topics
        for one in sorted(topic["partitions"], key=lambda one: int(one["partition"]))
    ]
