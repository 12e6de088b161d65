"""Data of the agent page and of the conversation page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote
from uuid import UUID

import asyncpg

from reporting.pages.overview import BOTH
from reporting.pages.view import View
from reporting.queries.agent import BadConversation, TellingWord, telling_words, worst_conversations
from reporting.queries.breakdown import Breakdown, breakdown
from reporting.queries.calibration import Calibration, calibration
from reporting.queries.reasons import Reason, reasons
from reporting.queries.search import beside
from reporting.queries.transcript import Transcript, transcript
from reporting.selection import Conversation, Project, Span
from reporting.votes import Votes

_REASONS: Final = 12


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One version's verdicts side by side; `name` None where the platform did not say it."""

    name: str | None
    people: Votes
    machine: Votes


@dataclass(frozen=True, slots=True)
class AgentPage:
    """`people` and `machine` are of all versions; versions are most verdicts first."""

    people: Votes
    machine: Votes
    versions: list[VersionRow]
    reasons: list[Reason]
    words: list[TellingWord]
    worst: list[BadConversation]
    calibration: Calibration


@dataclass(frozen=True, slots=True)
class ConversationPage:
    """`newer` and `older` are next to the feedback record that the reader came from.

    `reviewer` is the reader's user id if they may review, else None.
    """

    conversation: Conversation
    shown: Transcript
    newer: asyncpg.Record | None
    older: asyncpg.Record | None
    reviewer: str | None
    trace_url_template: str | None

    def has_reviewed(self, reactions: Sequence[dict[str, Any]]) -> bool:
        """Return True if the review among `reactions` that counts is the reader's."""
        return any(one["origin"] == "reviewer" and one["user_id"] == self.reviewer for one in reactions)

    def review_path(self, turn_id: str) -> str:
        """Return the path that a review of the turn is posted to."""
        tenant, project, conversation, turn = (quote(one, safe="") for one in (*self.conversation, turn_id))
        return f"/conversations/{tenant}/{project}/{conversation}/turns/{turn}/reviews"

    def review_waits(self, reviewed: UUID | None) -> bool:
        """Return True if the review accepted last is not visible yet."""
        return reviewed is not None and all(one["feedback_id"] != reviewed for one in _said(self.shown))

    def trace(self, trace_id: str | None) -> str | None:
        """Return the trace's URL; None if no template is set."""
        if self.trace_url_template is None or not trace_id:
            return None
        return self.trace_url_template.replace("{trace_id}", quote(trace_id, safe=""))


async def agent(pool: asyncpg.Pool, at: Project, view: View, span: Span) -> AgentPage:
    """Read what the agent's page shows."""
    filters = replace(view.filters, origins=None)
    counted = await breakdown(pool, at, span, filters)
    people, machine = (counted.whole[origin] for origin in BOTH)
    return AgentPage(
        people=people,
        machine=machine,
        versions=_versions(counted),
        reasons=(await reasons(pool, at, span, filters, _REASONS, rules=False)).reasons,
        words=await telling_words(pool, at, span, filters),
        worst=await worst_conversations(pool, at, span, filters),
        calibration=await calibration(pool, at, span, filters),
    )


async def conversation(
    pool: asyncpg.Pool, at: Project, view: View, span: Span, reviewer: str | None, trace_url_template: str | None
) -> ConversationPage | None:
    """Read a transcript, and what lies beside the feedback that the reader came from; None where nothing is known."""
    where = Conversation(*at, view.id or "")
    async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        shown = await transcript(connection, where, view.turn)
    if not shown.lines and not shown.stray:
        return None
    came_from = next((one for one in _said(shown) if one["feedback_id"] == view.feedback), None)
    newer = older = None
    if came_from is not None:
        place = (came_from["occurred_at"], came_from["feedback_id"])
        newer, older = await beside(pool, at, span, view.filters, place)
    return ConversationPage(where, shown, newer, older, reviewer, trace_url_template)


def _said(shown: Transcript) -> Sequence[dict[str, Any]]:
    return [one for line in shown.lines for one in line.reactions] + shown.stray


def _versions(counted: Breakdown) -> list[VersionRow]:
    names = {version.name for _, version in counted.versions}
    rows = [VersionRow(name, *(_of_version(counted, origin, name) for origin in BOTH)) for name in names]
    return sorted(rows, key=lambda one: (-(one.people.total + one.machine.total), one.name or ""))


def _of_version(counted: Breakdown, origin: str, name: str | None) -> Votes:
    return sum(
        (votes for (of, version), votes in counted.versions.items() if of == origin and version.name == name), Votes()
    )
