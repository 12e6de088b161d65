"""Topics are created as declared, and a check says what is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Self

import pytest
from aiokafka.admin import NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource
from aiokafka.errors import IncompatibleBrokerVersion, TopicAuthorizationFailedError

import servicekit.log.topics as topics
from contracts.topics import TOPICS
from servicekit.errors import StartError
from servicekit.log.topics import ensure_topics, partitions_by_topic

BROKER = "kafka.example:9092"
CREATED, EXISTS, DENIED, UNKNOWN = 0, 36, 29, 3
"""Error codes of Kafka's protocol."""


class Cluster:
    """Stand-in for aiokafka's admin client and its brokers. A created topic is visible after `delay` descriptions."""

    def __init__(self, brokers: int = 3, code: int = CREATED, delay: int = 0) -> None:
        self.brokers, self.code, self.delay = brokers, code, delay
        self.policies: dict[str, str] = {}
        """Cleanup policies of compacted topics that differ from `compact`."""
        self.retention = "-1"
        self.topics: dict[str, int] = {}
        self.created: list[NewTopic] = []
        self.closed = False

    def __call__(self, **_: Any) -> Self:
        return self

    async def start(self) -> None:
        assert not self.closed

    async def close(self) -> None:
        self.closed = True

    async def list_topics(self) -> list[str]:
        return [*self.topics]

    async def describe_cluster(self) -> dict[str, Any]:
        return {"brokers": [{"node_id": number} for number in range(self.brokers)]}

    async def describe_topics(self, names: Collection[str]) -> list[dict[str, Any]]:
        if self.created:
            self.delay -= 1
        hidden = {topic.name for topic in self.created} if self.delay >= 0 else set[str]()
        visible = {name: count for name, count in self.topics.items() if name not in hidden}
        return [
            {"topic": name, "partitions": [{}] * visible[name], "error_code": CREATED}
            if name in visible
            else {"topic": name, "partitions": [], "error_code": UNKNOWN}
            for name in names
        ]

    async def create_partitions(self, partitions: Mapping[str, NewPartitions]) -> None:
        if self.code == DENIED:
            raise TopicAuthorizationFailedError
        self.topics |= {name: one.total_count for name, one in partitions.items()}

    async def describe_configs(self, resources: Sequence[ConfigResource]) -> list[Any]:
        """Return the responses in the form of Kafka's protocol; an unknown policy stands for a denied request."""
        if "unsupported" in self.policies.values():
            raise IncompatibleBrokerVersion
        found = []
        for one in resources:
            policy = self.policies.get(one.name, "compact")
            denied = policy == "unknown"
            config = {"cleanup.policy": policy, "retention.ms": self.retention, "retention.bytes": "-1"}
            entries: list[Any] = [] if denied else [(key, value, False, 1, False, []) for key, value in config.items()]
            found.append((DENIED if denied else CREATED, None, 2, one.name, entries))
        return [SimpleNamespace(resources=found)]

    async def create_topics(self, missing: Sequence[NewTopic]) -> Any:
        self.created += missing
        if self.code in (CREATED, EXISTS):
            self.topics |= {topic.name: topic.num_partitions for topic in missing}
        return SimpleNamespace(topic_errors=[(topic.name, self.code, "secret") for topic in missing])


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Pauses between two looks, in seconds; none is waited for."""
    made: list[float] = []

    async def sleep(seconds: float) -> None:
        made.append(seconds)

    monkeypatch.setattr(topics, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": sleep}))
    return made


async def ensured(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[str]:
    """Return what `ensure_topics` says."""
    said: list[str] = []
    monkeypatch.setattr(topics, "AIOKafkaAdminClient", cluster)
    try:
        await ensure_topics(BROKER, say=said.append, **options)
    finally:
        assert cluster.closed
    return said


@pytest.mark.parametrize(
    ("brokers", "replication", "copies", "warned"),
    [(1, None, 1, True), (2, None, 2, True), (3, None, 3, False), (5, None, 3, False), (3, 1, 1, False),
     (3, 5, 5, False)],
)  # fmt: skip
async def test_missing_topics_are_created_with_three_replicas_or_one_per_broker(
    brokers: int, replication: int | None, copies: int, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(brokers)
    said = await ensured(cluster, monkeypatch, replication=replication)
    assert {topic.name: topic.num_partitions for topic in cluster.created} == partitions_by_topic()
    assert {topic.replication_factor for topic in cluster.created} == {copies}
    acknowledging = {topic.topic_configs.get("min.insync.replicas") for topic in cluster.created}
    assert acknowledging == ({"2"} if copies >= 3 else {None}), "of three replicas, two must have a record"
    warning = f"Creating topics with {brokers} of 3 replicas (too few brokers): losing one may lose records."
    assert said == ([warning] if warned else [])


async def test_a_topic_that_another_process_creates_at_the_same_time_is_no_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster(code=EXISTS)
    assert await ensured(cluster, monkeypatch) == []


async def test_a_topic_that_cannot_be_created_is_named_with_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StartError) as raised:
        await ensured(Cluster(code=DENIED), monkeypatch)
    assert str(raised.value) == f"The topic {TOPICS[0].name} cannot be created: TopicAuthorizationFailedError."


@pytest.mark.parametrize("missing", [TOPICS[0].name, TOPICS[-1].dead_letters])
async def test_a_check_creates_nothing_and_names_a_missing_topic(
    missing: str, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster()
    cluster.topics = {name: count for name, count in partitions_by_topic().items() if name != missing}
    with pytest.raises(StartError) as raised:
        await ensured(cluster, monkeypatch, create=False)
    assert str(raised.value) == f"The topic {missing} is missing on {BROKER}: run `agent-feedback topics --create`."
    assert (cluster.created, pauses) == ([], [])


@pytest.mark.parametrize(("existing", "given", "created"), [(12, None, 12), (12, 6, 12), (12, 24, 12)])
async def test_a_created_topic_has_as_many_partitions_as_the_others(
    existing: int, given: int | None, created: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster()
    cluster.topics = dict.fromkeys((topic.name for topic in TOPICS[1:]), existing)
    await ensured(cluster, monkeypatch, partitions=given)
    assert cluster.topics[TOPICS[0].name] == created
    assert {cluster.topics[topic.name] for topic in TOPICS[1:]} == {existing}, "only on request"


async def test_a_missing_topic_is_created_as_large_as_the_others_become(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    cluster.topics = dict.fromkeys((topic.name for topic in TOPICS[1:]), 12)
    await ensured(cluster, monkeypatch, partitions=24, extend=True)
    assert {cluster.topics[topic.name] for topic in TOPICS} == {24}


@pytest.mark.parametrize(
    ("policy", "retention", "refused"),
    [
        ("delete", "-1", True),
        ("compact,delete", "-1", False),
        ("compact,delete", "604800000", True),
        ("compact", "604800000", False),
        ("unknown", "-1", False),
        ("unsupported", "-1", False),
    ],
)
async def test_a_ledger_that_kafka_deletes_is_refused(
    policy: str, retention: str, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster()
    cluster.topics, cluster.policies = dict(partitions_by_topic()), {"feedback.created": policy}
    cluster.retention = retention
    if refused:
        with pytest.raises(StartError, match=r"Kafka may delete records of the topic feedback\.created"):
            await ensured(cluster, monkeypatch, create=False)
    else:
        await ensured(cluster, monkeypatch, create=False)
