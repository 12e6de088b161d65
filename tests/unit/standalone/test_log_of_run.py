"""The Kafka of a run: how it is opened, and how other commands find it again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contracts.topics import KAFKA_PARTITIONS
from servicekit.errors import StartError
from servicekit.log.cluster import Bootstrap, Cluster
from servicekit.log.write_signal import signal_of
from standalone import log as run_log
from standalone.embedded.kafka_parts import USER, cluster_with
from standalone.embedded.ports import free_port
from standalone.log import facts_of_log, log_of, open_log
from tests.support.waits import PATIENCE_SECONDS


def password_of(log: Bootstrap) -> str | None:
    password = log.security.sasl_password if isinstance(log, Cluster) else None
    return None if password is None else password.get_secret_value()


@pytest.mark.parametrize(
    ("choice", "log", "secret"),
    [
        ("memory", "127.0.0.1:9", None),
        ("local", cluster_with("127.0.0.1:9", "s3cret"), "s3cret"),
        ("local", cluster_with("127.0.0.1:9", None), None),
        ("127.0.0.1:9", Cluster("127.0.0.1:9"), None),
    ],
)
def test_commands_find_the_log_of_a_run(choice: str, log: Bootstrap, secret: str | None) -> None:
    facts = facts_of_log(choice, log)
    assert facts == {"log": choice, "broker": "127.0.0.1:9"} | ({} if secret is None else {"kafka_secret": secret})
    found = log_of(facts)
    assert (str(found), password_of(found)) == ("127.0.0.1:9", secret)
    assert isinstance(found, Cluster) is (choice != "memory")
    if secret is not None:
        assert isinstance(found, Cluster)
        assert (found.security.sasl_username, found.security.security_protocol) == (USER, "SASL_PLAINTEXT")


def test_the_password_of_your_own_kafka_stays_in_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_SECURITY_PROTOCOL", "SASL_PLAINTEXT")
    monkeypatch.setenv("KAFKA_SASL_USERNAME", "me")
    monkeypatch.setenv("KAFKA_SASL_PASSWORD", "mine")
    facts = {"log": "h:1", "broker": "h:1"}
    assert password_of(log_of(facts)) == "mine"
    assert facts_of_log("h:1", log_of(facts)) == facts


async def test_a_log_in_memory_has_all_topics_and_wakes_its_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, asked = iter([False, True]), list[str]()

    class Broker:
        bootstrap = "127.0.0.1:9"

        def __init__(self, topics: dict[str, int]) -> None:
            assert topics["feedback.created"] > 0 and "feedback.created.dlq" in topics

        def __enter__(self) -> Broker:
            return self

        def __exit__(self, *_: object) -> None:
            asked.append("stops")

        def track_writes(self) -> None:
            asked.append("tracks")

        def was_written(self) -> bool:
            return next(written, False)

    monkeypatch.setattr("standalone.embedded.memory_broker.MemoryBroker", Broker)
    monkeypatch.setattr("standalone.embedded.write_watch.INTERVAL_SECONDS", 0)
    before = asyncio.all_tasks()
    async with open_log("memory", tmp_path, print, None) as found, asyncio.timeout(PATIENCE_SECONDS):
        assert found == "127.0.0.1:9"
        signal = signal_of(found)
        assert signal is not None
        await signal.after(0, PATIENCE_SECONDS)
        assert signal.count == 1, "readers are woken by writes only"
    assert asked == ["tracks", "stops"]
    assert asyncio.all_tasks() == before


async def test_a_local_kafka_is_kept_in_the_state_folder_and_has_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    class Kafka:
        def __init__(self, directory: Path, *, secret: str, say: Callable[[str], None]) -> None:
            assert (directory, say) == (tmp_path / "kafka", print)
            self.cluster = cluster_with("127.0.0.1:9", secret)

        async def __aenter__(self) -> Kafka:
            return self

        async def __aexit__(self, *_: object) -> None:
            made.append("stopped")

    async def ensure_topics(cluster: Cluster, **more: Any) -> None:
        made.append((cluster, more))

    monkeypatch.setattr("standalone.embedded.local_kafka.LocalKafka", Kafka)
    monkeypatch.setattr(run_log, "ensure_topics", ensure_topics)
    secrets = set()
    for _ in range(2):
        async with open_log("local", tmp_path, print, None) as found:
            secrets.add(password_of(found))
            assert made.pop() == (found, {"say": print})
        assert made.pop() == "stopped"
    assert [len(secret or "") for secret in secrets] == [48, 48]


async def test_topics_of_your_own_kafka_are_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    async def ensure_topics(cluster: Cluster, **more: Any) -> None:
        made.append((str(cluster), more))

    monkeypatch.setattr(run_log, "ensure_topics", ensure_topics)
    async with open_log("127.0.0.1:9", tmp_path, print, 20) as found:
        assert (str(found), isinstance(found, Cluster)) == ("127.0.0.1:9", True)
    assert made == [("127.0.0.1:9", {"partitions": KAFKA_PARTITIONS, "say": print})]


async def test_your_own_kafka_must_answer_in_time(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(StartError, match=f"^Nothing answered at {address} within 0 s"):
        async with open_log(address, tmp_path, lambda _: None, 0.05):
            raise AssertionError("there is no broker")
