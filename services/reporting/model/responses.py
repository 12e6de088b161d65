"""Response models of the HTTP API.

Times are RFC 3339 in UTC, with microseconds.

Items that may occur hundreds of times in a response are dataclasses, built from trusted rows and not validated.
Validation would take three times as long as the rest of the response.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Self

import asyncpg
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

from contracts.base import Origin, Reaction
from contracts.instants import format_instant
from reporting.model.selection import Project, TimeSpan

REACTION_KIND = "turn.log.reaction"
Time = Annotated[str, Field(examples=["2026-11-20T09:30:00.000000Z"])]
InstantTime = Annotated[
    int, PlainSerializer(format_instant, return_type=str), Field(examples=["2026-11-20T09:30:00.000000Z"])
]
"""Time in microseconds since the epoch, which is RFC 3339 in the response."""


class ResponseModel(BaseModel):
    model_config = ConfigDict(frozen=True)


@dataclass(slots=True)
class ReactionValue:
    turn_id: Annotated[str, Field(description="The turn: a person's question and the agent's answer to it.")]
    text: Annotated[str | None, Field(description="The person's text.")]
    confidence: Annotated[float, Field(description="Confidence that the person meant this verdict, 0 to 1.")]
    ts: Annotated[Time, Field(description="Time of the feedback, RFC 3339.")]
    reaction: Annotated[Reaction, Field(description="The verdict on the answer: ok, not_ok or neutral.")]
    origin: Annotated[
        Origin, Field(description="`user` (a person), `machine` (inferred from a message) or `reviewer`.")
    ]


@dataclass(slots=True)
class FeedbackItem(ReactionValue):
    """Effective reaction: a verdict that counts for its turn."""

    rn: Annotated[str, Field(description="The feedback's resource name.")]


@dataclass(slots=True)
class ReactionMeta:
    rn: Annotated[str, Field(description="The feedback's resource name.")]
    turn_id: Annotated[str, Field(description="The turn: a person's question and the agent's answer to it.")]
    track_id: Annotated[str | None, Field(description="The platform's track that the answer belongs to.")]
    user_type: Annotated[str, Field(description="The person's role on the platform.")]
    kind: Annotated[str, Field(description="The artifact's kind.")] = REACTION_KIND


@dataclass(slots=True)
class ReactionItem:
    """Reaction represented as an artifact."""

    reaction: Annotated[ReactionValue, Field(description="The reaction itself.")]
    meta: Annotated[ReactionMeta, Field(description="The context of the reaction.")]
    conversation_id: Annotated[str, Field(description="The conversation, also called thread.")]
    bundle_id: Annotated[str | None, Field(description="The platform's bundle that produced the answer.")]


@dataclass(slots=True)
class UserText:
    """Text that people wrote in a turn. Several messages are joined with an empty line between them.

    `message_id` and `user_id` are those of the first message; `user_id` is null if that person has been erased.
    """

    message_id: Annotated[str, Field(description="The message.")]
    user_id: Annotated[str | None, Field(description="The person.")]
    text: Annotated[str, Field(description="The person's text.")]
    ts: Annotated[Time, Field(description="Time of the question's first message.")]


@dataclass(slots=True)
class AgentText:
    """Text that the agent wrote in a turn.

    `message_id` is the id of the agent's last message.
    """

    message_id: Annotated[str, Field(description="The message.")]
    agent_id: Annotated[str | None, Field(description="The agent.")]
    text: Annotated[str, Field(description="The agent's text.")]
    ts: Annotated[Time, Field(description="Time of the answer's last message.")]


class Counts(ResponseModel):
    """Counts of effective reactions by origin and by verdict."""

    total: Annotated[int, Field(description="Number of reactions: user + machine + reviewer = ok + not_ok + neutral.")]
    user: Annotated[int, Field(description="Number of people's reactions.")]
    machine: Annotated[
        int, Field(description="Number of verdicts inferred from messages and not replaced by a review.")
    ]
    reviewer: Annotated[int, Field(description="Number of reviewers' verdicts, which replace the machine's.")]
    ok: Annotated[int, Field(description="Number of reactions that are ok.")]
    not_ok: Annotated[int, Field(description="Number of reactions that are not_ok.")]
    neutral: Annotated[int, Field(description="Number of neutral reactions.")]


class JudgedShare(ResponseModel):
    """Verdicts by people or by the machine, with satisfaction and its 95 % confidence interval (Wilson)."""

    ok: Annotated[int, Field(description="Number of ok verdicts.")]
    neutral: Annotated[int, Field(description="Number of neutral verdicts.")]
    not_ok: Annotated[int, Field(description="Number of not_ok verdicts.")]
    satisfaction: Annotated[float | None, Field(description="ok / (ok + not_ok + neutral); null without verdicts.")]
    low: Annotated[float, Field(description="Lower bound of the interval, 0 to 1.")]
    high: Annotated[float, Field(description="Upper bound of the interval, 0 to 1.")]


class Window(ResponseModel):
    start: Annotated[Time, Field(description="Start of the window, RFC 3339.")]
    end: Annotated[Time, Field(description="End of the window, RFC 3339.")]

    @classmethod
    def of(cls, span: TimeSpan) -> Self:
        return cls(start=format_instant(span.start), end=format_instant(span.end))


class ProjectReport(ResponseModel):
    """Figures of a project in a time window."""

    tenant: Annotated[str, Field(description="The tenant in the path.")]
    project: Annotated[str, Field(description="The project in the path.")]
    window: Annotated[Window, Field(description="Time window: `start` inclusive, `end` exclusive.")]


def scope_of(project: Project, span: TimeSpan) -> dict[str, Any]:
    """Return the fields of a ProjectReport that name its project and time window."""
    return {**project._asdict(), "window": Window.of(span)}


# Arguments are positional, in the order of the fields: keyword arguments take five times as long.


def feedback_item(row: asyncpg.Record) -> FeedbackItem:
    return FeedbackItem(
        row["turn_id"],
        row["text"],
        row["confidence"],
        format_instant(row["occurred_at"]),
        row["reaction"],
        row["origin"],
        row["rn"],
    )


def reaction_item(row: asyncpg.Record, item: FeedbackItem) -> ReactionItem:
    """Convert a reaction to an artifact."""
    return ReactionItem(
        ReactionValue(item.turn_id, item.text, item.confidence, item.ts, item.reaction, item.origin),
        ReactionMeta(item.rn, item.turn_id, row["track_id"], row["user_type"]),
        row["conversation_id"],
        row["bundle_id"],
    )


def joined(rows: list[Any]) -> str:
    """Join the texts of messages in the given order, with an empty line between them."""
    return "\n\n".join(row["content"] for row in rows)
