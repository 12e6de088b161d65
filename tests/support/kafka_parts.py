"""Components of a local Kafka: Apache Kafka's jars from Maven Central, and settings."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from jgo import build
from jgo.constants import default_jgo_cache

from servicekit.errors import StartError
from tests.support.ports import LOOPBACK

KAFKA_VERSION: Final = "4.3.0"

_COORDINATES: Final = f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}+org.slf4j:slf4j-simple:1.7.36"
_DIGESTS: Final = Path(__file__).with_name("kafka_jars.sha256")

MAX_RECORD_BATCH_BYTES: Final = 2_621_440
"""Maximum size of a record batch: 2.5 MiB, enough for the dead letter of a 1 MiB input record."""

JVM_OPTIONS: Final = (
    # By default the heap starts at a 64th of the machine's memory, and a third of it fills before a collection.
    "-Xms64m",
    "-Xmn32m",
    "-Xmx384m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:+ExitOnOutOfMemoryError",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSZ",
    "-Dlog4j2.StatusLogger.level=OFF",
)

_FIXED: Final = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "auto.create.topics.enable": "false",
    "message.max.bytes": str(MAX_RECORD_BATCH_BYTES),
    # There is only one replica, so acknowledged records must be flushed to disk soon.
    "log.flush.interval.ms": "1000",
    "log.flush.scheduler.interval.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "default.replication.factor": "1",
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "8",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    # The log cleaner's default buffer is 128 MB, a third of the heap.
    "log.cleaner.dedupe.buffer.size": "16777216",
    # Kafka shares two cores with the services: more threads would only wait for a core.
    "num.network.threads": "1",
    "num.io.threads": "2",
    "group.coordinator.threads": "1",
    # After a crash the broker can register again only after its previous session has expired.
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
}


class LocalKafkaError(StartError):
    """Raised if the local Kafka cannot run. The message gives the reason and the remedy."""


def find_jars() -> list[Path]:
    """Return the paths of Kafka's jars after verifying their digests, downloading missing jars to jgo's cache.

    A download blocks for about 30 s. Only one process downloads at a time.

    Raises:
        LocalKafkaError: The network is missing, or the digest of a jar is wrong.
    """
    listing = default_jgo_cache() / f"agent-feedback-kafka-{KAFKA_VERSION}.txt"
    jars = _listed(listing)
    if not _wrong_among(jars):
        return jars
    with sole_download(listing.parent):
        jars = _listed(listing)  # perhaps downloaded by the lock's previous holder
        return _downloaded(listing) if _wrong_among(jars) else jars


@contextmanager
def sole_download(cache: Path) -> Iterator[None]:
    """Lock the cache so that only one process downloads jars at a time, because jgo itself does not lock its files."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "agent-feedback.lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _downloaded(listing: Path) -> list[Path]:
    """Download the jars and write their paths to the file `listing`.

    Raises:
        LocalKafkaError: The download failed, or the digest of a jar is wrong.
    """
    try:
        jars = sorted(build(_COORDINATES).all_jars)
        if _wrong_among(jars):  # jgo trusts its cache, even if an earlier run left it incomplete
            jars = sorted(build(_COORDINATES, update=True).all_jars)
    except Exception as error:  # network, disk or metadata errors: jgo has no error class of its own
        raise LocalKafkaError(
            f"Kafka's jars cannot be downloaded from Maven Central ({error}); connect this machine once."
        ) from error
    if wrong := _wrong_among(jars):
        raise LocalKafkaError(
            f"Jars of Kafka are missing or differ from Apache's ({', '.join(sorted(wrong))}); remove "
            f"{listing.parent} and the same files below ~/.m2/repository, and try again."
        )
    made = listing.with_name(f"{listing.name}.{os.getpid()}")
    made.write_text("".join(f"{jar}\n" for jar in jars))
    made.replace(listing)
    return jars


def _listed(listing: Path) -> list[Path]:
    try:
        return [Path(line) for line in listing.read_text().splitlines()]
    except FileNotFoundError:
        return []


def _wrong_among(jars: list[Path]) -> set[str]:
    """Return the names of missing, unknown and modified jars. Hashing all 46 jars takes 0.1 s."""
    known = {name: digest for digest, name in (line.split() for line in _DIGESTS.read_text().splitlines())}
    found = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in jars if jar.is_file()}
    return {name for name, _ in known.items() ^ found.items()}


def settings_of(*, port: int, controller_port: int, data: str) -> str:
    """Return the content of server.properties.

    Args:
        data: Name of the data folder in Kafka's working directory.
    """
    settings = {
        **_FIXED,
        "inter.broker.listener.name": "PLAINTEXT",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{port},CONTROLLER://{LOOPBACK}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port}",
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller_port}",
        "log.dirs": data,
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())
