"""Query for the transcript of a conversation: its messages in order, with the feedback on each turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from reporting.model.paging import page_of, size_of
from reporting.model.selection import ConversationScope
from reporting.sql import SQL
from reporting.sql.connection import Connection

MOST_MESSAGES: Final = 600


@dataclass(slots=True)
class TranscriptMessage:
    """Message in a transcript.

    Attributes:
        thread: Id of the message's thread, or empty for a message posted directly in the channel.
        sender_id: The sender, or None for an erased person.
        occurred_at: Time of the message, in microseconds.
        reactions: All reactions and replies to the turn, if the message ends the turn.
        ends_turn: True for the last agent message of a turn.
    """

    message_id: str
    thread: str
    turn_id: str | None
    sender_type: str
    sender_id: str | None
    agent_id: str | None
    agent_version: str | None
    trace_id: str | None
    content: str
    occurred_at: int
    reactions: list[dict[str, Any]] = field(default_factory=list)
    ends_turn: bool = False


@dataclass(frozen=True, slots=True)
class Transcript:
    """Transcript of a conversation.

    Attributes:
        lines: The messages.
        stray: Reactions on turns without an agent message. Empty if `cut` is True.
        cut: True if some messages are omitted.
    """

    lines: list[TranscriptMessage]
    stray: list[dict[str, Any]]
    cut: bool


async def transcript(connection: Connection, at: ConversationScope, turn_id: str | None) -> Transcript:
    """Read up to 600 messages of a conversation, with the feedback on them.

    Args:
        turn_id: The messages around this turn are read. If None, the last messages of the conversation are read.
    """
    scope = at._asdict()
    pivot = None if turn_id is None else await connection.fetchval(*SQL.start_of_turn(**scope, turn_id=turn_id))
    half = MOST_MESSAGES if pivot is None else MOST_MESSAGES // 2
    before = await connection.fetch(*SQL.transcript_before(**scope, pivot=pivot, limit=half + 1))
    following = SQL.transcript_after(**scope, pivot=pivot, limit=half + 1)
    after = [] if pivot is None else await connection.fetch(*following)
    shown_before, more_before = page_of(before, (size_of(row["content"]) for row in before), half)
    shown_after, more_after = page_of(after, (size_of(row["content"]) for row in after), half)
    lines = by_thread([TranscriptMessage(**dict(row)) for row in [*reversed(shown_before), *shown_after]])
    by_turn: dict[str, list[dict[str, Any]]] = {}
    for row in await connection.fetch(*SQL.transcript_reactions(**scope)):
        by_turn.setdefault(row["turn_id"], []).append(dict(row))
    cut = more_before or more_after
    ended: set[str] = set()
    for line in reversed(lines):
        if line.turn_id is not None and line.sender_type == "agent":
            line.ends_turn = line.turn_id not in ended
            ended.add(line.turn_id)
            line.reactions.extend(by_turn.pop(line.turn_id, ()))
    return Transcript(lines, [] if cut else [reaction for rows in by_turn.values() for reaction in rows], cut)


def by_thread(lines: Sequence[TranscriptMessage]) -> list[TranscriptMessage]:
    """Sort messages so that each thread directly follows its root message.

    Messages in the channel keep their order. If a root message is missing, its thread stays at the position of the
    thread's first message.
    """
    threads: dict[str, list[TranscriptMessage]] = {}
    for line in lines:
        if line.thread:
            threads.setdefault(line.thread, []).append(line)
    names = {line.message_id for line in lines if not line.thread}
    ordered: list[TranscriptMessage] = []
    for line in lines:
        if not line.thread:
            ordered += [line, *threads.get(line.message_id, ())]
        elif line.thread not in names and threads[line.thread][0] is line:
            ordered += threads[line.thread]
    return ordered
