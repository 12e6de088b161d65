"""Selection of rows by project, conversation, time window and filters. No I/O."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple, Self, get_args
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from contracts.base import NO_VERDICTS, Confidence, CorrectionType, DecidedBy, FeedbackType, Id, Label, Origin, Reaction
from contracts.instants import DAY, MINUTE
from contracts.sources import FeedbackSource
from reporting.model.dimensions import ATTRIBUTES, KNOWN


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
"""Type of feedback to list; `verdict` is every type except `implicit`, which is not a verdict."""
GivenBy = Literal["person", "agent"]
"""Author of the feedback, or of the message that the machine judged: a person, or an agent (user type `agent`)."""

Judged = Reaction | Literal["any"]
"""Verdict of a person or reviewer on the turn of a machine verdict; `any` stands for each of them."""


BINS: Final = 20
"""Number of equal-width confidence bins in which verdicts are counted."""
SOURCE_FILTER: Final = (
    "`chat`, `post` for comments on and reactions to an agent's posts and comments, `api` for judgements,"
    " `inference` or `review`."
)
_Text = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]
AnswerAttributes = Annotated[
    dict[Label, Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00]+$")]],
    Field(max_length=10),
]


class FeedbackFilter(BaseModel):
    """Filters for feedback. A record must match all of them.

    Without filters, all effective feedback and all replies match.

    In a query string, each attribute is a parameter of its own, such as `attributes.language=de`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent_id: Id | None = Field(default=None, description="The agent that answered.")
    agent_version: Label | None = Field(default=None, description="The agent's version.")
    model: Label | None = Field(default=None, description="The agent's language model.")
    reaction: Reaction | None = Field(default=None, description="The verdict.")
    origin: Origin | None = Field(
        default=None, description="`user` for people, `machine` for inferred verdicts, `reviewer` for reviews."
    )
    feedback_type: FoundType | None = Field(
        default=None,
        description="`reaction`, `explicit`, `inferred`, `implicit` for replies, or `verdict` for all types except "
        "`implicit`.",
    )
    tag: Label | None = Field(default=None, description="A reason: a tag, or a machine verdict's correction type.")
    min_confidence: Confidence | None = Field(
        default=None,
        description="Minimum confidence, 0 to 1. Rejections after long answers by the learned layer have at most 0.83.",
    )
    user_id: Id | None = Field(
        default=None, description="The person who gave the verdict, or whose message the machine judged."
    )
    conversation_id: Id | None = Field(default=None, description="Only this conversation.")
    detector: Label | None = Field(default=None, description="Only machine verdicts of this detector version.")
    decided_by: DecidedBy | None = Field(
        default=None, description="Only machine verdicts that this part of the detector decided."
    )
    given_by: GivenBy | None = Field(
        default=None, description="`person`, or `agent` for AI critics: feedback whose user type is `agent`."
    )
    source: FeedbackSource | None = Field(default=None, description=SOURCE_FILTER)
    issue: Annotated[int, Field(ge=1, lt=2**63)] | None = Field(
        default=None, description="Only verdicts on the turns of this issue."
    )
    bundle_id: Id | None = Field(default=None, description="The bundle that produced the answer.")
    track_id: Id | None = Field(default=None, description="The track that the answer belongs to.")
    intent: Label | None = Field(default=None, description="The answer's intent.")
    strategy: Label | None = Field(default=None, description="The agent's strategy for the answer.")
    user_type: Label | None = Field(default=None, description="The person's role on the platform.")
    thread: Id | None = Field(default=None, description="The thread of the answer.")
    judged: Judged | None = Field(
        default=None,
        description="Only machine verdicts, including overruled ones, on turns to which a person or reviewer gave this"
        " verdict. `any` stands for every verdict.",
    )
    confidence_bin: Annotated[int, Field(ge=0, lt=BINS)] | None = Field(
        default=None, description="Only machine verdicts whose confidence is in this twentieth, 0 to 19."
    )
    attributes: AnswerAttributes | None = Field(
        default=None,
        description="Attributes of the answer, such as `language`, if REPORTING_ATTRIBUTES lists them; in a query "
        "string `attributes.language=de`.",
    )

    @model_validator(mode="before")
    @classmethod
    def _collect_attributes(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        dotted = {name: value for name, value in values.items() if str(name).startswith(ATTRIBUTES)}
        if not dotted or values.get("attributes") is not None:
            return values
        attributes = {name.removeprefix(ATTRIBUTES): value for name, value in dotted.items()}
        return {name: value for name, value in values.items() if name not in dotted} | {"attributes": attributes}


class ListFilter(FeedbackFilter):
    """Filters of the list of feedback, which can also be searched."""

    words: _Text | None = Field(
        default=None,
        description="At most 10 words. All of them must be in the question, or all in the answer, or all in the text"
        " and correction. Case is ignored. A word also matches the beginning of a longer word.",
    )


class Filters(ListFilter):
    """Filters of a query: those of a request, and those that the kind of query adds.

    Attributes:
        origins: Only verdicts of these origins; `origin` of a request becomes the only one.
        unreviewed: Only verdicts on turns without a review.
        topic: Only verdicts on the turns of this issue, and acceptances of the agent's answers to questions with at
            least half of the issue's distinctive words.
        by_answer: Also include a person's verdict on one answer of a turn that a newer verdict on another answer of the
            turn replaces. Ignored if `judged` is set.
        among: Only the feedback records with these ids.
        trainable: Omit feedback by people who forbid training, and feedback on answers to their questions.
    """

    origins: tuple[Origin, ...] | None = None
    unreviewed: Literal[True] | None = None
    topic: int | None = None
    by_answer: bool = False
    among: tuple[UUID, ...] | None = None
    trainable: Literal[True] | None = None

    @model_validator(mode="before")
    @classmethod
    def _origin_as_origins(cls, values: Any) -> Any:
        origin = values.get("origin")
        return values if origin is None else {"origins": (origin,)} | values | {"origin": None}

    def replace(self, **changes: Any) -> Self:
        """Return these filters with other values of some fields."""
        return self.model_copy(update=changes)

    @property
    def of_dimension(self) -> tuple[str, str, str] | None:
        """The field, dimension and value of the filter on a dimension with its own roll-ups.

        Returns None if there is no such filter, or more than one.
        """
        dimensions = [
            (by.filter, by.name, value)
            for by in KNOWN.values()
            if not by.is_rolled and (value := getattr(self, by.filter)) is not None
        ]
        dimensions += [("attributes", f"{ATTRIBUTES}{name}", value) for name, value in (self.attributes or {}).items()]
        return dimensions[0] if len(dimensions) == 1 else None

    @property
    def view(self) -> str:
        """The name of the database view from which to read verdicts with these filters."""
        return "effective_or_overruled" if self.judged else "effective"

    @property
    def list_view(self) -> str:
        """The database view from which to list feedback, replies included, with these filters."""
        if self.judged:
            return "effective_or_overruled"
        return f"live_feedback({self.by_answer})"

    @property
    def scans(self) -> bool:
        """True if a query with these filters must scan records, because no index finds the matches."""
        return self.words is not None

    @property
    def has_replies(self) -> bool:
        """True if replies may match these filters.

        Replies have no verdict, reason or detector.
        """
        of_verdicts = (
            *(self.reaction, self.tag, self.detector, self.decided_by, self.issue, self.unreviewed),
            *(self.topic, self.judged),
        )
        by_people = self.origins is None or "user" in self.origins
        of_type = self.feedback_type is None or self.feedback_type in NO_VERDICTS
        return of_type and by_people and not any(of_verdicts)


def filters_of(request: FeedbackFilter) -> Filters:
    """Return the filters of a request, which may have further fields."""
    return Filters(**{name: getattr(request, name) for name in ListFilter.model_fields if hasattr(request, name)})


def _in_issue(parameter: str) -> str:
    return f"""exists (
        select from issue_turns i
        where i.conversation_id = e.conversation_id and i.turn_id = e.turn_id and i.issue_id = :{parameter}
          and i.tenant = :tenant and i.project = :project)"""


_CLAUSES: Final = {
    "agent_id": "e.agent_id = :agent_id",
    "agent_version": "e.agent_version = :agent_version",
    "model": "e.model = :model",
    "reaction": "e.reaction = :reaction",
    "origins": "e.origin = any(:origins::text[])",
    "feedback_type": "e.feedback_type = :feedback_type",
    "tag": "e.reaction is not null and e.tags <> '{}' and e.tags @> array[:tag::text]",
    "min_confidence": "e.confidence >= :min_confidence",
    "among": "e.feedback_id = any(:among::uuid[])",
    "trainable": """:trainable and not exists (
        select from training_choices c
        where c.tenant = :tenant and not c.training_allowed and c.user_id in (e.user_id, (
            select q.sender_id from exchanges x
            join messages q on q.message_id = x.question_id and q.conversation_id = x.conversation_id
                and q.tenant = x.tenant and q.project = x.project
            where x.answer_id = e.answer_id and x.conversation_id = e.conversation_id and x.tenant = :tenant
              and x.project = :project)))""",
    "user_id": "e.user_id = :user_id",
    "conversation_id": "e.conversation_id = :conversation_id",
    "detector": "e.detector = :detector",
    "decided_by": "e.decided_by = :decided_by",
    "source": "e.source = :source",
    "given_by": "(e.user_type = 'agent') = (:given_by::text = 'agent')",
    "issue": f"e.reaction is not null and {_in_issue('issue')}",
    "topic": f"""e.reaction is not null and ({_in_issue("topic")} or e.reaction = 'ok' and exists (
        select from issues i
        join messages q on q.message_id = e.question_message_id and q.conversation_id = e.conversation_id
            and q.tenant = i.tenant and q.project = i.project
        where i.id = :topic and i.tenant = :tenant and i.project = :project and i.agent_id = e.agent_id
          and i.words <> '{{}}' and cardinality(i.words) <= 2 * (
            select count(*) from unnest(i.words) as w (word) where strpos(lower(q.content), w.word) > 0)))""",
    # `offset 0`: one index lookup per row. With few reviews, PostgreSQL would join them by reading the whole index.
    "unreviewed": """:unreviewed and e.reaction is not null and not exists (
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


_CORRECTION: Final = (
    "e.reaction is not null and (e.tags <> '{}' and e.tags @> array[:tag::text] or e.correction_type = :tag::text)"
)
# `correction_type` is searched only for its known names: the query plan for one column is faster.
_CLAUSES_OF_VALUES: Final = {
    "feedback_type=verdict": "e.reaction is not null and :feedback_type::text = 'verdict'",
    **{f"tag={correction_type}": _CORRECTION for correction_type in get_args(CorrectionType)},
}
"""Clauses that replace those of _CLAUSES for one value of a filter."""


def where(project: Project, span: TimeSpan, filters: Filters) -> tuple[str, dict[str, Any]]:
    """Return the SQL condition on effective reactions `e`, and its named parameters."""
    window, narrowed, values = conditions(project, span, filters)
    return window + narrowed, values


def conditions(project: Project, span: TimeSpan, filters: Filters) -> tuple[str, str, dict[str, Any]]:
    """Return the condition that `where` returns, in two parts, and its named parameters.

    The first part selects the project and the time window. The second part contains the filters. It is empty or starts
    with `and`.
    """
    values: dict[str, Any] = {**project._asdict(), **span._asdict()}
    clauses: list[str] = []
    for name, clause in _CLAUSES.items():
        value = getattr(filters, name)
        if value is not None and value != {}:
            values[name] = json.dumps(value) if name == "attributes" else value
            clauses.append(_CLAUSES_OF_VALUES.get(f"{name}={value}", clause))
    window = "e.tenant = :tenant and e.project = :project and e.occurred_at >= :start and e.occurred_at < :end"
    return window, "".join(f" and {clause}" for clause in clauses), values
