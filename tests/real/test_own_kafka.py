"""docs/deployment.md's section "Run on your own Kafka", on a cluster of one broker."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from servicekit.log.topics import partitions_by_topic
from tests.support.command import agent_feedback
from tests.support.local_kafka import LocalKafka

pytestmark = pytest.mark.real


async def test_topics_are_made_with_as_many_copies_as_there_are_brokers(tmp_path: Path) -> None:
    async with LocalKafka(tmp_path / "kafka") as kafka:
        made = await agent_feedback("topics", "--create", "--broker", kafka.bootstrap)
        assert made.code == 0, made.err
        assert "1 of 3 replicas" in made.err
        again = await agent_feedback("topics", "--create", "--broker", kafka.bootstrap)
        assert again.code == 0, again.err
        assert "replicas" not in again.err
        admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap)
        await admin.start()
        try:
            described = await admin.describe_topics(list(partitions_by_topic()))
        finally:
            await admin.close()
    copies = {len(partition["replicas"]) for topic in described for partition in topic["partitions"]}
    assert (len(described), copies) == (len(partitions_by_topic()), {1})
