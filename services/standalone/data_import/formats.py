"""Columns in other tools' export files, and the values that distinguish scores by people from scores by models. No I/O.

Sources, looked up in November 2026:

- Langfuse: the export of the scores table (`getDatabaseReadStream.ts`, case `scores`, in langfuse/langfuse) has
  camelCase names; the export to blob storage has snake_case names and times in UTC without an offset
  (langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields). `source` is API, ANNOTATION or EVAL.
  The number of a CATEGORICAL score without a configuration is always 0, so only its label means anything.
- Phoenix: `get_span_annotations_dataframe` of phoenix.client renames `name` to `annotation_name` and flattens `result`;
  the schema SpanAnnotation of its REST API has the other fields. `annotator_kind` is HUMAN, LLM or CODE; `source` is
  APP for an annotation made in Phoenix's own pages.
- LangSmith: docs.langchain.com/langsmith/feedback-data-format, and `FeedbackSourceBase` in langsmith.schemas.
  `feedback_source.type` is api, app, model or auto_eval. `session_id` there is a tracing project, not a conversation.
- Open WebUI: the JSON that Evaluations, Feedback, Export writes (`FeedbackModel` in open_webui/models/feedbacks.py).
  Times are epoch seconds; `data.rating` is 1 or -1. In the arena, `data.model_id` is the model that answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal

TimeUnit = Literal["seconds", "milliseconds"]
"""Unit of times that are numbers, counted since 1970."""
Giver = Literal["user", "reviewer", "machine"]
"""Kind of author of a score: an end user, a reviewer or a machine."""


class Fact(StrEnum):
    """Kinds of values in a row, each of which a mapping assigns to a column."""

    id = "id"
    conversation = "conversation"
    turn = "turn"
    message = "message"
    agent = "agent"
    agent_version = "agent_version"
    model = "model"
    trace = "trace"
    person = "person"
    reviewer = "reviewer"
    time = "time"
    modified = "modified"
    name = "name"
    verdict = "verdict"
    text = "text"
    correction = "correction"


@dataclass(frozen=True, slots=True)
class ImportFormat:
    """Export format of another tool.

    Attributes:
        columns: Columns for each kind of value, in order of preference. The first column with a value decides.
        type_columns: Columns that may name the type of a score.
        verdict_columns: Columns with the value of a score, by the score's type.
        verdicts: Verdicts of values that mean the same in every file of the tool.
        time_unit: Unit of times that are numbers.
        givers: Kind of author for each value of a column, by column name.
        is_utc: True if times without an offset are in UTC.
        is_named: True if scores have names, by which an import selects them.
    """

    columns: Mapping[Fact, tuple[str, ...]] = field(default_factory=dict)
    type_columns: tuple[str, ...] = ()
    verdict_columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    verdicts: Mapping[str, str] = field(default_factory=dict)
    time_unit: TimeUnit | None = None
    givers: Mapping[str, Mapping[str, Giver]] = field(default_factory=dict)
    is_utc: bool = False
    is_named: bool = False


# A user id that only the tool knows, such as the owner of an API key, is not used as the person.
FORMATS: Final[Mapping[str, ImportFormat]] = {
    "mapped": ImportFormat(),
    "langfuse": ImportFormat(
        {
            Fact.id: ("id",),
            Fact.conversation: ("traceId", "trace_id"),
            Fact.turn: ("observationId", "observation_id", "traceId", "trace_id"),
            Fact.trace: ("traceId", "trace_id"),
            Fact.agent: ("traceName", "trace_name"),
            Fact.person: ("userId", "user_id"),
            Fact.reviewer: ("authorUserName", "author_user_id", "authorUserId"),
            Fact.time: ("timestamp",),
            Fact.modified: ("updatedAt", "updated_at"),
            Fact.name: ("name",),
            Fact.verdict: ("stringValue", "string_value", "value"),
            Fact.text: ("comment",),
        },
        type_columns=("dataType", "data_type"),
        verdict_columns={
            "NUMERIC": ("value",),
            "BOOLEAN": ("value",),
            "CATEGORICAL": ("stringValue", "string_value"),
            "TEXT": ("stringValue", "string_value"),
        },
        givers={"source": {"API": "user", "ANNOTATION": "reviewer", "EVAL": "machine"}},
        is_utc=True,
        is_named=True,
    ),
    "phoenix": ImportFormat(
        {
            Fact.id: ("id",),
            Fact.conversation: ("trace_id", "span_id"),
            Fact.turn: ("span_id", "trace_id"),
            Fact.trace: ("trace_id",),
            Fact.reviewer: ("user_id",),
            Fact.time: ("created_at",),
            Fact.modified: ("updated_at",),
            Fact.name: ("annotation_name", "name"),
            Fact.verdict: ("result.label", "result.score"),
            Fact.text: ("result.explanation",),
        },
        givers={
            "annotator_kind": {"HUMAN": "user", "LLM": "machine", "CODE": "machine"},
            "source": {"API": "user", "APP": "reviewer"},
        },
        is_utc=True,
        is_named=True,
    ),
    "langsmith": ImportFormat(
        {
            Fact.id: ("id",),
            Fact.conversation: ("trace_id", "run_id"),
            Fact.turn: ("run_id",),
            Fact.trace: ("trace_id",),
            Fact.reviewer: ("feedback_source.user_id",),
            Fact.time: ("created_at",),
            Fact.modified: ("modified_at",),
            Fact.name: ("key",),
            Fact.verdict: ("value", "score"),
            Fact.text: ("comment",),
            Fact.correction: ("correction",),
        },
        givers={"feedback_source.type": {"api": "user", "app": "reviewer", "model": "machine", "auto_eval": "machine"}},
        is_utc=True,
        is_named=True,
    ),
    "open-webui": ImportFormat(
        {
            Fact.id: ("id",),
            Fact.conversation: ("meta.chat_id",),
            Fact.message: ("meta.message_id",),
            Fact.agent: ("data.model_id", "meta.model_id"),
            Fact.model: ("data.model_id", "meta.model_id"),
            Fact.person: ("user_id",),
            Fact.time: ("created_at",),
            Fact.modified: ("updated_at",),
            Fact.verdict: ("data.rating",),
            Fact.text: ("data.comment",),
        },
        verdicts={"1": "ok", "-1": "not_ok"},
        time_unit="seconds",
    ),
}
"""Formats by name. `mapped` only has the columns that the user assigns."""
