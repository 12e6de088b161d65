"""The settings of a local Kafka: one node that is broker and controller, on loopback, with little memory."""

from typing import Final

from servicekit.embedded.ports import LOOPBACK

MAX_RECORD_BATCH_BYTES: Final = 2_621_440
"""2.5 MiB: a record of 1 MiB as it came in, wrapped in its dead letter, fits."""

JVM_OPTIONS: Final = (
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
    "inter.broker.listener.name": "PLAINTEXT",
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
    "num.network.threads": "2",
    "num.io.threads": "4",
    # After a crash the broker may register again only when its last session is over.
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
}


def settings_of(*, port: int, controller_port: int, data: str) -> str:
    """The text of server.properties; `data` is a folder's name below the one that Kafka is run in."""
    settings = {
        **_FIXED,
        "listeners": f"PLAINTEXT://{LOOPBACK}:{port},CONTROLLER://{LOOPBACK}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port}",
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller_port}",
        "log.dirs": data,
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())
