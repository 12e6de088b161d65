"""Columns in other tools' export files, and the values that distinguish scores by people from scores by models. No I/O.

Sources, looked up in November 2026:

- Langfuse: the export of the scores table (`getDatabaseReadStream.ts`, case `scores`, in langfuse/langfuse) has
  camelCase names; the export to blob storage has snake_case names and times in UTC without an offset
  (langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields). `source` is API, ANNOTATION or EVAL.
- Phoenix: `get_span_annotations_dataframe` of phoenix.client renames `name` to `annotation_name` and flattens `result`;
  the schema SpanAnnotation of its REST API has the other fields. `annotator_kind` is HUMAN, LLM or CODE; `source` is
  APP for an annotation made in Phoenix's own pages.
- LangSmith: docs.langchain.com/langsmith/feedback-data-format, and `FeedbackSourceBase` in langsmith.schemas.
  `feedback_source.type` is api, app, model or auto_eval. `session_id` there is a tracing project, not a conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal

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
        columns: Columns for each kind of value, in order of preference.
        givers: Kind of author for each value of a column, by column name.
        is_utc: True if times without an offset are in UTC.
        is_named: True if scores have names, by which an import selects them.
    """

    columns: Mapping[Fact, tuple[str, ...]] = field(default_factory=dict)
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
            Fact.turn: ("traceId", "trace_id"),
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
        {"source": {"API": "user", "ANNOTATION": "reviewer", "EVAL": "machine"}},
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
        {
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
        {"feedback_source.type": {"api": "user", "app": "reviewer", "model": "machine", "auto_eval": "machine"}},
        is_utc=True,
        is_named=True,
    ),
}
"""Formats by name. `mapped` only has the columns that the user assigns."""
