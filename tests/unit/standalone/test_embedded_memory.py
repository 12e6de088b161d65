"""The in-process broker, used with the client library of the services."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from standalone.embedded import memory_broker
from standalone.embedded.memory_broker import MemoryBroker, MemoryBrokerError

TOPIC = "orders"
PARTITIONS = 3


@pytest.fixture
def broker() -> Iterator[MemoryBroker]:
    with MemoryBroker({TOPIC: PARTITIONS, "other": 1}) as running:
        yield running


async def produce(broker: MemoryBroker, values: list[bytes], topic: str = TOPIC) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap, enable_idempotence=True, acks="all")
    async with producer:
        for value in values:
            await producer.send_and_wait(topic, value, key=value)


def group_member(broker: MemoryBroker, topic: str = TOPIC) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        topic,
        bootstrap_servers=broker.bootstrap,
        group_id="readers",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        # The broker makes a group wait this long, less a second, after a member left it.
        session_timeout_ms=6_000,
        heartbeat_interval_ms=300,
    )


async def read(consumer: AIOKafkaConsumer, count: int) -> list[bytes]:
    return [(await consumer.getone()).value for _ in range(count)]


async def test_topics_have_the_partitions_they_were_given(broker: MemoryBroker) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap)
    async with producer:
        assert await producer.partitions_for(TOPIC) == set(range(PARTITIONS))
        assert await producer.partitions_for("other") == {0}


async def test_every_write_is_noticed_and_hardly_any_other_request(broker: MemoryBroker) -> None:
    broker.track_writes()
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap)
    async with producer:
        noticed = []
        for _ in range(150):
            await producer.client.force_metadata_update()
            noticed.append(broker.was_written())
        assert sum(noticed) == 2, "once for each 64 requests, which are then deleted"
        for number in range(150):
            await producer.send_and_wait(TOPIC, b"a", partition=0)
            assert broker.was_written(), number
            assert not broker.was_written(), "it was noticed before"
    broker.stop()
    assert not broker.was_written()


@pytest.mark.timeout(60)
async def test_a_group_resumes_after_what_it_committed(broker: MemoryBroker) -> None:
    first = [b"a%d" % n for n in range(10)]
    second = [b"b%d" % n for n in range(5)]

    await produce(broker, first)
    async with group_member(broker) as consumer:
        assert sorted(await read(consumer, len(first))) == sorted(first)
        await consumer.commit()
    await produce(broker, second)
    async with group_member(broker) as consumer:
        assert sorted(await read(consumer, len(second))) == sorted(second)


@pytest.mark.timeout(60)
async def test_end_offsets_count_what_was_produced(broker: MemoryBroker) -> None:
    await produce(broker, [b"x%d" % n for n in range(12)])

    async with AIOKafkaConsumer(bootstrap_servers=broker.bootstrap) as consumer:
        ends = await consumer.end_offsets([TopicPartition(TOPIC, n) for n in range(PARTITIONS)])

    assert sum(ends.values()) == 12


@pytest.mark.timeout(60)
async def test_brokers_in_one_process_do_not_see_each_other(broker: MemoryBroker) -> None:
    with MemoryBroker({TOPIC: PARTITIONS}) as second:
        await produce(broker, [b"first"])
        await produce(second, [b"second"])

        async with group_member(broker) as one, group_member(second) as two:
            assert (await read(one, 1), await read(two, 1)) == ([b"first"], [b"second"])


# In a separate process, because other tests' threads and sockets change. An ended thread may stay in
# /proc for a moment after it was joined, so the test waits for its end.
HELD_AFTER_STOPS = """
import os
from pathlib import Path
from time import monotonic
from standalone.embedded import memory_broker
from standalone.embedded.memory_broker import MemoryBroker

def held():
    return len(list(Path("/proc/self/task").iterdir())), len(list(Path("/proc/self/fd").iterdir()))

before = held()
for _ in range(5):
    with MemoryBroker({"orders": 1}):
        threads, sockets = held()
        assert threads > before[0] and sockets > before[1], (before, threads, sockets)
deadline = monotonic() + 10
while held() != before and monotonic() < deadline:
    os.sched_yield()
assert held() == before, (before, held())
"""


def test_stop_gives_back_threads_and_sockets() -> None:
    if not Path("/proc/self/task").exists():
        pytest.skip("counts threads and descriptors in /proc, which this system does not have")

    done = subprocess.run([sys.executable, "-c", HELD_AFTER_STOPS], capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr


def test_a_stopped_broker_has_no_address_and_starts_again_empty(broker: MemoryBroker) -> None:
    broker.stop()
    broker.stop()
    with pytest.raises(MemoryBrokerError, match="not running"):
        _ = broker.bootstrap

    broker.start()

    assert broker.bootstrap.startswith("127.0.0.1:")


def test_a_topic_without_partitions_is_refused() -> None:
    with pytest.raises(ValueError, match="'orders' needs at least one partition"):
        MemoryBroker({TOPIC: 0})


async def test_writes_are_told_once(broker: MemoryBroker) -> None:
    broker.track_writes()
    assert broker.was_written() is False
    consumer = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap)
    async with consumer:
        await consumer.end_offsets([TopicPartition(TOPIC, 0)])
    assert broker.was_written() is False, "a client has read"
    await produce(broker, [b"x"])
    assert [broker.was_written(), broker.was_written()] == [True, False]
    broker.stop()
    assert broker.was_written() is False


class Library:
    """librdkafka that records the calls; `results` are the results of functions, by the end of their names."""

    def __init__(self, **results: Any) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._results = {"conf_new": 1, "rd_kafka_new": 2, "cluster_new": 3, "bootstraps": b"127.0.0.1:9"} | results

    def __getattr__(self, name: str) -> Any:
        def called(*arguments: Any) -> Any:
            self.calls.append((name.removeprefix("rd_kafka_").removeprefix("mock_"), *arguments))
            return next((result for end, result in self._results.items() if name.endswith(end)), 0)

        return called


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    found = Library()
    monkeypatch.setattr(memory_broker, "_librdkafka", lambda: found)
    monkeypatch.setattr(memory_broker, "time", SimpleNamespace(sleep=lambda _: found.calls.append(("pause",))))
    return found


def test_a_start_pauses_before_each_topic_and_groups_do_not_wait_for_members(library: Library) -> None:
    with MemoryBroker({"one": 3, "two": 1}) as running:
        running.start()  # it runs already
        assert running.bootstrap == "127.0.0.1:9"
    names = [call[0] for call in library.calls]
    assert ("group_initial_rebalance_delay_ms", 3, 0) in library.calls
    assert library.calls[names.index("pause") :] == [
        ("pause",), ("topic_create", 3, b"one", 3, 1), ("pause",), ("topic_create", 3, b"two", 1, 1),
        ("cluster_bootstraps", 3), ("cluster_destroy", 3), ("destroy", 2),
    ]  # fmt: skip
    assert ("conf_set_log_cb", 1, None) in library.calls, "the client's own log lines help nobody"


@pytest.mark.parametrize(
    ("results", "said", "freed"),
    [
        ({"rd_kafka_new": 0}, r"^librdkafka could not start: \.$", [("conf_destroy", 1)]),
        ({"cluster_new": 0}, "^librdkafka could not start its mock cluster", [("destroy", 2)]),
        (
            {"topic_create": 37, "err2str": b"no such name"},
            r"^librdkafka rejected topic 'one' with 3 partitions: no such name\.$",
            [("cluster_destroy", 3), ("destroy", 2)],
        ),
    ],
)
def test_a_start_that_fails_says_why_and_frees_everything(
    library: Library, results: dict[str, Any], said: str, freed: list[Any]
) -> None:
    library._results |= results
    broker = MemoryBroker({"one": 3})
    with pytest.raises(MemoryBrokerError, match=said):
        broker.start()
    assert [call for call in library.calls if call[0].endswith("destroy")] == freed
    with pytest.raises(MemoryBrokerError, match="not running"):
        _ = broker.bootstrap


def test_the_copies_of_requests_are_freed_after_each_look_and_all_requests_after_64(library: Library) -> None:
    recorded = [7, 8]

    def requests(_: int, count: Any) -> list[int]:
        count._obj.value = len(recorded)
        return recorded

    library.rd_kafka_mock_get_requests = requests  # type: ignore[attr-defined]  # a stub
    with MemoryBroker({}) as broker:
        for more, notices, calls in (
            (0, True, ["request_api_key", "request_api_key", "request_destroy_array"]),
            (0, False, ["request_destroy_array"]),
            (61, True, [*["request_api_key"] * 61, "request_destroy_array"]),
            (1, True, ["request_api_key", "request_destroy_array", "clear_requests"]),
        ):
            recorded += [9] * more
            library.calls.clear()
            assert broker.was_written() is notices, "the API key 0 writes"
            assert [call[0] for call in library.calls] == calls


def test_a_missing_package_or_mock_cluster_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    load = memory_broker._librdkafka.__wrapped__
    with monkeypatch.context() as patched:
        patched.setitem(memory_broker._SIGNATURES, "rd_kafka_of_the_future", (None, []))
        with pytest.raises(MemoryBrokerError, match=r"^This build of confluent-kafka has no mock cluster \("):
            load()
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(MemoryBrokerError, match=r"pip install '\.\[standalone\]' \(in the checkout\)\.$"):
        load()
