"""Path parameters of the HTTP routes, with their descriptions and example values."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple


class PathName(NamedTuple):
    """Description and example value of a path parameter."""

    description: str
    example: str


PATH_NAMES: Final[Mapping[str, PathName]] = MappingProxyType(
    {
        "tenant": PathName("The customer that owns the data.", "acme"),
        "project": PathName("The project within the tenant.", "support"),
        "conversation_id": PathName("The conversation, also called thread.", "c-42"),
        "turn_id": PathName("The turn: a person's question and the agent's answer to it.", "t-7"),
        "thread_id": PathName("The session's thread, which is the conversation's id.", "c-42"),
        "user_id": PathName("The person.", "user-42"),
        "request_id": PathName("The id of the accepted request.", "8d0f0d0e"),
        "endpoint": PathName("The endpoint's name in the webhooks file.", "learner"),
        "wanted": PathName("kto, dpo, sft, events or detector.", "kto"),
    }
)
"""Descriptions and examples by parameter name. `servicekit.web.routes` adds them to the handlers' parameters."""
