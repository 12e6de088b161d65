"""Selection of rows by project, conversation, time window and filters. No I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, get_args
from uuid import UUID

from contracts.base import NO_VERDICTS, CorrectionType, DecidedBy, FeedbackType, Origin, Reaction
from contracts.instants import DAY, MINUTE
from contracts.sources import FeedbackSource
from reporting.model.dimensions import ATTRIBUTES
from reporting.model.words import patterns


class Project(NamedTuple):
    tenant: str
    project: str


class ConversationScope(NamedTuple):
    tenant: str
    project: str
    conversation_id: str


class TimeSpan(NamedTuple):
    """Time window in microseconds since the epoch: `start` inclusive, `end` exclusive."""

    start: int
    end: int


ALWAYS: Final = TimeSpan(0, 253_402_300_800_000_000)
"""All times up to the end of the year 9999."""
Bucket = Literal["hour", "day", "week"]
"""Width of a time step, in UTC."""
HOUR: Final = 60 * MINUTE
WIDTHS: Final[dict[Bucket, int]] = {"hour": HOUR, "day": DAY, "week": 7 * DAY}
SHIFTS: Final[dict[Bucket, int]] = {"hour": 0, "day": 0, "week": 4 * DAY}
"""Offset of the first full bucket from the epoch, in microseconds. Weeks begin on Monday; the epoch was a Thursday."""
FoundType = FeedbackType | Literal["verdict"]
"""Type of feedback to list; `verdict` is every type except `implicit` and `rating`, which are not verdicts."""
GivenBy = Literal["person", "agent"]
"""Author of the feedback, or of the message that the machine judged: a person, or an agent (user type `agent`)."""

Judged = Reaction | Literal["any"]
"""Verdict of a person or reviewer on the turn of a machine verdict; `any` stands for each of them."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of a query. None matches everything.

    Attributes:
        reason: A tag, or the correction type of a machine verdict.
        text: A substring of the text or the correction, ignoring case.
        given_by: "agent" selects feedback from AI critics (agents that judge other agents).
        source: The source of the record (`contracts/sources.py`).
        overruled: Also include machine verdicts that a review has overruled, with the machine's reaction.
        issue: Only verdicts on the turns of this issue.
        unreviewed: Only verdicts on turns without a review.
        strategy: The strategy of the answer.
        thread: The thread of the answer.
        attributes: Attributes of the answer, all of which must match.
        judged: Only machine verdicts, including overruled ones, on turns to which a person or reviewer gave this
            verdict. `any` stands for every verdict.
        confidence_bin: Only machine verdicts with a confidence in this bin, 0 to BINS - 1.
        words: Search words. All of them must be in the text with the correction, in the question, or in the answer
            (`feedback/said.py`).
        by_answer: Also include a person's verdict on one answer of a turn that a newer verdict on another answer of the
            turn replaces. Ignored if `overruled` or `judged` is given.
        among: Only the feedback records with these ids.
    """

    agent_id: str | None = None
    agent_version: str | None = None
    model: str | None = None
    reaction: Reaction | None = None
    origins: tuple[Origin, ...] | None = None
    feedback_type: FoundType | None = None
    reason: str | None = None
    min_confidence: float | None = None
    text: str | None = None
    user_id: str | None = None
    conversation_id: str | None = None
    detector: str | None = None
    decided_by: DecidedBy | None = None
    given_by: GivenBy | None = None
    source: FeedbackSource | None = None
    overruled: bool = False
    issue: int | None = None
    unreviewed: Literal[True] | None = None
    bundle_id: str | None = None
    track_id: str | None = None
    intent: str | None = None
    user_type: str | None = None
    strategy: str | None = None
    thread: str | None = None
    attributes: tuple[tuple[str, str], ...] | None = None
    judged: Judged | None = None
    confidence_bin: int | None = None
    words: str | None = None
    by_answer: bool = False
    among: tuple[UUID, ...] | None = None

    @property
    def of_dimension(self) -> tuple[str, str, str] | None:
        """Return the field, dimension and value of the filter on a dimension with its own roll-ups.

        Returns None if there is no such filter, or more than one.
        """
        given = [
            (field, kind, value) for field, kind in _DIMENSIONS.items() if (value := getattr(self, field)) is not None
        ]
        given += [("attributes", f"{ATTRIBUTES}{name}", value) for name, value in self.attributes or ()]
        return given[0] if len(given) == 1 else None

    @property
    def view(self) -> str:
        """Return the name of the database view from which to read verdicts with these filters."""
        if self.overruled or self.judged:
            return "effective_or_overruled"
        return "effective_by_answer" if self.by_answer else "effective"

    @property
    def scans(self) -> bool:
        """Return True if a query with these filters must scan records, because no index finds the matches."""
        return self.text is not None or self.words is not None

    @property
    def has_verdicts(self) -> bool:
        """Return True if verdicts may match these filters."""
        return self.feedback_type not in NO_VERDICTS

    @property
    def has_non_verdicts(self) -> bool:
        """Return True if replies, or ratings on the project's own scales, may match these filters.

        Such records have no verdict, reason or detector.
        """
        of_verdicts = (
            *(self.reaction, self.reason, self.detector, self.decided_by, self.overruled, self.issue, self.unreviewed),
            self.judged,
        )
        by_people = self.origins is None or "user" in self.origins
        of_type = self.feedback_type is None or self.feedback_type in NO_VERDICTS
        return of_type and by_people and not any(of_verdicts)


NONE_GIVEN: Final = Filters()
_DIMENSIONS: Final = {
    "bundle_id": "bundle",
    "track_id": "track",
    "intent": "intent",
    "user_type": "user_type",
    "strategy": "strategy",
}
"""Dimensions that have their own roll-ups, by filter field."""
BINS: Final = 20
"""Number of equal-width confidence bins in which verdicts are counted."""
SAID: Final = """((coalesce(e.text, '') || ' ' || coalesce(e.correction, '')) ~* all(:words::text[]) or exists (
        select from messages m
        where m.message_id in (e.answer_id, e.question_message_id) and m.conversation_id = e.conversation_id
          and m.tenant = e.tenant and m.project = e.project and m.content ~* all(:words::text[])))"""
"""SQL condition that the text, question or answer of a row contains all words."""
_CLAUSES: Final = {
    "agent_id": "e.agent_id = :agent_id",
    "agent_version": "e.agent_version = :agent_version",
    "model": "e.model = :model",
    "reaction": "e.reaction = :reaction",
    "origins": "e.origin = any(:origins::text[])",
    "feedback_type": "(e.feedback_type = :feedback_type or :feedback_type::text = 'verdict')",
    "reason": "e.tags <> '{}' and e.tags @> array[:reason::text]",
    "min_confidence": "e.confidence >= :min_confidence",
    "text": "(e.text ilike :text or e.correction ilike :text)",
    "words": SAID,
    "among": "e.feedback_id = any(:among::uuid[])",
    "user_id": "e.user_id = :user_id",
    "conversation_id": "e.conversation_id = :conversation_id",
    "detector": "e.detector = :detector",
    "decided_by": "e.decided_by = :decided_by",
    "source": "e.source = :source",
    "given_by": "(e.user_type = 'agent') = (:given_by::text = 'agent')",
    "issue": """exists (
        select from issue_turns i
        where i.conversation_id = e.conversation_id and i.turn_id = e.turn_id and i.issue_id = :issue
          and i.tenant = :tenant and i.project = :project)""",
    # `offset 0`: one index lookup per row. With few reviews, PostgreSQL would join them by reading the whole index.
    "unreviewed": """:unreviewed and not exists (
        select from feedbacks r
        where r.conversation_id = e.conversation_id and r.turn_id = e.turn_id and r.origin = 'reviewer'
          and r.reaction is not null and r.tenant = :tenant and r.project = :project offset 0)""",
    "judged": """e.origin = 'machine' and exists (
        select from effective p
        where p.conversation_id = e.conversation_id and p.turn_id = e.turn_id and p.origin <> 'machine'
          and (p.reaction = :judged or :judged::text = 'any') and p.tenant = :tenant and p.project = :project)""",
    # Rounds like the fragment `bin` (sql/rollups.sql), so that a link to a bin's verdicts lists what the bin counts.
    "confidence_bin": f"e.origin = 'machine' and least(floor(round(e.confidence * {BINS}e6) / 1e6)::int, {BINS} - 1) ="
    " :confidence_bin",
    "bundle_id": "e.bundle_id = :bundle_id",
    "track_id": "e.track_id = :track_id",
    "intent": "e.intent = :intent",
    "user_type": "e.user_type = :user_type",
    # The conditions `is not null` permit partial indexes.
    "strategy": "e.strategy = :strategy and e.strategy is not null",
    "thread": "e.thread_id = :thread and e.thread_id is not null",
    "attributes": "e.attributes @> :attributes::jsonb",
}


def attribute_pairs(attributes: Mapping[str, str] | None) -> tuple[tuple[str, str], ...] | None:
    """Return attributes as the sorted pairs that `Filters` expects, or None if there are none."""
    return tuple(sorted(attributes.items())) if attributes else None


def substring(text: str) -> str:
    """Return the `ilike` pattern that matches texts containing `text`."""
    return "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"


def _same(value: Any) -> Any:
    return value


def _as_json(pairs: tuple[tuple[str, str], ...]) -> str:
    return json.dumps(dict(pairs))


_AS_VALUES: Final[dict[str, Callable[[Any], Any]]] = {"text": substring, "attributes": _as_json, "words": patterns}
"""Functions that convert a filter's value to the parameter of its SQL clause, by filter field."""
_CORRECTION: Final = "(e.tags <> '{}' and e.tags @> array[:reason::text] or e.correction_type = :reason::text)"
_CORRECTIONS: Final = frozenset(get_args(CorrectionType))


def where(at: Project, span: TimeSpan, filters: Filters = NONE_GIVEN) -> tuple[str, dict[str, Any]]:
    """Return the SQL condition on effective reactions `e`, and its named parameters."""
    window, narrowed, values = conditions(at, span, filters)
    return window + narrowed, values


def conditions(at: Project, span: TimeSpan, filters: Filters) -> tuple[str, str, dict[str, Any]]:
    """Return the two parts of the condition of `where`, and the named parameters.

    The first part selects the project and the time window. The second part contains the filters. It is empty or starts
    with `and`.
    """
    values: dict[str, Any] = {**at._asdict(), **span._asdict()}
    clauses: list[str] = []
    for name, clause in _CLAUSES.items():
        value = getattr(filters, name)
        if value is not None:
            values[name] = _AS_VALUES.get(name, _same)(value)
            # Search `correction_type` only for its known names: the query plan for one column is faster.
            clauses.append(_CORRECTION if name == "reason" and value in _CORRECTIONS else clause)
    window = "e.tenant = :tenant and e.project = :project and e.occurred_at >= :start and e.occurred_at < :end"
    return window, "".join(f" and {clause}" for clause in clauses), values
