"""Tracing with OpenTelemetry, enabled by TRACING_URL. OpenTelemetry's SDK is imported only if tracing is enabled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from contracts.extras import install_command
from servicekit.errors import StartError
from servicekit.settings import Settings, read_settings

if TYPE_CHECKING:
    from servicekit.otlp import Traces


class TracingSettings(Settings):
    """Settings of tracing, from environment variables with the prefix TRACING_."""

    model_config = SettingsConfigDict(env_prefix="TRACING_")

    url: str | None = Field(default=None, pattern=r"^https?://[^\x00-\x20]+$")
    """Trace endpoint of an OTLP/HTTP collector, such as http://localhost:4318/v1/traces; None disables tracing."""
    share: float = Field(default=0.01, ge=0, le=1)
    """Proportion of traces to sample, by trace id. Traces that their producer did not sample are never sampled."""


def open_traces() -> Traces | None:
    """Start tracing if the environment enables it. Raises StartError if OpenTelemetry's SDK is not installed."""
    settings = read_settings(TracingSettings)
    if settings.url is None:
        return None
    try:
        from servicekit.otlp import Traces  # only if traces are on
    except ModuleNotFoundError as error:
        raise StartError(f"TRACING_URL needs the package {error.name}: {install_command('tracing')}.") from None
    return Traces(settings.url, settings.share)
