"""Query for the turns of a conversation with their texts and effective reactions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Annotated, Any, Final

import asyncpg
from pydantic import ConfigDict, Field, TypeAdapter

from contracts.base import Id
from contracts.instants import format_instant
from reporting.model.cursor import Moment, decode, encode, fingerprint
from reporting.model.paging import page_of
from reporting.model.requests import Days, Limit, Paged, TurnIds
from reporting.model.responses import (
    AgentText,
    FeedbackItem,
    ReactionItem,
    ResponseModel,
    UserText,
    feedback_item,
    joined,
    reaction_item,
)
from reporting.model.selection import ConversationScope
from reporting.sql import SQL
from reporting.sql.connection import Connection


@dataclass(slots=True)
class TurnLog:
    """Metadata of a turn's answer. Fields are null if the platform did not provide them."""

    turn_id: Annotated[str, Field(description="The turn: a person's question and the agent's answer to it.")]
    ts: Annotated[str, Field(description="Time of the turn's last message.")]
    messages: Annotated[int, Field(description="Number of messages in the turn.")]
    agent_id: Annotated[str | None, Field(description="The agent.")]
    intent: Annotated[str | None, Field(description="The platform's classification of the question.")]
    strategy: Annotated[str | None, Field(description="The agent's strategy for the answer.")]
    track_id: Annotated[str | None, Field(description="The platform's track that the answer belongs to.")]
    bundle_id: Annotated[str | None, Field(description="The platform's bundle that produced the answer.")]


@dataclass(slots=True)
class TurnWithFeedbacks:
    turn_id: Annotated[str, Field(description="The turn: a person's question and the agent's answer to it.")]
    user: Annotated[UserText | None, Field(description="The person's question.")]
    assistant: Annotated[AgentText | None, Field(description="The agent's answer.")]
    feedbacks: Annotated[list[FeedbackItem], Field(description="The effective reactions.")]
    reactions: Annotated[list[ReactionItem], Field(description="The same reactions as artifacts.")]
    turn_log: Annotated[TurnLog | None, Field(description="Summary of the answer's metadata.")]
    cut: Annotated[
        bool,
        Field(description="True if only the first 1 MiB of texts, or the newest 1 MiB of reactions, is included."),
    ] = False


class TurnsWithFeedbacks(ResponseModel):
    """A page of a conversation's turns with their reactions.

    `user_id` is the first person who sent a message. It is null if no person has sent a message, or if the person was
    erased.
    """

    user_id: Annotated[str | None, Field(description="The first person who sent a message in the conversation.")]
    conversation_id: Annotated[str, Field(description="The conversation, also called thread.")]
    turns: Annotated[list[TurnWithFeedbacks], Field(description="The turns in time order, at most 2 MiB of text.")]
    next_cursor: Annotated[str | None, Field(description="Cursor of the next page; null on the last page.")]


class TurnsBody(Paged):
    """Query for turns with feedback."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"turn_ids": None, "days": 365}]})

    turn_ids: TurnIds | None = Field(default=None, description="Ids of the turns; null for all turns with feedback.")
    days: Days = 365
    limit: Limit = 500


_POSITION: Final = TypeAdapter(tuple[Moment, Id])


async def turns_with_feedbacks(
    connection: Connection, scope: ConversationScope, body: TurnsBody, since: int
) -> TurnsWithFeedbacks:
    """Return a page of turns in time order, with their effective reactions.

    Args:
        since: Reactions before this time (microseconds) are ignored.

    Raises:
        BadCursor: If the cursor belongs to another conversation or other `turn_ids`.
    """
    query = fingerprint("turns", *scope, body.turn_ids)
    of = scope._asdict()
    moment, turn = (None, None) if body.cursor is None else decode(body.cursor, query, _POSITION)
    position = {"after": moment, "after_turn": turn, "limit": body.limit + 1}
    heads = await connection.fetch(*SQL.list_turns(**of, since=since, turn_ids=body.turn_ids, **position))
    page, more = page_of(heads, (row["size"] for row in heads), body.limit)
    wanted = [row["turn_id"] for row in page]
    reactions = _by_turn(await connection.fetch(*SQL.reactions_of_turns(**of, since=since, turn_ids=wanted)))
    messages = _by_turn(await connection.fetch(*SQL.messages_of_turns(**of, turn_ids=wanted)))
    questions = _by_turn(await connection.fetch(*SQL.questions_of_turns(**of, turn_ids=wanted)))
    turns = [
        _turn(turn, messages[turn], questions[turn], reactions[turn], cut=row["cut"])
        for turn, row in zip(wanted, page, strict=True)
    ]
    return TurnsWithFeedbacks(
        user_id=await connection.fetchval(*SQL.first_person(**of)),
        conversation_id=scope.conversation_id,
        turns=turns,
        next_cursor=encode(query, (page[-1]["occurred_at"], page[-1]["turn_id"])) if more else None,
    )


def _by_turn(rows: list[asyncpg.Record]) -> dict[str, list[asyncpg.Record]]:
    by_turn: dict[str, list[asyncpg.Record]] = defaultdict(list)
    for row in rows:
        by_turn[row["turn_id"]].append(row)
    return by_turn


def _turn(
    turn_id: str,
    messages: list[asyncpg.Record],
    questions: list[asyncpg.Record],
    reactions: list[asyncpg.Record],
    *,
    cut: bool,
) -> TurnWithFeedbacks:
    # If the question is one of the turn's own messages, all people's messages of the turn are shown.
    own = [row for row in messages if row["sender_type"] == "human"]
    question_ids = {row["message_id"] for row in questions}
    people = own if not question_ids or question_ids <= {row["message_id"] for row in own} else questions
    answers = [row for row in messages if row["sender_type"] == "agent"]
    feedbacks = [feedback_item(row) for row in reactions]
    return TurnWithFeedbacks(  # positional for speed, as in `answers`
        turn_id,
        _asked(people) if people else None,
        _answered(answers) if answers else None,
        feedbacks,
        [reaction_item(row, item) for row, item in zip(reactions, feedbacks, strict=True)],
        _log(turn_id, messages, answers[-1] if answers else messages[-1]) if messages else None,
        cut,
    )


def _asked(people: list[Any]) -> UserText:
    first = people[0]
    return UserText(first["message_id"], first["sender_id"], joined(people), format_instant(first["occurred_at"]))


def _answered(answers: list[asyncpg.Record]) -> AgentText:
    last = answers[-1]
    return AgentText(last["message_id"], last["agent_id"], joined(answers), format_instant(last["occurred_at"]))


def _log(turn_id: str, messages: list[asyncpg.Record], row: asyncpg.Record) -> TurnLog:
    return TurnLog(
        turn_id,
        format_instant(messages[-1]["occurred_at"]),
        len(messages),
        row["agent_id"],
        row["intent"],
        row["strategy"],
        row["track_id"],
        row["bundle_id"],
    )
