"""Shares of answered turns with feedback, and of impressions that led to feedback: the denominators of feedback.

An impression is a person and a turn whose controls for judging became visible to that person. Both shares come from
the newest rows of the window, and their intervals account for clustering: turns by conversation, impressions by person.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Final, NamedTuple

import asyncpg
from pydantic import Field

from reporting.queries.answers import ResponseModel, Window
from reporting.queries.clustering import ClusteredShare, PersonVotes, effective_size
from reporting.queries.satisfaction import window_of
from reporting.queries.selection import Filters, Project, TimeSpan
from reporting.sql import SQL

SCANNED: Final = 20_000
"""Maximum number of a window's answers, and of its impressions, newest first, that are read."""
SCANNED_BY_PAGES: Final = 5_000
"""The same for pages, which are rendered again whenever feedback arrives."""
_OF_ANSWER: Final = ("agent_id", "agent_version", "model")
"""Filters that apply to answers and impressions."""
_MOST_GROUPS: Final = 1_000


class ResponseFigures(ResponseModel):
    """Answered turns and impressions, and how many of them have feedback by now. Intervals are 95 % intervals."""

    turns: Annotated[int, Field(description="Answered turns. A turn counts for the agent of its last answer.")]
    turns_with_feedback: Annotated[int, Field(description="Those on which a person's verdict counts.")]
    feedback_share: Annotated[float | None, Field(description="turns_with_feedback / turns; null without turns.")]
    feedback_share_low: Annotated[float, Field(description="Lower bound of its interval, clustered by conversation.")]
    feedback_share_high: Annotated[float, Field(description="Upper bound of its interval, clustered by conversation.")]
    impressions: Annotated[
        int, Field(description="People and turns whose controls for judging became visible; each pair counts once.")
    ]
    viewers: Annotated[int, Field(description="People with impressions.")]
    responses: Annotated[
        int, Field(description="Impressions whose person has a verdict or a rating on the turn that counts.")
    ]
    response_rate: Annotated[float | None, Field(description="responses / impressions; null without impressions.")]
    response_rate_low: Annotated[float, Field(description="Lower bound of its interval, clustered by person.")]
    response_rate_high: Annotated[float, Field(description="Upper bound of its interval, clustered by person.")]


class AgentResponse(ResponseFigures):
    agent_id: Annotated[str, Field(description="The agent.")]


class VersionResponse(AgentResponse):
    agent_version: Annotated[str | None, Field(description="The version; null for answers without one.")]


class ResponseRates(ResponseModel):
    """Response of people to answers in a time window. Each list has at most 1,000 entries, most turns first."""

    tenant: Annotated[str, Field(description="As in the path.")]
    project: Annotated[str, Field(description="As in the path.")]
    window: Annotated[
        Window,
        Field(description="Times of the answers, and of the first impressions: `start` inclusive, `end` exclusive."),
    ]
    turns_complete: Annotated[
        bool, Field(description="True if all turns of the window are counted; false if only its newest 20,000 answers.")
    ]
    impressions_complete: Annotated[
        bool, Field(description="True if all impressions of the window are counted; false if only its newest 20,000.")
    ]
    totals: Annotated[ResponseFigures, Field(description="Of the whole window.")]
    by_agent: Annotated[list[AgentResponse], Field(description="By agent.")]
    by_agent_version: Annotated[list[VersionResponse], Field(description="By agent and version.")]


class ClusterCount(NamedTuple):
    """Turns or impressions of one agent version in one cluster, and how many of them have a response."""

    agent_id: str
    agent_version: str | None
    cluster: str
    total: int
    responses: int


Group = tuple[str | None, ...]


async def response_rates(
    pool: asyncpg.Pool, at: Project, span: TimeSpan, filters: Filters, *, scanned: int = SCANNED
) -> ResponseRates:
    """Return the shares of a window's turns and impressions that have feedback by now.

    Only the filters agent, version and model apply. At most the `scanned` newest answers and impressions are read.
    """
    values: dict[str, Any] = {**at._asdict(), **span._asdict()}
    narrowed = ""
    for name in _OF_ANSWER:
        if (given := getattr(filters, name)) is not None:
            narrowed, values[name] = f"{narrowed} and e.{name} = :{name}", given
    # All turns of a conversation are one lookup; of few of them, each is looked up.
    looked_up, of_turn = (
        ("conversation_id, turn_id", " and e.turn_id = c.turn_id") if narrowed else ("conversation_id", "")
    )
    answered = SQL.count_answered_by_conversation.filled(narrowed=narrowed, looked_up=looked_up, of_turn=of_turn)
    turns, of_turns = await _counts(pool, answered, values, scanned)
    shown, of_shown = await _counts(pool, SQL.count_impressions_by_person.filled(narrowed=narrowed), values, scanned)
    agents = _figures(turns, shown, lambda one: (one.agent_id,))
    versions = _figures(turns, shown, lambda one: (one.agent_id, one.agent_version))
    [(_, totals)] = _figures(turns, shown, lambda _: ()) or [((), figures_of((), ()))]
    return ResponseRates(
        tenant=at.tenant,
        project=at.project,
        window=window_of(span),
        turns_complete=of_turns < scanned,
        impressions_complete=of_shown < scanned,
        totals=ResponseFigures(**totals),
        by_agent=[AgentResponse(agent_id=agent, **found) for (agent,), found in agents],
        by_agent_version=[
            VersionResponse(agent_id=agent, agent_version=version, **found) for (agent, version), found in versions
        ],
    )


async def _counts(
    pool: asyncpg.Pool, statement: Any, values: dict[str, Any], scanned: int
) -> tuple[list[ClusterCount], int]:
    """Return the counts by cluster, and the number of rows that were read for them."""
    rows = await pool.fetch(*statement(**values, scanned=scanned))
    counts = [ClusterCount(*(row[name] for name in ClusterCount._fields)) for row in rows]
    return counts, rows[0]["read"] if rows else 0


def _figures(
    turns: Sequence[ClusterCount], shown: Sequence[ClusterCount], group_of: Callable[[ClusterCount], Group]
) -> list[tuple[Any, dict[str, Any]]]:
    """Return the figures of each group, most turns first."""
    grouped: dict[Group, tuple[list[ClusterCount], list[ClusterCount]]] = defaultdict(lambda: ([], []))
    for side, counts in enumerate((turns, shown)):
        for one in counts:
            grouped[group_of(one)][side].append(one)
    found = [(group, figures_of(*sides)) for group, sides in grouped.items()]
    return sorted(found, key=lambda one: (-one[1]["turns"], -one[1]["impressions"], [name or "" for name in one[0]]))[
        :_MOST_GROUPS
    ]


def figures_of(turns: Iterable[ClusterCount], shown: Iterable[ClusterCount]) -> dict[str, Any]:
    """Return the values of `ResponseFigures` for counts of turns by conversation and of impressions by person. Pure."""
    answered, _ = _clustered(turns)
    seen, viewers = _clustered(shown)
    return {
        "turns": answered.votes,
        "turns_with_feedback": answered.ok,
        "feedback_share": answered.share,
        "feedback_share_low": answered.sure.low,
        "feedback_share_high": answered.sure.high,
        "impressions": seen.votes,
        "viewers": viewers,
        "responses": seen.ok,
        "response_rate": seen.share,
        "response_rate_low": seen.sure.low,
        "response_rate_high": seen.sure.high,
    }


def _clustered(counts: Iterable[ClusterCount]) -> tuple[ClusteredShare, int]:
    """Return the share of responses, clustered, and the number of clusters."""
    totals: dict[str, int] = defaultdict(int)
    responses: dict[str, int] = defaultdict(int)
    for one in counts:
        totals[one.cluster] += one.total
        responses[one.cluster] += one.responses
    clusters = [PersonVotes(responses[name], total) for name, total in totals.items()]
    return ClusteredShare(sum(responses.values()), sum(totals.values()), effective_size(clusters)), len(clusters)
