"""Model of the sample script: messages, their senders, and the delays between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

CONVERSATIONS = Path(__file__).parent / "conversations.json"


class _Written(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, frozen=True, extra="forbid")


class Reaction(_Written):
    """Reaction to the message: `by` adds or removes `emoji`, `after` minutes later."""

    by: str
    emoji: str
    after: float
    action: Literal["added", "removed"] = "added"


class Edit(_Written):
    """Edit of the message, `after` minutes after it was sent."""

    text: str
    after: float


class ScriptLine(_Written):
    """Message by `by`, sent `after` minutes after the previous one.

    By default, that is the time for reading and typing.
    `late` delays the message's arrival by that many minutes. `reply` makes it a reply to the agent's latest message.
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
    """Provenance fields that all messages of an agent share."""

    agent_version: str
    model: str


class ScriptedConversation(_Written):
    """Conversation with `agent`, started `minutes_ago`. `name` is the conversation's id."""

    name: str
    agent: str
    minutes_ago: float
    agent_version: str | None = None
    messages: tuple[ScriptLine, ...]


class Stray(_Written):
    """Event that belongs to no conversation: it refers to a missing message, or violates the contract."""

    name: str
    minutes_ago: float
    event: dict[str, Any]


class Script(_Written):
    """Sample script. `agents` and `people` are keyed by id; a person's value is the user type."""

    agents: dict[str, AgentProvenance]
    people: dict[str, str]
    conversations: tuple[ScriptedConversation, ...]
    strays: tuple[Stray, ...]


def read_script() -> Script:
    """Read the included script."""
    return Script.model_validate_json(CONVERSATIONS.read_bytes())
