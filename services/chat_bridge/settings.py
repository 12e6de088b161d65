"""Settings of the bridge, from environment variables with the prefix CHAT_BRIDGE_."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from chat_bridge.sources.registry import SourceSettings


class ChatBridgeSettings(SourceSettings):
    """Settings of the bridge. `broker` is host:port[,host:port]; `database_url` is a PostgreSQL URL.

    `log_seconds` is the timeout for writing the events of an HTTP request to the log. Retention periods in days (0:
    unlimited): `message_days` for messages, and `refused_days` for rejected events. A reply or reaction waits for its
    message for `parked_days`; a tenant's waiting events have at most `parked_bytes`.

    Settings of individual sources are in their modules (`sources/`).
    """

    model_config = SettingsConfigDict(env_prefix="CHAT_BRIDGE_")

    broker: str = "localhost:9092"
    database_url: str = "postgresql://localhost/agent_feedback"
    message_days: float = Field(default=180, ge=0)
    refused_days: float = Field(default=7, ge=0)
    parked_days: float = Field(default=7, gt=0)
    parked_bytes: int = Field(default=100_000_000, ge=1)
    sweep_seconds: float = Field(default=5, gt=0)
    log_seconds: float = Field(default=5, gt=0, le=60)
