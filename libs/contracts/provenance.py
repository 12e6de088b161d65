"""What a platform told of how an agent's message was made, carried from the message to every feedback on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


class Told(Protocol):
    """Anything that carries the five fields."""

    @property
    def track_id(self) -> str | None: ...
    @property
    def bundle_id(self) -> str | None: ...
    @property
    def agent_version(self) -> str | None: ...
    @property
    def model(self) -> str | None: ...
    @property
    def trace_id(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Provenance:
    track_id: str | None = None
    bundle_id: str | None = None
    agent_version: str | None = None
    model: str | None = None
    trace_id: str | None = None

    def fields(self) -> dict[str, Any]:
        """The five by name, for building an event."""
        return {name: getattr(self, name) for name in self.__slots__}


NOTHING_TOLD = Provenance()


def provenance_of(told: Told) -> Provenance:
    """What `told` carries; the one shared value where it carries nothing."""
    found = Provenance(told.track_id, told.bundle_id, told.agent_version, told.model, told.trace_id)
    return NOTHING_TOLD if found == NOTHING_TOLD else found
