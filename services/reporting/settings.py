"""The reporting service's settings, from the environment."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class ReportingSettings(BaseSettings):
    """Read from `REPORTING_*`. Nonsense is refused when made."""

    model_config = SettingsConfigDict(env_prefix="REPORTING_", env_ignore_empty=True, frozen=True, extra="ignore")

    broker: str = "localhost:9092"
    """Where Kafka answers, `host:port` separated by commas."""
    database_url: str = "postgresql://localhost/agent_feedback"
    """PostgreSQL's address; the service keeps to the schema `reporting` in it."""
    pool_size: int = Field(default=4, ge=2, le=100)
    """Database connections at most."""
    hosted_uri_base: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9+.-]*://[^\x00-\x20]+$")
    """Where the object store is seen from outside; artifacts then carry a `hosted_uri` below it."""
