"""The reporting service's settings, from the environment."""

from __future__ import annotations

from pathlib import Path

from pydantic import AliasChoices, Field
from pydantic_settings import SettingsConfigDict

from servicekit.settings import ReadSettings


class ReportingSettings(ReadSettings):
    """Read from `REPORTING_*`. Nonsense is refused when made."""

    model_config = SettingsConfigDict(env_prefix="REPORTING_", extra="ignore")

    broker: str = "localhost:9092"
    """Where Kafka answers, `host:port` separated by commas."""
    pool_size: int = Field(default=4, ge=2, le=100)
    """Database connections of the consumer at most."""
    message_days: float = Field(default=0, ge=0)
    """Days after which a message's text goes, by the time it was written; 0 keeps all: transcripts show them."""
    feedback_days: float = Field(default=0, ge=0)
    """Days after which a feedback goes, by the time it counts for; 0 keeps all: reports count them."""
    tombstone_days: float = Field(default=30, ge=0)
    """Days that the ids of erased feedback are kept, longer than the topics keep what was said; 0 keeps all."""
    trace_url_template: str | None = Field(
        default=None,
        validation_alias=AliasChoices("REPORTING_TRACE_URL_TEMPLATE", "TRACE_URL_TEMPLATE", "trace_url_template"),
        pattern=r"^https?://[^\x00-\x20]*\{trace_id\}[^\x00-\x20]*$",
    )
    """Where a trace is looked at, with `{trace_id}` in its place; transcripts then link to it."""
    webhooks: Path | None = None
    """A file that names the receivers of webhooks (docs/webhooks.md); None for none."""
    webhook_days: float = Field(default=7, gt=0)
    """Days after which an event goes that a receiver has not taken, given up or not."""
    artifact_store_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("REPORTING_ARTIFACT_STORE_URL", "ARTIFACT_STORE_URL", "artifact_store_url"),
        pattern=r"^(file:///[^\x00-\x20?#]+|s3://[A-Za-z0-9][A-Za-z0-9._-]+(/[^\x00-\x20?#]*)?)$",
    )
    """Where artifacts are mirrored to, `file:///folder` or `s3://bucket/prefix`; None for nowhere."""
    artifact_turn_logs: bool = False
    """Whether turns' logs are mirrored there, too, each with the reactions on its turn."""
