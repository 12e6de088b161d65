"""Immutable model of an agent's timeline: a sequence of turns, each of which is a sequence of blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from agent_feedback_kit.answers import LatestItemJson, Origin, Reaction

FEEDBACK_BLOCK: Final = "turn.feedback"
Cache = Literal["hot", "cold"]
"""State of the model's prompt cache. `hot`: the cache contains the timeline as sent, so the timeline must not change.
Otherwise `cold`."""


@dataclass(frozen=True, slots=True)
class FeedbackMeta:
    """Metadata of a feedback block. `recorded_at` is the time at which the platform recorded the feedback."""

    feedback_id: str
    user_id: str
    origin: Origin
    reaction: Reaction | None
    confidence: float
    from_turn_id: str
    recorded_at: str


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a turn.

    Attributes:
        hidden: True if the block is not rendered.
        meta: Metadata of a feedback block (type `turn.feedback`). None for all other blocks.
    """

    type: str
    path: str
    text: str
    ts: str | None = None
    hidden: bool = False
    meta: FeedbackMeta | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    turn_id: str
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Timeline:
    """An agent's timeline of a conversation.

    Attributes:
        last_known_feedback_ts: The latest recording time of the feedback in the timeline.
        watermark: Watermark for the next feedback query.
        mid_turn: True while the agent is answering. The timeline must not be changed then.
    """

    turns: tuple[Turn, ...] = ()
    last_known_feedback_ts: str | None = None
    watermark: str | None = field(default=None, repr=False)
    mid_turn: bool = False


@dataclass(frozen=True, slots=True)
class Refreshed:
    """A timeline with the feedback merged into it.

    `announcement` is a text that tells the agent about the feedback, or None if there is none.
    """

    timeline: Timeline
    announcement: str | None


def path_of(item: LatestItemJson) -> str:
    """Return the path of a feedback block, `ar:<turn_id>.feedback.<feedback_id>`."""
    return f"ar:{item['turn_id']}.feedback.{item['feedback_id']}"
