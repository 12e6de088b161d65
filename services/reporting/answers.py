"""Responses of the HTTP API. Times are UTC, RFC 3339 with six digits.

What an answer holds by the hundreds is a dataclass: made of our own rows it needs no validation, which would take three
times as long as all else about it.
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


class Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


@dataclass(slots=True)
class FeedbackItem:
    """One effective reaction."""

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
    """The same reaction as its artifact has it."""

    reaction: ReactionValue
    meta: ReactionMeta


@dataclass(slots=True)
class UserText:
    """People's text in a turn; several messages are joined by an empty line.

    `user_id` is the first one's, null after the person's erasure.
    """

    message_id: str
    user_id: str | None
    text: str
    ts: Time


@dataclass(slots=True)
class AgentText:
    """The agent's text in a turn; `message_id` is the last message's."""

    message_id: str
    agent_id: str | None
    text: str
    ts: Time


class Counts(Answer):
    """total = user + machine + reviewer = ok + not_ok + neutral."""

    total: Annotated[int, Field(description="user + machine + reviewer = ok + not_ok + neutral.")]
    user: Annotated[int, Field(description="Given by people.")]
    machine: Annotated[int, Field(description="Inferred from what people wrote, and not reviewed.")]
    reviewer: Annotated[int, Field(description="Given by reviewers, in place of the machine's verdicts.")]
    ok: Annotated[int, Field(description="Satisfied.")]
    not_ok: Annotated[int, Field(description="Not satisfied.")]
    neutral: Annotated[int, Field(description="Neither.")]


class Window(Answer):
    start: Time
    end: Time


# By position, in the order of the fields: with names this takes five times as long.


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
    """The artifact's form of the reaction whose item is `item`."""
    return ReactionItem(
        ReactionValue(item.turn_id, item.text, item.confidence, item.ts, item.reaction, item.origin),
        ReactionMeta(item.rn, item.turn_id, row["track_id"], row["user_type"]),
    )


def joined(rows: list[Any]) -> str:
    """The messages' texts in their order, with an empty line between."""
    return "\n\n".join(row["content"] for row in rows)
