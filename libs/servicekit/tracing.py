"""Traces by OpenTelemetry's protocol: off unless TRACING_URL is set. The SDK is not imported while they are off."""

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
    """Traces endpoint of an OTLP/HTTP collector, such as http://localhost:4318/v1/traces; None for no traces."""
    share: float = Field(default=0.01, ge=0, le=1)
    """Share of the traces that are sampled, by trace id; of those that their producer sampled."""


class Traces(Protocol):
    """Traces of a process, sent until they are closed."""

    def of(self, service: str) -> Tracing:
        """Return the traces of a service."""
        ...

    async def close(self) -> None:
        """Send the spans that have ended, within a few seconds."""
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
