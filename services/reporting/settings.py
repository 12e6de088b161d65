"""Settings of the reporting service, from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, Field, StringConstraints
from pydantic_settings import SettingsConfigDict

from detector.encoders import EncoderChoice
from servicekit.settings import ReadSettings

ProjectPath = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}/[A-Za-z0-9._-]{1,64}$")]
"""Tenant and project, separated by a slash."""


class ReportingSettings(ReadSettings):
    """Settings of the reporting service, read from the environment variables `REPORTING_*`.

    The constructor raises an error for invalid values.
    """

    model_config = SettingsConfigDict(env_prefix="REPORTING_", extra="ignore")

    broker: str = "localhost:9092"
    """Kafka bootstrap servers, `host:port` separated by commas."""
    pool_size: int = Field(default=4, ge=3, le=100)
    """Maximum number of database connections for the consumer and periodic work. Grouping issues and replicating
    artifacts keep one each for minutes."""
    read_database_url: str | None = None
    """PostgreSQL URL of a streaming replica for reports and exports (docs/operations.md). If it is None, the primary is
    used."""
    sentence_encoder: EncoderChoice = "auto"
    """Sentence encoder for rejected turns, with the same values as INFERENCE_SENTENCE_ENCODER. Word vectors are used
    with `none`, and with `auto` if this machine has no encoder."""
    message_days: float = Field(default=0, ge=0)
    """Retention of messages, in days since they were written; 0 keeps all. Transcripts need the messages."""
    project_message_days: dict[ProjectPath, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    """Retention of messages for single projects, which replaces `message_days`, as a JSON object such as
    `{"acme/support": 30}`."""
    feedback_days: float = Field(default=0, ge=0)
    """Retention of feedback and session ratings, in days since the time of the feedback or rating; 0 keeps all."""
    tombstone_days: float = Field(default=30, ge=0)
    """Retention of the ids of erased feedback, in days; 0 keeps all. It must be longer than the topics' retention."""
    trace_url_template: str | None = Field(
        default=None,
        validation_alias=AliasChoices("REPORTING_TRACE_URL_TEMPLATE", "TRACE_URL_TEMPLATE", "trace_url_template"),
        pattern=r"^https?://[^\x00-\x20]*\{trace_id\}[^\x00-\x20]*$",
    )
    """URL of a trace, containing `{trace_id}`; if set, transcripts link to traces."""
    attributes: str = Field(
        default="language,channel,experiment,arm,variant", pattern=r"^[^,\x00]{0,256}(,[^,\x00]{1,256}){0,9}$"
    )
    """Names of the answer attributes to store for comparisons, separated by commas, at most 10. Others are dropped."""
    webhooks: Path | None = None
    """File that defines the webhook endpoints (docs/learning.md); None for no webhooks."""
    webhook_days: float = Field(default=7, gt=0)
    """Retention of undelivered webhook events and alert messages, both waiting and dead, in days."""
    private_channels: bool = False
    """True to permit administrators of all tenants to set channels that use http, or an address outside the public
    Internet."""
    alert_days: float = Field(default=90, gt=0)
    """Retention of ended alerts, in days."""
    access_log_days: float = Field(default=365, ge=0)
    """Retention of the access log (docs/access.md), in days; 0 keeps all."""
    artifact_store_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("REPORTING_ARTIFACT_STORE_URL", "ARTIFACT_STORE_URL", "artifact_store_url"),
        pattern=r"^(file:///[^\x00-\x20?#]+|s3://[A-Za-z0-9][A-Za-z0-9._-]+(/[^\x00-\x20?#]*)?)$",
    )
    """Object store to which artifacts are replicated, `file:///folder` or `s3://bucket/prefix`. If it is None, there is
    no replication."""
    artifact_turn_logs: bool = False
    """True to also replicate turn logs, each with the reactions to its turn."""

    @property
    def compared_attributes(self) -> frozenset[str]:
        return frozenset(name.strip() for name in self.attributes.split(",") if name.strip())
