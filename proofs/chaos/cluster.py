"""Kafka and PostgreSQL of a run, with a proxy in front of either for each service."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit

import asyncpg
from aiokafka.errors import KafkaError

from proofs.chaos.proxy import Door
from proofs.chaos.wire import ProduceRecogniser, commits
from servicekit.errors import StartError
from servicekit.log.topics import ensure_topics
from standalone.embedded.postgres import EmbeddedPostgres
from tests.support.local_kafka import LocalKafka
from tests.support.ports import LOOPBACK, free_port

SERVICES = ("chat_bridge", "feedback", "inference", "reporting")


class KafkaWithListeners(LocalKafka):
    """Kafka with an additional listener for each of `names`, which advertises the port in `advertised`.

    Clients learn the broker's address from metadata and coordinator look-ups, so a proxy stays in between only as the
    advertised address.
    """

    def __init__(self, directory: Path, names: Sequence[str]) -> None:
        super().__init__(directory)
        self._ports = {name: free_port() for name in names}
        self.advertised: dict[str, int] = {}
        """Advertised loopback port by listener, set before the start."""

    def port_of(self, name: str) -> int:
        """Return the port on which the broker listens for `name`."""
        return self._ports[name]

    def _write_settings(self, port: int, data: str) -> None:
        super()._write_settings(port, data)
        file = self._directory / "server.properties"
        settings = dict(line.split("=", 1) for line in file.read_text().splitlines())
        for name, own in self._ports.items():
            settings["listeners"] += f",{name.upper()}://{LOOPBACK}:{own}"
            settings["advertised.listeners"] += f",{name.upper()}://{LOOPBACK}:{self.advertised[name]}"
        kinds = ("PLAINTEXT", "CONTROLLER", *(name.upper() for name in self._ports))
        settings["listener.security.protocol.map"] = ",".join(f"{kind}:PLAINTEXT" for kind in kinds)
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))


class Cluster:
    """One log and one database below `folder`, both started and stopped by the harness."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kafka = KafkaWithListeners(folder / "kafka", SERVICES)
        self.postgres = EmbeddedPostgres(folder / "postgres")
        self.doors = {name: Door(self._socket, commits) for name in SERVICES}
        """Proxy between each service and its database."""
        self.log_doors = {name: Door(partial(self.kafka.port_of, name), ProduceRecogniser) for name in SERVICES}
        """Proxy between each service and the broker."""

    async def __aenter__(self) -> Self:
        for door in (*self.doors.values(), *self.log_doors.values()):
            await door.start()
        self.kafka.advertised = {name: door.port for name, door in self.log_doors.items()}
        await asyncio.gather(self.kafka.start(), self.postgres.start())
        await self.make_topics()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for door in (*self.doors.values(), *self.log_doors.values()):
            await door.stop()
        await asyncio.gather(self.kafka.stop(), self.postgres.stop())

    async def make_topics(self, seconds: float = 30.0) -> None:
        """Create missing topics; a new topic may take a moment to be visible."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                await ensure_topics(self.kafka.bootstrap)
                return
            except (StartError, KafkaError, OSError):
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(0.5)

    def database_url(self, service: str) -> str:
        """Return the database URL for `service`, with its proxy's address."""
        return f"postgresql://postgres@127.0.0.1:{self.doors[service].port}/postgres?sslmode=disable"

    def broker(self, service: str) -> str:
        """Return the broker's address for `service`, which is its proxy's."""
        return f"127.0.0.1:{self.log_doors[service].port}"

    async def connect(self) -> asyncpg.Connection:
        """Return a connection of the harness's own, without a proxy."""
        return await asyncpg.connect(self.postgres.url, timeout=10)

    async def crash_postgres(self) -> None:
        """Stop PostgreSQL immediately: clients are disconnected, and the write-ahead log is not finished."""
        pid = self.postgres.pid
        assert pid is not None
        os.kill(pid, signal.SIGQUIT)
        self.postgres.url = ""
        while Path(f"/proc/{pid}").exists() and not _is_zombie(pid):
            await asyncio.sleep(0.05)

    def _socket(self) -> str:
        query = parse_qs(urlsplit(self.postgres.url).query)
        return f"{query['host'][0]}/.s.PGSQL.{query['port'][0]}" if query else "/nonexistent"


def _is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
