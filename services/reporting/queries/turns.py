"""The turns of one conversation with their texts and effective reactions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import asyncpg

from contracts.instants import format_instant
from reporting.answers import (
    AgentText,
    Answer,
    FeedbackItem,
    ReactionItem,
    UserText,
    feedback_item,
    joined,
    reaction_item,
)
from reporting.database import Connection
from reporting.scope import Conversation


class TurnLog(Answer):
    """The compact log of a turn: how its answer was made, as far as the platform said."""

    turn_id: str
    ts: str
    messages: int
    agent_id: str | None
    intent: str | None
    strategy: str | None
    track_id: str | None
    bundle_id: str | None


class TurnWithFeedbacks(Answer):
    turn_id: str
    user: UserText | None
    assistant: AgentText | None
    feedbacks: list[FeedbackItem]
    reactions: list[ReactionItem]
    turn_log: TurnLog | None


class TurnsWithFeedbacks(Answer):
    """`user_id` is the person who began the conversation, null where no person's message is known."""

    user_id: str | None
    conversation_id: str
    turns: list[TurnWithFeedbacks]


_HERE: Final = "tenant = $1 and project = $2 and conversation_id = $3"
_REACTIONS: Final = f"""
select turn_id, text, reaction, confidence, origin, rn, track_id, user_type, occurred_at
from effective
where {_HERE} and occurred_at >= $4 and ($5::text[] is null or turn_id = any($5::text[]))
order by occurred_at, feedback_id
"""
_MESSAGES: Final = f"""
select turn_id, message_id, sender_type, sender_id, agent_id, content, occurred_at,
       intent, strategy, track_id, bundle_id
from messages
where {_HERE} and turn_id = any($4::text[])
order by occurred_at, sequence, message_id
"""
# A person's message that names no turn belongs to the answer that follows it.
_ASKED: Final = f"""
select a.turn_id, q.*
from (
    select distinct on (turn_id) turn_id, occurred_at, sequence
    from messages where {_HERE} and turn_id = any($4::text[]) and sender_type = 'agent'
    order by turn_id, occurred_at, sequence
) a
cross join lateral (
    select message_id, sender_type, sender_id, content, occurred_at, turn_id as own_turn
    from messages m
    where {_HERE} and (m.occurred_at, m.sequence) < (a.occurred_at, a.sequence)
    order by m.occurred_at desc, m.sequence desc
    limit 1
) q
where q.sender_type = 'human' and q.own_turn is null
"""
_PERSON: Final = f"""
select sender_id from messages where {_HERE} and sender_type = 'human' order by occurred_at, sequence limit 1
"""


async def turns_with_feedbacks(
    connection: Connection, at: Conversation, turn_ids: Sequence[str] | None, since: int
) -> TurnsWithFeedbacks:
    """The known ones of `turn_ids`, in time order; None means every turn with a reaction.

    Reactions are effective and live, given at or after `since` (microseconds).
    """
    reactions: dict[str, list[asyncpg.Record]] = defaultdict(list)
    for row in await connection.fetch(_REACTIONS, *at, since, turn_ids):
        reactions[row["turn_id"]].append(row)
    wanted = list(reactions) if turn_ids is None else list(dict.fromkeys(turn_ids))
    messages: dict[str, list[asyncpg.Record]] = defaultdict(list)
    for row in await connection.fetch(_MESSAGES, *at, wanted):
        messages[row["turn_id"]].append(row)
    unasked = [turn for turn, rows in messages.items() if all(row["sender_type"] == "agent" for row in rows)]
    asked = {row["turn_id"]: row for row in await connection.fetch(_ASKED, *at, unasked)} if unasked else {}
    known = [turn for turn in wanted if turn in messages or turn in reactions]
    known.sort(key=lambda turn: ((messages.get(turn) or reactions[turn])[0]["occurred_at"], turn))
    turns = [_turn(turn, messages.get(turn, []), asked.get(turn), reactions.get(turn, [])) for turn in known]
    person = await connection.fetchval(_PERSON, *at)
    return TurnsWithFeedbacks(user_id=person, conversation_id=at.conversation_id, turns=turns)


def _turn(
    turn_id: str, messages: list[asyncpg.Record], asked: asyncpg.Record | None, reactions: list[asyncpg.Record]
) -> TurnWithFeedbacks:
    people: list[Any] = [row for row in messages if row["sender_type"] == "human"] or ([asked] if asked else [])
    answers = [row for row in messages if row["sender_type"] == "agent"]
    return TurnWithFeedbacks(
        turn_id=turn_id,
        user=UserText(
            message_id=people[0]["message_id"],
            user_id=people[0]["sender_id"],
            text=joined(people),
            ts=format_instant(people[0]["occurred_at"]),
        )
        if people
        else None,
        assistant=AgentText(
            message_id=answers[-1]["message_id"],
            agent_id=answers[-1]["agent_id"],
            text=joined(answers),
            ts=format_instant(answers[0]["occurred_at"]),
        )
        if answers
        else None,
        feedbacks=[feedback_item(row) for row in reactions],
        reactions=[reaction_item(row) for row in reactions],
        turn_log=_log(turn_id, messages, answers[-1] if answers else messages[-1]) if messages else None,
    )


def _log(turn_id: str, messages: list[asyncpg.Record], made: asyncpg.Record) -> TurnLog:
    return TurnLog(
        turn_id=turn_id,
        ts=format_instant(messages[0]["occurred_at"]),
        messages=len(messages),
        agent_id=made["agent_id"],
        intent=made["intent"],
        strategy=made["strategy"],
        track_id=made["track_id"],
        bundle_id=made["bundle_id"],
    )
