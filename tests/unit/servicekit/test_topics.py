"""Topics are created as declared, and a check says what is missing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import SimpleNamespace
from typing import Any, Self

import pytest
from aiokafka.admin import NewTopic
from aiokafka.admin.config_resource import ConfigResource
from aiokafka.errors import IncompatibleBrokerVersion

import servicekit.log.topics as topics
from contracts.topics import TOPICS
from servicekit.errors import StartError
from servicekit.log.topics import ensure_topics, partitions_by_topic

BROKER = "kafka.example:9092"
CREATED, EXISTS, DENIED, UNKNOWN = 0, 36, 29, 3
"""Error codes of Kafka's protocol."""


class Cluster:
    """Stand-in for aiokafka's admin client and three brokers, which answer a creation with `code`."""

    def __init__(self, code: int = CREATED) -> None:
        self.code = code
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
        return {"brokers": [{"node_id": number} for number in range(3)]}

    async def describe_topics(self, names: Collection[str]) -> list[dict[str, Any]]:
        return [
            {"topic": name, "partitions": [{}] * self.topics[name], "error_code": CREATED}
            if name in self.topics
            else {"topic": name, "partitions": [], "error_code": UNKNOWN}
            for name in names
        ]

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


async def ensured(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[str]:
    """Return what `ensure_topics` says."""
    said: list[str] = []
    monkeypatch.setattr(topics, "AIOKafkaAdminClient", cluster)
    try:
        await ensure_topics(BROKER, say=said.append, **options)
    finally:
        assert cluster.closed
    return said


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
async def test_a_check_creates_nothing_and_names_a_missing_topic(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    cluster.topics = {name: count for name, count in partitions_by_topic().items() if name != missing}
    with pytest.raises(StartError) as raised:
        await ensured(cluster, monkeypatch, create=False)
    assert str(raised.value) == f"The topic {missing} is missing on {BROKER}: run `agent-feedback topics --create`."
    assert cluster.created == []


@pytest.mark.parametrize("partitions", [None, 6, 24])
async def test_a_created_topic_has_as_many_partitions_as_the_others(
    partitions: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster()
    cluster.topics = dict.fromkeys((topic.name for topic in TOPICS[1:]), 12)
    await ensured(cluster, monkeypatch, partitions=partitions)
    assert {cluster.topics[topic.name] for topic in TOPICS} == {12}, "existing topics grow only on request"


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
