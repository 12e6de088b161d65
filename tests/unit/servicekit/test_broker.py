"""Every subscriber is built by one builder with one table of settings."""

from __future__ import annotations

from unittest.mock import AsyncMock

import pytest
from faststream import AckPolicy
from faststream.kafka.subscriber.usecase import BatchSubscriber

from contracts.topics import TOPICS, Consumer
from servicekit.log.broker import Unread, build_broker
from servicekit.log.cluster import Cluster
from servicekit.log.delivery import Delivery
from servicekit.log.settings import SUBSCRIBER_SETTINGS
from servicekit.log.subscriber import DRAIN_SECONDS, Subscription
from tests.support.hand_clock import FixedClock
from tests.support.logs import NOW, RecordingLog
from tests.support.unit_handlers import NoWork

GROUPS: list[Consumer] = sorted({group for topic in TOPICS for group in topic.consumers})


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


@pytest.mark.parametrize(("unread", "milliseconds"), [(None, 500), (AsyncMock(), 100)])
def test_only_kafka_holds_a_fetch_for_long(unread: Unread | None, milliseconds: int) -> None:
    """A held fetch of the in-process log does not return when a record arrives."""
    clock = FixedClock(NOW)
    subscription = Subscription(Delivery("reporting", NoWork(), RecordingLog(), clock=clock), clock)
    broker = build_broker("localhost:1", client_id="test", subscriptions=[subscription], unread=unread)
    (subscriber,) = broker.subscribers
    assert isinstance(subscriber, BatchSubscriber)
    assert subscriber._connection_args["fetch_max_wait_ms"] == milliseconds


@pytest.mark.parametrize("bootstrap", ["one:1,two:2", Cluster("one:1, two:2")])
def test_each_of_several_addresses_is_tried(bootstrap: str | Cluster) -> None:
    broker = build_broker(bootstrap, client_id="test", subscriptions=[])
    assert broker._connection_kwargs["bootstrap_servers"] == ["one:1", "two:2"]
