"""The sample conversations as they are written down: who says what, and how long after the line before."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

CONVERSATIONS = Path(__file__).parent / "conversations.json"


class _Written(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, frozen=True, extra="forbid")


class Reaction(_Written):
    """`by` puts `emoji` on the line it stands under, or takes it away, `after` minutes later."""

    by: str
    emoji: str
    after: float
    action: Literal["added", "removed"] = "added"


class Edit(_Written):
    """The line's later wording, `after` minutes after the first."""

    text: str
    after: float


class Line(_Written):
    """Message by `by`, `after` minutes after the previous line (if missing, the time that reading and typing take).

    `late` is how many minutes after it was said the line arrives. `reply` makes it a reply to the agent's latest line.
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


class Agent(_Written):
    """Provenance in every message of an agent."""

    agent_version: str
    model: str


class Conversation(_Written):
    """An exchange with `agent` that began `minutes_ago`; its `name` is its id."""

    name: str
    agent: str
    minutes_ago: float
    agent_version: str | None = None
    messages: tuple[Line, ...]


class Stray(_Written):
    """An event that belongs to no line: one whose message is lost, or one that breaks the contract."""

    name: str
    minutes_ago: float
    event: dict[str, Any]


class Script(_Written):
    """`agents` and `people` by id; a person's value is their user type."""

    agents: dict[str, Agent]
    people: dict[str, str]
    conversations: tuple[Conversation, ...]
    strays: tuple[Stray, ...]


def read_script() -> Script:
    """The script that comes with the package."""
    return Script.model_validate_json(CONVERSATIONS.read_bytes())
