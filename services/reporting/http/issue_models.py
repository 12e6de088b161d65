"""Request and response models of the HTTP API for issues."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from contracts.base import ID_PATTERN, Id, Label
from contracts.instants import format_instant
from reporting.http.bodies import RequestBody
from reporting.issues.reading import Issue, IssuePage
from reporting.issues.store import IssueState
from reporting.model.responses import ResponseModel, Time


class IssuesQuestion(RequestBody):
    agent_id: Id | None = Field(default=None, description="List only issues of this agent.")
    state: IssueState | None = Field(default=None, description="List only issues in this state.")
    limit: Annotated[int, Field(ge=1, le=500, description="Maximum number of issues in the response.")] = 100


class IssueBody(RequestBody):
    """The new state, version, assignee and note of an issue. Omitted fields are cleared."""

    state: Literal["open", "resolved", "muted"] = Field(
        description="The state. `resolved` becomes `regressed` when people reject answers of the issue again."
    )
    resolved_in: Label | None = Field(
        default=None,
        description="The version of the agent that resolves the issue; null if all versions do from now on.",
    )
    assignee: Annotated[str, Field(min_length=1, max_length=200, pattern=ID_PATTERN)] | None = Field(
        default=None, description="The person who works on the issue."
    )
    note: Annotated[str, Field(min_length=1, max_length=4_000, pattern=r"^[^\x00]+$")] | None = Field(
        default=None, description="A note on the issue."
    )


class MergeBody(RequestBody):
    into: Annotated[int, Field(ge=1, lt=2**63, description="Issue of the same agent that gets all turns.")]


class TurnBody(BaseModel):
    conversation_id: Id = Field(description="The conversation.")
    turn_id: Id = Field(description="The turn.")


class SplitBody(RequestBody):
    turns: Annotated[list[TurnBody], Field(min_length=1, max_length=1_000, description="Turns of the new issue.")]


class IssueItem(ResponseModel):
    """An issue, which is a group of an agent's rejected turns on one topic."""

    id: Annotated[int, Field(description="Id of the issue, which does not change while the issue grows.")]
    agent_id: Annotated[str, Field(description="The agent.")]
    words: Annotated[
        list[str], Field(description="Distinctive words of the issue's questions, most distinctive first.")
    ]
    state: Annotated[IssueState, Field(description="State of the issue: open, resolved, muted or regressed.")]
    resolved_in: Annotated[str | None, Field(description="The version that resolved the issue.")]
    state_at: Annotated[Time, Field(description="Time of the last change of the state.")]
    assignee: Annotated[str | None, Field(description="The person who works on the issue.")]
    note: Annotated[str | None, Field(description="A note on the issue.")]
    merged_into: Annotated[
        int | None, Field(description="The issue into which this issue was merged; null if it was not merged.")
    ]
    turns: Annotated[int, Field(description="Number of rejected turns.")]
    people: Annotated[int, Field(description="Number of people who rejected an answer.")]
    first_at: Annotated[Time | None, Field(description="Time of the first rejection; null without turns.")]
    last_at: Annotated[Time | None, Field(description="Time of the last rejection.")]
    versions: Annotated[list[str], Field(description="Versions of the agent that gave the rejected answers.")]
    days: Annotated[
        list[int], Field(description="Number of rejected turns on each of the last 14 UTC days; the last one is today.")
    ]


class IssueList(ResponseModel):
    available: Annotated[bool, Field(description="False if the server lacks the extra `issues`.")]
    waiting: Annotated[int, Field(description="Number of rejected turns that belong to no issue yet.")]
    items: Annotated[
        list[IssueItem],
        Field(description="Issues, most turns first."),
    ]


class IssueTurnItem(ResponseModel):
    """A rejected turn of an issue. Long texts are truncated, and unknown texts are null."""

    conversation_id: Annotated[str, Field(description="The conversation, also called thread.")]
    turn_id: Annotated[str, Field(description="The turn: a person's question and the agent's answer to it.")]
    user_id: Annotated[str, Field(description="The person.")]
    by_person: Annotated[
        bool, Field(description="True if a person rejected the answer, false if only the machine did.")
    ]
    ts: Annotated[Time, Field(description="Time of the rejection.")]
    agent_version: Annotated[str | None, Field(description="The agent's version.")]
    question: Annotated[str | None, Field(description="The person's question.")]
    answer: Annotated[str | None, Field(description="The agent's answer.")]
    complaint: Annotated[str | None, Field(description="The text of the rejection.")]
    trace_id: Annotated[str | None, Field(description="The answer's trace.")]


class IssueDetail(ResponseModel):
    issue: Annotated[IssueItem, Field(description="The issue.")]
    turns: Annotated[list[IssueTurnItem], Field(description="Turns of the issue, most typical first, at most 100.")]


class IssueId(ResponseModel):
    id: Annotated[int, Field(description="The issue.")]


def _time(moment: int | None) -> str | None:
    return None if moment is None else format_instant(moment)


def item_of(issue: Issue) -> IssueItem:
    """Convert an issue to its API model."""
    return IssueItem(
        id=issue.id,
        agent_id=issue.agent_id,
        words=list(issue.words),
        state=issue.state,
        resolved_in=issue.resolved_in,
        state_at=format_instant(issue.state_at),
        assignee=issue.assignee,
        note=issue.note,
        merged_into=issue.merged_into,
        turns=issue.turns,
        people=issue.people,
        first_at=_time(issue.first_at),
        last_at=_time(issue.last_at),
        versions=list(issue.versions),
        days=list(issue.days),
    )


def detail_of(page: IssuePage) -> IssueDetail:
    """Convert an issue with its turns to its API model."""
    return IssueDetail(
        issue=item_of(page.issue),
        turns=[
            IssueTurnItem(
                conversation_id=turn.conversation_id,
                turn_id=turn.turn_id,
                user_id=turn.user_id,
                by_person=turn.by_person,
                ts=format_instant(turn.occurred_at),
                agent_version=turn.agent_version,
                question=turn.question,
                answer=turn.answer,
                complaint=turn.complaint,
                trace_id=turn.trace_id,
            )
            for turn in page.turns
        ],
    )
