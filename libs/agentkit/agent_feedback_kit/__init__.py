"""Kit for agent runtimes: HTTP clients, chat events, session ratings, feedback in timelines, context for planners."""

from __future__ import annotations

from agent_feedback_kit.client.asynchronous import AsyncClient
from agent_feedback_kit.client.retrying import Retries
from agent_feedback_kit.client.synchronous import Client
from agent_feedback_kit.errors import (
    AgentFeedbackError,
    Busy,
    Forbidden,
    InvalidRequest,
    NotFound,
    Refused,
    ServerFault,
    Unauthenticated,
    UnexpectedAnswer,
    Unreachable,
)
from agent_feedback_kit.events import Channel, ChatEvent
from agent_feedback_kit.planning.before import Planning, before_planning, before_planning_blocking

__all__ = [
    "AgentFeedbackError",
    "AsyncClient",
    "Busy",
    "Channel",
    "ChatEvent",
    "Client",
    "Forbidden",
    "InvalidRequest",
    "NotFound",
    "Planning",
    "Refused",
    "Retries",
    "ServerFault",
    "Unauthenticated",
    "UnexpectedAnswer",
    "Unreachable",
    "before_planning",
    "before_planning_blocking",
]
