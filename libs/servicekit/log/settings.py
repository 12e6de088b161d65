"""Kafka settings: the connection to a cluster, and the options of our consumers and producers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from faststream import AckPolicy
from pydantic import Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from servicekit.settings import Settings

Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


class KafkaSettings(Settings):
    """Settings for all Kafka clients, read from environment variables with the prefix KAFKA_.

    `ssl_ca` is the file with the trusted certificates; the default is the system's certificates. `ssl_cert` and
    `ssl_key` are the files with the client's certificate and key.

    A consumer group waits up to `batch_wait_ms` milliseconds after its last fetch, so that the next batch contains more
    records. After a full batch it does not wait, and a prompt group (`Service.consume`) waits 40 % of this time.
    """

    model_config = SettingsConfigDict(env_prefix="KAFKA_")

    security_protocol: Protocol = "PLAINTEXT"
    sasl_mechanism: Mechanism = "PLAIN"
    sasl_username: str | None = None
    sasl_password: SecretStr | None = None
    ssl_ca: Path | None = None
    ssl_cert: Path | None = None
    ssl_key: Path | None = None
    ssl_key_password: SecretStr | None = None
    batch_wait_ms: int = Field(default=100, ge=0, le=100)

    @model_validator(mode="after")
    def _are_complete(self) -> Self:
        if self.security_protocol.startswith("SASL") and not (self.sasl_username and self.sasl_password):
            raise ValueError(f"{self.security_protocol} needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD")
        if self.ssl_key is not None and self.ssl_cert is None:
            raise ValueError("KAFKA_SSL_KEY needs KAFKA_SSL_CERT")
        return self


CLIENT_PREFIX = "agent-feedback-"
"""Prefix of the client ids of all our processes."""
SESSION_TIMEOUT_MS = 10_000
MAX_RECORDS = 1_000
"""Maximum number of records in a batch."""
BATCH_TIMEOUT_SECONDS = 1.0
"""Maximum time for which a consumer waits for records, in seconds."""
METADATA_AGE_MS = 10_000
"""Maximum age of a consumer's metadata. A topic that is recreated, or gets partitions, is read within this time. The
default of aiokafka is five minutes."""
_DAY_MS = 86_400_000

SUBSCRIBER_SETTINGS: Mapping[str, Any] = {
    "batch": True,
    "ack_policy": AckPolicy.MANUAL,
    "auto_offset_reset": "earliest",
    "partition_assignment_strategy": (RangePartitionAssignor,),
    "session_timeout_ms": SESSION_TIMEOUT_MS,
    "heartbeat_interval_ms": 3_000,
    "rebalance_timeout_ms": 60_000,
    "max_poll_interval_ms": _DAY_MS,
    "max_partition_fetch_bytes": 1_310_720,
    "fetch_max_bytes": 16 * 1024 * 1024,
    "no_reply": True,
}
"""Options of every subscriber. The poll interval is a day, because `Subscription` checks liveness."""

MESSAGE_LIMIT = 2_500_000
"""Maximum bytes of one record with its key and headers; max.message.bytes of every topic."""
PRODUCER_SETTINGS: Mapping[str, Any] = {
    "acks": "all",
    "enable_idempotence": True,
    "max_batch_size": 512 * 1024,
    "max_request_size": 4 * 1024 * 1024,
    "request_timeout_ms": 20_000,
    "metadata_max_age_ms": METADATA_AGE_MS,
}
"""Options of every producer; sizes in bytes."""
LETTER_COMPRESSION = "zstd"
"""Codec of dead letters; other records are not compressed."""
