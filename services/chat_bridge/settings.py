"""Settings of the bridge, from environment variables with the prefix CHAT_BRIDGE_."""

from __future__ import annotations

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from chat_bridge.sources.registry import SourceSettings


class ChatBridgeSettings(SourceSettings):
    """Settings of the bridge. `broker` is host:port[,host:port]; `database_url` is a PostgreSQL URL.

    - `message_source_url`: server that provides messages that were never published. A request to it takes at most
      `message_source_seconds`. Messages that it did not return are requested again every
      `message_source_again_seconds`.
    - `log_seconds`: timeout for writing the events of an HTTP request to the log.

    Retention periods in days (0: unlimited): `message_days` for messages, and `refused_days` for rejected events.

    Settings of individual sources are in their modules (`sources/`).
    """

    model_config = SettingsConfigDict(env_prefix="CHAT_BRIDGE_")

    broker: str = "localhost:9092"
    database_url: str = "postgresql://localhost/agent_feedback"
    message_days: float = Field(default=180, ge=0)
    refused_days: float = Field(default=7, ge=0)
    parked_days: float = Field(default=7, gt=0)
    parked_limit: int = Field(default=100_000, ge=1)
    sweep_seconds: float = Field(default=5, gt=0)
    log_seconds: float = Field(default=5, gt=0, le=60)
    message_source_url: str | None = Field(default=None, pattern=r"^https?://[^\x00-\x20]+$")
    message_source_token: SecretStr | None = None
    message_source_seconds: float = Field(default=2, gt=0, le=30)
    message_source_again_seconds: float = Field(default=60, gt=0)
