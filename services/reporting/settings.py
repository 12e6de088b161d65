"""Settings of the reporting service, from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import AliasChoices, Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from chat_completions.setting_types import EndpointKey, EndpointUrl
from contracts.base import Id
from reporting.suspects.rules import BURST_TURNS
from servicekit import ReadSettings


class ReportingSettings(ReadSettings):
    """Settings from the variables `REPORTING_*`; the constructor raises for invalid values."""

    model_config = SettingsConfigDict(env_prefix="REPORTING_", extra="ignore")

    broker: str = "localhost:9092"
    """Kafka bootstrap servers, `host:port` separated by commas."""
    pool_size: int = Field(default=4, ge=2, le=100)
    """Maximum number of the consumer's database connections."""
    read_database_url: str | None = None
    """PostgreSQL URL of a streaming replica for reports and exports (docs/operations.md); None: reads use the
    primary."""
    read_lag_seconds: float = Field(default=5, gt=0, le=3_600)
    """Maximum lag of the replica, in seconds. While the lag is greater, reads use the primary."""
    sentence_encoder: str = "auto"
    """Encoder of rejected turns, with the same values as INFERENCE_SENTENCE_ENCODER. Word vectors are used if it is
    `none`, or `auto` and no encoder is on this machine."""
    title_url: EndpointUrl = ""
    """Base URL of an OpenAI-compatible endpoint for titles of issues, up to /v1; if empty, titles consist of words."""
    title_model: str = ""
    """Name of the model at `title_url`."""
    title_key: EndpointKey = SecretStr("")
    """Bearer token for `title_url`."""
    message_days: float = Field(default=0, ge=0)
    """Retention of messages, which transcripts need, in days since they were written; 0 keeps all."""
    feedback_days: float = Field(default=0, ge=0)
    """Retention of feedback and session ratings, in days since the time of the feedback or rating; 0 keeps all."""
    impression_days: float = Field(default=90, ge=0)
    """Retention of impressions (which person saw which answer), in days since the first view; 0 keeps all."""
    tombstone_days: float = Field(default=30, ge=0)
    """Retention of the ids of erased feedback, in days; must exceed the topics' retention. 0 keeps all."""
    trace_url_template: str | None = Field(
        default=None,
        validation_alias=AliasChoices("REPORTING_TRACE_URL_TEMPLATE", "TRACE_URL_TEMPLATE", "trace_url_template"),
        pattern=r"^https?://[^\x00-\x20]*\{trace_id\}[^\x00-\x20]*$",
    )
    """URL of a trace, containing `{trace_id}`; if set, transcripts link to traces."""
    attributes: str = Field(
        default="language,channel,experiment,arm,variant", pattern=r"^[^,\x00]{0,256}(,[^,\x00]{1,256}){0,9}$"
    )
    """Names of answer attributes to store for comparisons, separated by commas, at most 10. Others are dropped."""
    webhooks: Path | None = None
    """File that defines the webhook endpoints (docs/webhooks.md); None for no webhooks."""
    webhook_days: float = Field(default=7, gt=0)
    """Retention of undelivered webhook events, dead or waiting, in days."""
    journal_days: float = Field(default=7, ge=0)
    """Retention of the outcomes of events without effect (`where`), in days since the outcome; 0 keeps all."""
    alerts: Path | None = None
    """File with alert channels, rules and digests (docs/alerts.md); None for rules set on the page only."""
    secret_key: str | None = Field(default=None, repr=False)
    """Key that encrypts the URLs of channels set on the alerts page; None: only the file can define channels."""
    private_channels: bool = False
    """True to permit administrators of all tenants to set channels with http, or with addresses outside of the public
    Internet."""
    alert_days: float = Field(default=90, gt=0)
    """Retention of ended alerts, of unsent alert messages, and of the record of sent digests, in days."""
    resolved_notice_minutes: float = Field(default=0, ge=0, le=525_600)
    """Delay in minutes from an issue's resolution to the publication of `feedback.resolved` for the people who rejected
    its answers; 0 disables it."""
    resolved_notice_days: float = Field(default=7, gt=0, le=3_650)
    """Maximum age of a resolution at which people are notified, in days; also the retention of the notices."""
    session_days: float = Field(default=7, gt=0)
    """Lifetime of a session after sign-in with a password, in days."""
    identity_provider: Path | None = None
    """File with the OpenID provider for sign-in (docs/access.md); None: sign-in with passwords only."""
    access_log_days: float = Field(default=365, ge=0)
    """Retention of the access log (docs/access.md), in days; 0 keeps all."""
    person_limit: int = Field(default=60, ge=0, le=1_000_000)
    """Maximum number of emoji reactions of a person that count per minute; more are marked as suspect. 0: no limit."""
    burst_turns: int = Field(default=BURST_TURNS, ge=0, le=1_000_000)
    """Minimum number of turns for a burst: equal verdicts by one person within ten seconds, which are marked as suspect
    (docs/suspects.md). 0 disables the rule."""
    shared_users: Annotated[tuple[Id, ...], NoDecode] = ()
    """User ids that several people share, separated by commas. Rules never mark their verdicts as suspect."""
    artifact_store_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("REPORTING_ARTIFACT_STORE_URL", "ARTIFACT_STORE_URL", "artifact_store_url"),
        pattern=r"^(file:///[^\x00-\x20?#]+|s3://[A-Za-z0-9][A-Za-z0-9._-]+(/[^\x00-\x20?#]*)?)$",
    )
    """Object store to which artifacts are replicated, `file:///folder` or `s3://bucket/prefix`; None for no
    replication."""
    artifact_turn_logs: bool = False
    """True to also replicate turn logs, each with the reactions to its turn."""

    @property
    def compared_attributes(self) -> frozenset[str]:
        return frozenset(name.strip() for name in self.attributes.split(",") if name.strip())

    @model_validator(mode="after")
    def _model_of_titles(self) -> Self:
        if self.title_url and not self.title_model:
            raise ValueError("REPORTING_TITLE_URL needs REPORTING_TITLE_MODEL")
        return self

    @field_validator("shared_users", mode="before")
    @classmethod
    def _split(cls, users: object) -> object:
        return tuple(name.strip() for name in users.split(",") if name.strip()) if isinstance(users, str) else users
