"""Data model of the sample script: messages, their senders, and the delays between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

CONVERSATIONS = Path(__file__).parent / "conversations.json"


class _Written(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, frozen=True, extra="forbid")


class Reaction(_Written):
    """A reaction to a message: `by` adds or removes `emoji`, `after` minutes after the message."""

    by: str
    emoji: str
    after: float
    action: Literal["added", "removed"] = "added"


class Edit(_Written):
    """An edit of a message, `after` minutes after it was sent."""

    text: str
    after: float


class ScriptLine(_Written):
    """A message written by `by`.

    It is sent `after` minutes after the previous message. By default, this is the time that it takes to read that
    message and type this one. Its event arrives `late` minutes after the message was sent. If `reply` is true, it
    replies to the agent's latest message.
    """

    by: str
    text: str
    after: float | None = None
    late: float = 0
    reply: bool = False
    intent: str | None = None
    strategy: str | None = None
    validation_outcome: str | None = None
    quality_score: float | None = None
    edit: Edit | None = None
    reactions: tuple[Reaction, ...] = ()


class AgentProvenance(_Written):
    """The provenance fields that are the same in all messages of an agent."""

    agent_version: str
    model: str


class ScriptedConversation(_Written):
    """A conversation with `agent` that started `minutes_ago`. `name` is the id of the conversation."""

    name: str
    agent: str
    minutes_ago: float
    agent_version: str | None = None
    messages: tuple[ScriptLine, ...]


class Stray(_Written):
    """An event that belongs to no conversation. It refers to a missing message, or it violates the contract."""

    name: str
    minutes_ago: float
    event: dict[str, Any]


class Script(_Written):
    """The sample script. `agents` and `people` are keyed by id; the values of `people` are user types."""

    agents: dict[str, AgentProvenance]
    people: dict[str, str]
    conversations: tuple[ScriptedConversation, ...]
    strays: tuple[Stray, ...]


def read_script() -> Script:
    """Load the sample script, which is part of the package."""
    return Script.model_validate_json(CONVERSATIONS.read_bytes())
