"""What the HTTP API answers. Times are UTC, RFC 3339 with six digits."""

from __future__ import annotations

from typing import Annotated, Any

import asyncpg
from pydantic import BaseModel, ConfigDict, Field

from contracts.base import Origin, Reaction
from contracts.instants import format_instant

REACTION_KIND = "turn.log.reaction"
Time = Annotated[str, Field(examples=["2026-11-20T09:30:00.000000Z"])]


class Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class FeedbackItem(Answer):
    """One effective reaction."""

    turn_id: str
    ts: Time
    text: str | None
    reaction: Reaction
    confidence: float
    origin: Origin
    rn: str


class ReactionValue(Answer):
    turn_id: str
    text: str | None
    confidence: float
    ts: Time
    reaction: Reaction
    origin: Origin


class ReactionMeta(Answer):
    rn: str
    turn_id: str
    track_id: str | None
    user_type: str
    kind: str = REACTION_KIND


class ReactionItem(Answer):
    """The same reaction as its artifact has it."""

    reaction: ReactionValue
    meta: ReactionMeta


class UserText(Answer):
    """What people wrote in a turn; several messages are joined by an empty line."""

    message_id: str
    user_id: str
    text: str
    ts: Time


class AgentText(Answer):
    """What the agent answered in a turn; `message_id` is the last message's."""

    message_id: str
    agent_id: str | None
    text: str
    ts: Time


class Counts(Answer):
    """total = user + machine = ok + not_ok + neutral."""

    total: Annotated[int, Field(description="user + machine = ok + not_ok + neutral.")]
    user: Annotated[int, Field(description="Given by people.")]
    machine: Annotated[int, Field(description="Inferred from what people wrote.")]
    ok: Annotated[int, Field(description="Satisfied.")]
    not_ok: Annotated[int, Field(description="Not satisfied.")]
    neutral: Annotated[int, Field(description="Neither.")]


class Window(Answer):
    start: Time
    end: Time


def feedback_item(row: asyncpg.Record) -> FeedbackItem:
    return FeedbackItem(
        turn_id=row["turn_id"],
        ts=format_instant(row["occurred_at"]),
        text=row["text"],
        reaction=row["reaction"],
        confidence=row["confidence"],
        origin=row["origin"],
        rn=row["rn"],
    )


def reaction_item(row: asyncpg.Record) -> ReactionItem:
    return ReactionItem(
        reaction=ReactionValue(
            turn_id=row["turn_id"],
            text=row["text"],
            confidence=row["confidence"],
            ts=format_instant(row["occurred_at"]),
            reaction=row["reaction"],
            origin=row["origin"],
        ),
        meta=ReactionMeta(rn=row["rn"], turn_id=row["turn_id"], track_id=row["track_id"], user_type=row["user_type"]),
    )


def joined(rows: list[Any]) -> str:
    """The messages' texts in their order, with an empty line between."""
    return "\n\n".join(row["content"] for row in rows)
