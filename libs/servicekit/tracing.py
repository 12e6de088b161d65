"""Tracing by OpenTelemetry's protocol, enabled by TRACING_URL. While it is disabled, the SDK is not imported."""

from __future__ import annotations

from typing import Protocol

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from servicekit.errors import StartError
from servicekit.log.tracing import Tracing
from servicekit.settings import Settings, read_settings


class TracingSettings(Settings):
    """Settings from the variables TRACING_*."""

    model_config = SettingsConfigDict(env_prefix="TRACING_")

    url: str | None = Field(default=None, pattern=r"^https?://[^\x00-\x20]+$")
    """Trace endpoint of an OTLP/HTTP collector, such as http://localhost:4318/v1/traces; None disables tracing."""
    share: float = Field(default=0.01, ge=0, le=1)
    """Proportion of traces to sample, by trace id. Traces that their producer did not sample are never sampled."""


class Traces(Protocol):
    """Traces of a process, exported until `close` is called."""

    def of(self, service: str) -> Tracing:
        """Return the tracer of a service."""
        ...

    async def close(self) -> None:
        """Export all ended spans, within a few seconds."""
        ...


def open_traces() -> Traces | None:
    """Open the traces that the environment configures. Raises StartError if the SDK is not installed."""
    settings = read_settings(TracingSettings)
    if settings.url is None:
        return None
    try:
        from servicekit.otlp import OtlpTraces  # only if traces are on
    except ModuleNotFoundError as error:
        raise StartError(
            f"TRACING_URL needs the package {error.name}: pip install 'agent-feedback[tracing]'."
        ) from None
    return OtlpTraces(settings.url, settings.share)
