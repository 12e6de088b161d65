"""What a question is about: a project of a tenant, a conversation, a stretch of time."""

from __future__ import annotations

from typing import NamedTuple


class Project(NamedTuple):
    tenant: str
    project: str


class Conversation(NamedTuple):
    tenant: str
    project: str
    conversation_id: str


class Span(NamedTuple):
    """Microseconds since the epoch: from `start` on, up to but without `end`."""

    start: int
    end: int
