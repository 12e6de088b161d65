"""In-process Kafka broker: librdkafka's mock cluster, called through the library in confluent-kafka.

It is meant for demonstrations and light tests only. It keeps at most 5 MiB and 100,000 record batches per partition and
silently drops the oldest ones, even if they were not consumed. A consumer group can have only one member. There are no
transactions, no topic administration and no disk.

When the member of a group leaves, the next member has to wait until one second before the old session's timeout. Use a
short session timeout, such as 2 s, for consumers that are stopped and started again.
"""

import ctypes
import time
from collections.abc import Mapping
from ctypes import c_char_p, c_int, c_size_t, c_void_p
from functools import cache
from types import TracebackType
from typing import Any, Final, Self

from contracts.extras import install_command
from servicekit.errors import StartError

_PRODUCER: Final = 0
_OK: Final = 0
_REASON_BYTES: Final = 512
_PAUSE_SECONDS: Final = 0.0005
"""Pause before each topic is created, in seconds.

The thread of the cluster misses some requests that arrive right after another one, and only sees them a second later,
when its poll times out. Without the pause, a start takes two to four seconds.
"""


class MemoryBrokerError(StartError):
    """Raised if the in-process broker cannot start. The message gives the reason."""


class MemoryBroker:
    """In-process Kafka broker on a free loopback port.

    A process can run several brokers. A stopped broker can be started again, but is then empty and on another port.

    Args:
        topics: Number of partitions by topic name. Any other topic is created with 4 partitions when a client first
            requests it.

    Raises:
        ValueError: A topic has less than one partition.
    """

    def __init__(self, topics: Mapping[str, int]) -> None:
        # librdkafka accepts a topic without partitions, and every client then waits for a partition.
        for name, partitions in topics.items():
            if partitions < 1:
                raise ValueError(f"Topic {name!r} needs at least one partition, not {partitions}.")
        self._topics = dict(topics)
        self._handle: int | None = None
        self._cluster: int | None = None
        self._bootstrap = ""

    @property
    def bootstrap(self) -> str:
        """The address "127.0.0.1:port" of the running broker.

        Raises:
            MemoryBrokerError: The broker is not running.
        """
        if not self._bootstrap:
            raise MemoryBrokerError("The in-process broker is not running, so it has no address.")
        return self._bootstrap

    def start(self) -> None:
        """Start the broker and create its topics. Does nothing if it is already running.

        Blocks for about 20 ms.

        Raises:
            MemoryBrokerError: confluent-kafka is missing, or librdkafka rejected a step.
        """
        if self._cluster is not None:
            return
        library = _librdkafka()
        try:
            self._handle = _new_client(library)
            self._cluster = library.rd_kafka_mock_cluster_new(self._handle, 1)
            if not self._cluster:
                raise MemoryBrokerError("librdkafka could not start its mock cluster.")
            # By default the first member of a group waits 3 s for others, although a group can have only one member
            # here.
            library.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, 0)
            for name, partitions in self._topics.items():
                self._create_topic(library, name, partitions)
            self._bootstrap = library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the broker and free its memory, including all records. Does nothing if it is not running."""
        self._bootstrap = ""
        cluster, self._cluster = self._cluster, None
        handle, self._handle = self._handle, None
        # Destroy the cluster first: it uses the handle's queues, and librdkafka would otherwise wait forever.
        if cluster:
            _librdkafka().rd_kafka_mock_cluster_destroy(cluster)
        if handle:
            _librdkafka().rd_kafka_destroy(handle)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _create_topic(self, library: ctypes.CDLL, name: str, partitions: int) -> None:
        time.sleep(_PAUSE_SECONDS)
        code = library.rd_kafka_mock_topic_create(self._cluster, name.encode(), partitions, 1)
        if code != _OK:
            reason = library.rd_kafka_err2str(code).decode()
            raise MemoryBrokerError(f"librdkafka rejected topic {name!r} with {partitions} partitions: {reason}.")


def _new_client(library: ctypes.CDLL) -> int:
    reason = ctypes.create_string_buffer(_REASON_BYTES)
    settings = library.rd_kafka_conf_new()
    # The client only hosts the cluster, so its log lines on stderr would not help a reader.
    library.rd_kafka_conf_set_log_cb(settings, None)
    handle: int | None = library.rd_kafka_new(_PRODUCER, settings, reason, _REASON_BYTES)
    if not handle:
        # rd_kafka_new takes ownership of the settings only if it succeeds.
        library.rd_kafka_conf_destroy(settings)
        raise MemoryBrokerError(f"librdkafka could not start: {reason.value.decode()}.")
    return handle


_SIGNATURES: Final[dict[str, tuple[Any, list[Any]]]] = {
    "rd_kafka_conf_new": (c_void_p, []),
    "rd_kafka_conf_destroy": (None, [c_void_p]),
    "rd_kafka_conf_set_log_cb": (None, [c_void_p, c_void_p]),
    "rd_kafka_new": (c_void_p, [c_int, c_void_p, c_char_p, c_size_t]),
    "rd_kafka_destroy": (None, [c_void_p]),
    "rd_kafka_err2str": (c_char_p, [c_int]),
    "rd_kafka_mock_cluster_new": (c_void_p, [c_void_p, c_int]),
    "rd_kafka_mock_cluster_destroy": (None, [c_void_p]),
    "rd_kafka_mock_cluster_bootstraps": (c_char_p, [c_void_p]),
    "rd_kafka_mock_group_initial_rebalance_delay_ms": (None, [c_void_p, ctypes.c_int32]),
    "rd_kafka_mock_topic_create": (c_int, [c_void_p, c_char_p, c_int, c_int]),
}


@cache
def _librdkafka() -> ctypes.CDLL:
    try:
        from confluent_kafka import cimpl
    except ImportError as error:
        raise MemoryBrokerError(
            f"The in-process broker needs the package confluent-kafka: {install_command('standalone')}."
        ) from error
    # A symbol lookup through the extension also searches its linked librdkafka, wherever the wheel stores it.
    library = ctypes.CDLL(cimpl.__file__)
    try:
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except AttributeError as error:
        raise MemoryBrokerError(f"This build of confluent-kafka has no mock cluster ({error}).") from error
    return library
