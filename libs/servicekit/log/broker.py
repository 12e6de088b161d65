"""Factory for FastStream brokers."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from faststream.kafka import KafkaBroker
from faststream.security import BaseSecurity, SASLPlaintext, SASLScram256, SASLScram512

from contracts.topics import Consumer
from servicekit.log.cluster import Bootstrap, client_options
from servicekit.log.fetch import Polling
from servicekit.log.fetch_limits import bound_fetching
from servicekit.log.settings import METADATA_AGE_MS, KafkaSettings
from servicekit.log.subscriber import DRAIN_SECONDS, Subscription
from servicekit.settings import read_settings

Unread = Callable[[Consumer, float], Awaitable[None]]
"""Function that waits until a log has unread records of a group, for at most the given number of seconds."""


def build_broker(
    bootstrap: Bootstrap, *, client_id: str, subscriptions: Sequence[Subscription], unread: Unread | None = None
) -> KafkaBroker:
    """Create a broker with the given subscriptions, without connecting it.

    Args:
        unread: Function that waits for records, if fetches from the log do not wait for them (see `Polling`).
    """
    bound_fetching()
    broker = KafkaBroker(
        # FastStream takes a string for one address.
        [address.strip() for address in str(bootstrap).split(",")],
        security=_security(client_options(bootstrap)),
        client_id=client_id,
        graceful_timeout=DRAIN_SECONDS * 2,
        metadata_max_age_ms=METADATA_AGE_MS,
        allow_auto_create_topics=False,
        logger=logging.getLogger("faststream"),
        log_level=logging.DEBUG,
    )
    wait_seconds = read_settings(KafkaSettings).batch_wait_ms / 1_000
    for subscription in subscriptions:
        seconds = wait_seconds * 0.4 if subscription.is_prompt else wait_seconds
        subscription.attach(broker, Polling(seconds, unread and partial(unread, subscription.group)))
    return broker


def _security(options: Mapping[str, Any]) -> BaseSecurity | None:
    """Convert aiokafka's security options to FastStream's, or return None if there are none."""
    context = options.get("ssl_context")
    if mechanism := options.get("sasl_mechanism"):
        kind = {"PLAIN": SASLPlaintext, "SCRAM-SHA-256": SASLScram256, "SCRAM-SHA-512": SASLScram512}[mechanism]
        secured: BaseSecurity = kind(options["sasl_plain_username"], options["sasl_plain_password"], context)
        return secured
    return BaseSecurity(context) if context else None
