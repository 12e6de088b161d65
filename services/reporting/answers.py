"""Response models of the HTTP API. Times are RFC 3339 in UTC, with microseconds.

Items that a response contains by the hundred are dataclasses. They are built from our own rows, so they need no
validation, which would take three times as long as the rest of the response.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import asyncpg
from pydantic import BaseModel, ConfigDict, Field

from contracts.base import Origin, Reaction
from contracts.instants import format_instant

REACTION_KIND = "turn.log.reaction"
Time = Annotated[str, Field(examples=["2026-11-20T09:30:00.000000Z"])]


class ResponseModel(BaseModel):
    model_config = ConfigDict(frozen=True)


@dataclass(slots=True)
class FeedbackItem:
    """Effective reaction: a verdict that counts on its turn."""

    turn_id: str
    ts: Time
    text: str | None
    reaction: Reaction
    confidence: float
    origin: Origin
    rn: str


@dataclass(slots=True)
class ReactionValue:
    turn_id: str
    text: str | None
    confidence: float
    ts: Time
    reaction: Reaction
    origin: Origin


@dataclass(slots=True)
class ReactionMeta:
    rn: str
    turn_id: str
    track_id: str | None
    user_type: str
    kind: str = REACTION_KIND


@dataclass(slots=True)
class ReactionItem:
    """Reaction in the form of its artifact."""

    reaction: ReactionValue
    meta: ReactionMeta


@dataclass(slots=True)
class UserText:
    """People's text in a turn; several messages are joined with an empty line.

    `user_id` is the first message's sender, null after the person's erasure.
    """

    message_id: str
    user_id: str | None
    text: str
    ts: Time


@dataclass(slots=True)
class AgentText:
    """Agent's text in a turn; `message_id` is the id of the agent's last message."""

    message_id: str
    agent_id: str | None
    text: str
    ts: Time


class Counts(ResponseModel):
    """Numbers of effective reactions by origin and by verdict."""

    total: Annotated[int, Field(description="user + machine + reviewer = ok + not_ok + neutral.")]
    user: Annotated[int, Field(description="Reactions of people.")]
    machine: Annotated[int, Field(description="Verdicts inferred from messages and not reviewed.")]
    reviewer: Annotated[int, Field(description="Reviewers' verdicts, which replace the machine's.")]
    ok: Annotated[int, Field(description="Satisfied.")]
    not_ok: Annotated[int, Field(description="Not satisfied.")]
    neutral: Annotated[int, Field(description="Neither.")]


class Window(ResponseModel):
    start: Time
    end: Time


# Arguments are positional, in the order of the fields: keyword arguments take five times as long.


def feedback_item(row: asyncpg.Record) -> FeedbackItem:
    return FeedbackItem(
        row["turn_id"],
        format_instant(row["occurred_at"]),
        row["text"],
        row["reaction"],
        row["confidence"],
        row["origin"],
        row["rn"],
    )


def reaction_item(row: asyncpg.Record, item: FeedbackItem) -> ReactionItem:
    """Return the reaction `item` in the form of its artifact."""
    return ReactionItem(
        ReactionValue(item.turn_id, item.text, item.confidence, item.ts, item.reaction, item.origin),
        ReactionMeta(item.rn, item.turn_id, row["track_id"], row["user_type"]),
    )


def joined(rows: list[Any]) -> str:
    """Join the messages' texts in the given order, with an empty line between them."""
    return "\n\n".join(row["content"] for row in rows)
