"""Conversation page: a transcript with the feedback on each turn, and the form to review it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

import asyncpg
from fastapi import Response

from contracts.scopes import REVIEW
from reporting.feedback.search import following
from reporting.model.paging import page_of, size_of
from reporting.model.selection import ConversationScope, Project, TimeSpan
from reporting.pages.review import MOST_LEFT, ReviewQueue, queue_at, review_path, sample_at
from reporting.pages.view import trace_url
from reporting.pages.visits import PageSources, Visit
from reporting.sql import SQL
from reporting.sql.connection import Connection
from servicekit.errors import RequestRefused

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


@dataclass(frozen=True, slots=True)
class ConversationPage:
    """Data of the conversation page.

    Attributes:
        newer: Next newer record about another turn in the feedback list, if the viewer came from the list.
        older: Next older record about another turn in the feedback list, if the viewer came from the list.
        reviewer: User id of the viewer, or None if the viewer may not review.
    """

    conversation: ConversationScope
    shown: Transcript
    newer: asyncpg.Record | None
    older: asyncpg.Record | None
    reviewer: str | None
    trace_url_template: str | None
    came_from: Mapping[str, Any] | None
    """Feedback record that the viewer opened from the list."""
    queue: ReviewQueue | None = None
    """Position of the viewer in a review queue; None outside of a queue."""

    def has_reviewed(self, reactions: Sequence[dict[str, Any]]) -> bool:
        """Return True if the viewer wrote the effective review among these reactions."""
        return any(record["origin"] == "reviewer" and record["user_id"] == self.reviewer for record in reactions)

    def review_path(self, turn_id: str) -> str:
        """Return the API path of the turn's reviews."""
        return review_path(Project(*self.conversation[:2]), self.conversation.conversation_id, turn_id)

    def shows(self, feedback_id: UUID) -> bool:
        """Return True if the transcript contains this feedback record."""
        return any(record["feedback_id"] == feedback_id for record in _said(self.shown))

    def trace(self, trace_id: str | None) -> str | None:
        """Return the URL of the trace, or None if no template is set or `trace_id` is None."""
        return trace_url(self.trace_url_template, trace_id)


async def show_conversation(sources: PageSources, visit: Visit) -> Response:
    """Render the transcript of a conversation, and record the access."""
    view = visit.view
    if view.id is None:
        raise RequestRefused(400, "It has no conversation id.")
    reviewer = visit.caller.subject if REVIEW in visit.caller.scopes else None
    span = await sources.span(visit)
    shown = await conversation(sources, visit, span, reviewer)
    if shown is None:
        raise RequestRefused(404, "This project has no messages or feedback of the conversation.")
    await sources.note(visit, "read", view.id)
    if reviewer and view.audit is not None:
        shown = replace(shown, queue=await sample_at(sources.current, visit))
    elif reviewer and view.queue and shown.came_from is not None:
        shown = replace(shown, queue=await queue_at(sources.current, visit, span, shown.came_from))
    return visit.page("conversation.html", c=shown, most_left=MOST_LEFT)


async def conversation(
    sources: PageSources, visit: Visit, span: TimeSpan, reviewer: str | None
) -> ConversationPage | None:
    """Return the data of the conversation page, or None if the conversation has neither messages nor feedback.

    If the viewer came from the feedback list, the data include the neighbours of the opened record.
    """
    pool, view = sources.current, visit.view
    where = ConversationScope(*visit.project, view.id or "")
    async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        shown = await transcript(connection, where, view.turn)
    if not shown.lines and not shown.stray:
        return None
    came_from = next((record for record in _said(shown) if record["feedback_id"] == view.feedback), None)
    newer = older = None
    if came_from is not None and not view.queue:
        position = (came_from["occurred_at"], came_from["feedback_id"])
        of_turn = (where.conversation_id, came_from["turn_id"])
        older = await following(pool, visit.project, span, view.listed, position, of_turn)
        newer = await following(pool, visit.project, span, view.listed, position, of_turn, newer=True)
    return ConversationPage(where, shown, newer, older, reviewer, sources.trace_url_template, came_from)


def _said(shown: Transcript) -> Sequence[dict[str, Any]]:
    return [record for line in shown.lines for record in line.reactions] + shown.stray


async def transcript(connection: Connection, project: ConversationScope, turn_id: str | None) -> Transcript:
    """Read up to 600 messages of a conversation, with the feedback on them.

    Args:
        turn_id: The messages around this turn are read. If None, the last messages of the conversation are read.
    """
    scope = project._asdict()
    pivot = None if turn_id is None else await connection.fetchval(*SQL.start_of_turn(**scope, turn_id=turn_id))
    half = MOST_MESSAGES if pivot is None else MOST_MESSAGES // 2
    before = await connection.fetch(*SQL.transcript_before(**scope, pivot=pivot, limit=half + 1))
    following = SQL.transcript_after(**scope, pivot=pivot, limit=half + 1)
    after = [] if pivot is None else await connection.fetch(*following)
    shown_before, more_before = page_of(before, (size_of(row["content"]) for row in before), half)
    shown_after, more_after = page_of(after, (size_of(row["content"]) for row in after), half)
    lines = by_thread([TranscriptMessage(**dict(row)) for row in [*reversed(shown_before), *shown_after]])
    cut = more_before or more_after
    turns = [line.turn_id for line in lines] if cut else None
    by_turn: dict[str, list[dict[str, Any]]] = {}
    for row in reversed(await connection.fetch(*SQL.transcript_reactions(**scope, turn_ids=turns))):
        by_turn.setdefault(row["turn_id"], []).append(dict(row))
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
