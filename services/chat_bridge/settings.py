"""The bridge's settings, from the environment with the prefix CHAT_BRIDGE_."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class ChatBridgeSettings(BaseSettings):
    """`broker` is host:port[,host:port]; `database_url` a PostgreSQL address."""

    model_config = SettingsConfigDict(env_prefix="CHAT_BRIDGE_", frozen=True)

    broker: str = "localhost:9092"
    database_url: str = "postgresql://localhost/agent_feedback"
    parked_days: float = Field(default=7, gt=0)
    parked_limit: int = Field(default=100_000, ge=1)
    sweep_seconds: float = Field(default=5, gt=0)
