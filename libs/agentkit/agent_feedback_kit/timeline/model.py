"""Immutable model of a timeline: turns with their blocks, and the time up to which feedback has been merged."""

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
    """Metadata of a feedback block. `recorded_at` is the time at which the platform recorded the block's content."""

    feedback_id: str
    user_id: str
    origin: Origin
    reaction: Reaction | None
    confidence: float
    from_turn_id: str
    recorded_at: str


@dataclass(frozen=True, slots=True)
class Block:
    """Part of a turn. Only blocks of the type `turn.feedback` have `meta`; hidden blocks are not rendered."""

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
    """An agent's timeline.

    `last_known_feedback_ts` is the latest recording time among merged feedback. `watermark` is the watermark for the
    next query. `mid_turn` is True while the agent is answering; nothing is refreshed then.
    """

    turns: tuple[Turn, ...] = ()
    last_known_feedback_ts: str | None = None
    watermark: str | None = field(default=None, repr=False)
    mid_turn: bool = False


@dataclass(frozen=True, slots=True)
class Refreshed:
    """Timeline after a refresh. `announcement` informs the agent of new feedback; it is None without new feedback."""

    timeline: Timeline
    announcement: str | None


def path_of(item: LatestItemJson) -> str:
    """Return the path of a feedback record's block: `ar:<turn_id>.feedback.<feedback_id>`."""
    return f"ar:{item['turn_id']}.feedback.{item['feedback_id']}"
