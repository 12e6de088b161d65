"""Provenance of an agent's answer, such as its model and version, as reported by the agent's platform.

All feedback on an answer includes a copy of the answer's provenance.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from contracts.base import Model
from contracts.fields import (
    AgentVersion,
    AnswerThreadId,
    Attributes,
    BundleId,
    Intent,
    ModelName,
    QuestionMessageId,
    Strategy,
    TraceId,
    TrackId,
)


class ProvenanceFields(Model):
    """Provenance fields of agents' messages and of events about them."""

    track_id: TrackId = None
    bundle_id: BundleId = None
    agent_version: AgentVersion = None
    model: ModelName = None
    trace_id: TraceId = None
    intent: Intent = None
    strategy: Strategy = None
    attributes: Attributes = None


class ExchangeFields(Model):
    """Fields that identify the question that was answered, and the thread of the answer."""

    question_message_id: QuestionMessageId = None
    thread_id: AnswerThreadId = None


@dataclass(frozen=True, slots=True)
class Provenance:
    """Provenance of an answer, with the same fields as `ProvenanceFields`."""

    track_id: str | None = None
    bundle_id: str | None = None
    agent_version: str | None = None
    model: str | None = None
    trace_id: str | None = None
    intent: str | None = None
    strategy: str | None = None
    attributes: Mapping[str, str] | None = None

    def fields(self) -> dict[str, Any]:
        """Return all values by field name, for use as keyword arguments of an event."""
        return dict(zip(self.__slots__, _VALUES(self), strict=True))

    @property
    def as_json(self) -> str | None:
        """All values as a JSON string for storage in an index, or None if no value is set."""
        return None if self == NO_PROVENANCE else json.dumps(self.fields())

    @classmethod
    def from_json(cls, text: str | None) -> Provenance:
        """Create a provenance from the result of `as_json`."""
        return NO_PROVENANCE if text is None else cls(**json.loads(text))


NO_PROVENANCE = Provenance()
_VALUES = attrgetter(*Provenance.__slots__)
_NOTHING = _VALUES(NO_PROVENANCE)


def provenance_of(event: ProvenanceFields) -> Provenance:
    """Return the provenance of an event. If the event has none, the shared value NO_PROVENANCE is returned."""
    values = _VALUES(event)
    return NO_PROVENANCE if values == _NOTHING else Provenance(*values)
