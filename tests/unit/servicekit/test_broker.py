"""Every subscriber is built by one builder with one table of settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from faststream import AckPolicy
from faststream.kafka.subscriber.usecase import BatchSubscriber

import servicekit
from contracts.topics import TOPICS, Consumer
from servicekit.clock import FixedClock
from servicekit.log.broker import build_broker
from servicekit.log.cluster import Cluster
from servicekit.log.delivery import Delivery
from servicekit.log.settings import SUBSCRIBER_SETTINGS
from servicekit.log.subscriber import DRAIN_SECONDS, Subscription
from tests.support.logs import NOW, RecordingLog
from tests.support.unit_handlers import NoWork

GROUPS: list[Consumer] = sorted({group for topic in TOPICS for group in topic.consumers})
SOURCES = [
    file
    for root in (Path(servicekit.__file__).parents[1], Path(servicekit.__file__).parents[2] / "services")
    for file in root.rglob("*.py")
]


def test_the_settings_that_keep_records_safe() -> None:
    assert SUBSCRIBER_SETTINGS["ack_policy"] is AckPolicy.MANUAL
    assert SUBSCRIBER_SETTINGS["auto_offset_reset"] == "earliest"
    assert SUBSCRIBER_SETTINGS["partition_assignment_strategy"] == (RangePartitionAssignor,)
    times = {name: SUBSCRIBER_SETTINGS[f"{name}_ms"] for name in ("session_timeout", "heartbeat_interval")}
    assert times == {"session_timeout": 10_000, "heartbeat_interval": 3_000}
    assert SUBSCRIBER_SETTINGS["rebalance_timeout_ms"] == 60_000
    assert SUBSCRIBER_SETTINGS["max_poll_interval_ms"] == 86_400_000


@pytest.mark.parametrize("group", GROUPS)
def test_every_subscriber_has_exactly_these_settings(group: Consumer) -> None:
    clock = FixedClock(NOW)
    subscription = Subscription(Delivery(group, NoWork(), RecordingLog(), clock=clock), clock)
    broker = build_broker("localhost:1", client_id="test", subscriptions=[subscription])
    (subscriber,) = broker.subscribers
    assert isinstance(subscriber, BatchSubscriber)
    assert subscriber.topic_names_for_subscribe == [t.name for t in TOPICS if group in t.consumers]
    assert subscriber.group_id == group
    assert subscriber.ack_policy is AckPolicy.MANUAL
    assert subscriber.get_msg == subscription.polling.get_msg
    connection = subscriber._connection_args
    passed_on = {name: connection[name] for name in SUBSCRIBER_SETTINGS if name in connection}
    assert passed_on == {name: SUBSCRIBER_SETTINGS[name] for name in passed_on}
    assert {"session_timeout_ms", "auto_offset_reset", "max_poll_interval_ms", "heartbeat_interval_ms"} <= set(
        passed_on
    )
    assert connection["enable_auto_commit"] is False
    # The framework must not close a consumer whose subscription still finishes its batch.
    assert (broker.config.graceful_timeout or 0) > DRAIN_SECONDS


@pytest.mark.parametrize("bootstrap", ["one:1,two:2", Cluster("one:1, two:2")])
def test_each_of_several_addresses_is_tried(bootstrap: str | Cluster) -> None:
    broker = build_broker(bootstrap, client_id="test", subscriptions=[])
    assert broker._connection_kwargs["bootstrap_servers"] == ["one:1", "two:2"]


def test_nobody_else_makes_a_subscriber_or_a_consumer() -> None:
    makers = re.compile(r"\.subscriber\(|AIOKafkaConsumer\(|KafkaBroker\(|KafkaRouter\(")
    found = {file.name for file in SOURCES if makers.search(file.read_text("utf-8"))}
    assert found - READERS == {"broker.py"}


READERS = {"reader.py", "group_progress.py", "rewind.py"}
"""Readers without a group: commands that read a topic once, readers of the log's ends. And the command that resets the
offsets of a group without members."""
