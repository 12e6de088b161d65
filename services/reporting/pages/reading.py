"""Data for the agent page and the conversation page."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote
from uuid import UUID

import asyncpg

from reporting.feedback.search import neighbours
from reporting.figures.calibration import Calibration, calibration
from reporting.figures.reasons import Reason, reasons
from reporting.figures.votes import Votes
from reporting.model.selection import ConversationScope, Project, TimeSpan
from reporting.pages.comparison import Releases, releases, steps_of
from reporting.pages.overview import BOTH, Link
from reporting.pages.queries.breakdown import Breakdown
from reporting.pages.queries.transcript import Transcript, transcript
from reporting.pages.review import ReviewQueue, review_path
from reporting.pages.view import View
from reporting.reviews.kinds import KindCounts, VerdictKind, kind_of
from reporting.reviews.sample import reviewed_kinds

_REASONS: Final = 12


@dataclass(frozen=True, slots=True)
class VersionRow:
    """Verdicts on one agent version. `name` is None if the answers have no version."""

    name: str | None
    people: Votes
    machine: Votes


@dataclass(frozen=True, slots=True)
class AgentPage:
    """Data of the agent page.

    Attributes:
        people: People's verdicts on all versions.
        machine: Machine verdicts on all versions, with reviews.
        versions: Verdicts by version, those with the most verdicts first.
    """

    people: Votes
    machine: Votes
    versions: list[VersionRow]
    reasons: list[Reason]
    releases: Releases
    calibration: Calibration


@dataclass(frozen=True, slots=True)
class ConversationPage:
    """Data of the conversation page.

    Attributes:
        newer: The next newer record in the feedback list, if the viewer opened a record from the list.
        older: The next older record in the feedback list, if the viewer opened a record from the list.
        reviewer: The viewer's user id if the viewer may review, otherwise None.
    """

    conversation: ConversationScope
    shown: Transcript
    newer: asyncpg.Record | None
    older: asyncpg.Record | None
    reviewer: str | None
    trace_url_template: str | None
    reviewed_kinds: KindCounts
    """Numbers of reviewed machine verdicts in the project, and of those that were right, by kind."""
    came_from: Mapping[str, Any] | None
    """Feedback record that the viewer opened from the list."""
    queue: ReviewQueue | None = None
    """Position of the viewer in a review queue; None outside of a queue."""

    def accuracy_of(self, one: Mapping[str, Any]) -> VerdictKind | None:
        """Return the precision of machine verdicts of this kind, or None if the record is not a machine verdict."""
        if one["origin"] != "machine" or one["reaction"] is None:
            return None
        return kind_of(one["reaction"], one["decided_by"], self.reviewed_kinds)

    def has_reviewed(self, reactions: Sequence[dict[str, Any]]) -> bool:
        """Return True if the viewer wrote the effective review among these reactions."""
        return any(one["origin"] == "reviewer" and one["user_id"] == self.reviewer for one in reactions)

    def review_path(self, turn_id: str) -> str:
        """Return the API path of the turn's reviews."""
        return review_path(Project(*self.conversation[:2]), self.conversation.conversation_id, turn_id)

    def review_waits(self, reviewed: UUID | None) -> bool:
        """Return True if a submitted review is not in the transcript yet.

        Args:
            reviewed: Id of the review that the viewer has just submitted, or None.
        """
        return reviewed is not None and all(one["feedback_id"] != reviewed for one in _said(self.shown))

    def trace(self, trace_id: str | None) -> str | None:
        """Return the URL of the trace, or None if no template is set or `trace_id` is None."""
        return trace_url(self.trace_url_template, trace_id)


def trace_url(template: str | None, trace_id: str | None) -> str | None:
    """Return the URL of a trace, or None if no template is set or the trace is unknown."""
    return None if template is None or not trace_id else template.replace("{trace_id}", quote(trace_id, safe=""))


def path_of(template: str, at: Project) -> str:
    """Return a route's path with the tenant and project of `at` filled in."""
    return template.format(tenant=quote(at.tenant, safe=""), project=quote(at.project, safe=""))


async def agent(pool: asyncpg.Pool, at: Project, view: View, span: TimeSpan, link: Link) -> AgentPage:
    """Return the data of the agent page."""
    filters = view.filters.replace(origins=None)
    # Independent statements run at the same time on several connections.
    (counted, shown_releases), why, accuracy = await asyncio.gather(
        _releases(pool, at, view, span, link),
        reasons(pool, at, span, filters, _REASONS, rules=False),
        calibration(pool, at, span, filters, by_detector=False),
    )
    people, machine = (counted.whole[origin] for origin in BOTH)
    return AgentPage(
        people=people,
        machine=machine,
        versions=_versions(counted),
        reasons=why.reasons,
        releases=shown_releases,
        calibration=accuracy,
    )


async def _releases(
    pool: asyncpg.Pool, at: Project, view: View, span: TimeSpan, link: Link
) -> tuple[Breakdown, Releases]:
    counted = await steps_of(pool, at, span, view)
    return counted, await releases(pool, at, span, view, counted, link)


async def conversation(
    pool: asyncpg.Pool, at: Project, view: View, span: TimeSpan, reviewer: str | None, trace_url_template: str | None
) -> ConversationPage | None:
    """Return the data of the conversation page, or None if the conversation has neither messages nor feedback.

    If the viewer came from the feedback list, the data include the neighbours of the opened record.
    """
    where = ConversationScope(*at, view.id or "")
    async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        shown = await transcript(connection, where, view.turn)
        counts = await reviewed_kinds(connection, at) if any(one["origin"] == "machine" for one in _said(shown)) else {}
    if not shown.lines and not shown.stray:
        return None
    came_from = next((one for one in _said(shown) if one["feedback_id"] == view.feedback), None)
    newer = older = None
    if came_from is not None and not view.queue:
        place = (came_from["occurred_at"], came_from["feedback_id"])
        newer, older = await neighbours(pool, at, span, view.listed, place)
    return ConversationPage(where, shown, newer, older, reviewer, trace_url_template, counts, came_from)


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
