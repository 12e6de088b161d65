"""Provenance of an answer, as stated by its platform. It is copied from the agent's message to all feedback on it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from contracts.base import Model
from contracts.fields import (
    AgentVersion,
    AnswerThreadId,
    BundleId,
    Intent,
    ModelName,
    QuestionMessageId,
    TraceId,
    TrackId,
)


class ProvenanceFields(Model):
    """Provenance fields of events that are, or are about, an agent's message."""

    track_id: TrackId = None
    bundle_id: BundleId = None
    agent_version: AgentVersion = None
    model: ModelName = None
    trace_id: TraceId = None
    intent: Intent = None


class ExchangeFields(Model):
    """Question and thread of an answer, for events about the answer."""

    question_message_id: QuestionMessageId = None
    thread_id: AnswerThreadId = None


def thread_of(message_id: str, thread_id: str | None) -> str | None:
    """Return the thread that contains a message; None if the message is in the channel.

    The root message of a thread is in the channel.
    """
    return None if thread_id == message_id else thread_id


def question_named(reply_to: str | None, thread: str | None) -> str | None:
    """Return the message id of the question to which an answer replies; None if the answer names no question.

    In a thread, a reply to the thread's root message is not specific: it names the thread, not a question.
    """
    return None if thread is not None and reply_to == thread else reply_to


@dataclass(frozen=True, slots=True)
class Provenance:
    """Values of `ProvenanceFields`, with the same names."""

    track_id: str | None = None
    bundle_id: str | None = None
    agent_version: str | None = None
    model: str | None = None
    trace_id: str | None = None
    intent: str | None = None

    def fields(self) -> dict[str, Any]:
        """Return all values by name, as arguments for an event."""
        return dict(zip(self.__slots__, _VALUES(self), strict=True))

    @property
    def as_json(self) -> str | None:
        """All values as JSON, as an index stores them; None if no value is set."""
        return None if self == NO_PROVENANCE else json.dumps(self.fields())

    @classmethod
    def from_json(cls, text: str | None) -> Provenance:
        """Return the provenance that an index stored as `text`."""
        return NO_PROVENANCE if text is None else cls(**json.loads(text))


NO_PROVENANCE = Provenance()
_VALUES = attrgetter(*Provenance.__slots__)
_NOTHING = _VALUES(NO_PROVENANCE)


def provenance_of(event: ProvenanceFields) -> Provenance:
    """Return the provenance of `event`; the shared value NO_PROVENANCE if it has none."""
    values = _VALUES(event)
    return NO_PROVENANCE if values == _NOTHING else Provenance(*values)
