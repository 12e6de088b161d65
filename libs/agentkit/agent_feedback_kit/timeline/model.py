"""A timeline as values: turns with their blocks, and the position up to which feedback is merged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from agent_feedback_kit.answers import LatestItemJson, Origin, Reaction

FEEDBACK_BLOCK: Final = "turn.feedback"
Cache = Literal["hot", "cold"]
"""`hot` if the model's prompt cache still contains the timeline as it was sent, which must then not change; else
`cold`."""


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
    """Timeline. `last_known_feedback_ts` is the latest merged recording time, `watermark` the one for the next query.

    `mid_turn`: the agent is answering at this moment, so nothing is refreshed.
    """

    turns: tuple[Turn, ...] = ()
    last_known_feedback_ts: str | None = None
    watermark: str | None = field(default=None, repr=False)
    mid_turn: bool = False


@dataclass(frozen=True, slots=True)
class Refreshed:
    """Timeline after a refresh, and the text that tells the agent about feedback; None without feedback."""

    timeline: Timeline
    announcement: str | None


def path_of(item: LatestItemJson) -> str:
    """Return the path of a feedback's block: `ar:<turn_id>.feedback.<feedback_id>`."""
    return f"ar:{item['turn_id']}.feedback.{item['feedback_id']}"
