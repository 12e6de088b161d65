"""Feedback share and response rate.

The feedback share is the share of answered turns that have feedback. The response rate is the share of impressions that
led to feedback. An impression is recorded when the feedback controls of a turn become visible to a person.

Both shares are computed from the newest rows of the time window. Their confidence intervals account for clustering: of
turns by conversation, and of impressions by person.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

import asyncpg
from pydantic import Field

from reporting.queries.answers import ResponseModel, Window
from reporting.queries.clustering import ClusteredShare, PersonVotes, effective_size_of
from reporting.queries.satisfaction import window_of
from reporting.queries.selection import Filters, Project, TimeSpan
from reporting.sql import SQL

SCANNED: Final = 20_000
"""Maximum number of answers, and of impressions, that the API reads from a time window (newest first)."""
SCANNED_BY_PAGES: Final = 4_000
"""Maximum number of answers, and of impressions, that a page reads (newest first). It is lower than for the API because
pages reload when feedback arrives."""
LISTED_BY_PAGES: Final = 13
"""Maximum number of entries in each list of a page, which shows 12 and whether there are more."""
_OF_ANSWER: Final = ("agent_id", "agent_version", "model")
"""Filters that apply to answers and impressions."""
_MOST_GROUPS: Final = 1_000


class ResponseFigures(ResponseModel):
    """Counts of answered turns and impressions, and of those that have feedback so far.

    The shares have 95 % confidence intervals.
    """

    turns: Annotated[
        int, Field(description="Number of answered turns. A turn is attributed to the agent of its last answer.")
    ]
    turns_with_feedback: Annotated[
        int, Field(description="Number of answered turns with a person's effective verdict.")
    ]
    feedback_share: Annotated[float | None, Field(description="turns_with_feedback / turns; null without turns.")]
    feedback_share_low: Annotated[
        float,
        Field(description="Lower bound of the interval of `feedback_share`, adjusted for clustering by conversation."),
    ]
    feedback_share_high: Annotated[
        float,
        Field(description="Upper bound of the interval of `feedback_share`, adjusted for clustering by conversation."),
    ]
    impressions: Annotated[
        int,
        Field(
            description="Number of impressions: pairs of a person and a turn with feedback controls that became "
            "visible to the person."
        ),
    ]
    viewers: Annotated[int, Field(description="Number of people with impressions.")]
    responses: Annotated[
        int,
        Field(
            description="Number of impressions with an effective verdict or a rating by the same person on the turn."
        ),
    ]
    response_rate: Annotated[float | None, Field(description="responses / impressions; null without impressions.")]
    response_rate_low: Annotated[
        float, Field(description="Lower bound of the interval of `response_rate`, adjusted for clustering by person.")
    ]
    response_rate_high: Annotated[
        float, Field(description="Upper bound of the interval of `response_rate`, adjusted for clustering by person.")
    ]


class AgentResponse(ResponseFigures):
    agent_id: Annotated[str, Field(description="The agent.")]


class VersionResponse(AgentResponse):
    agent_version: Annotated[str | None, Field(description="The version; null for answers without one.")]


class ResponseRates(ResponseModel):
    """Feedback shares and response rates in a time window. Each list has at most 1,000 entries, most turns first."""

    tenant: Annotated[str, Field(description="The tenant in the path.")]
    project: Annotated[str, Field(description="The project in the path.")]
    window: Annotated[
        Window,
        Field(description="Time window of the answers and of the impressions: `start` inclusive, `end` exclusive."),
    ]
    turns_complete: Annotated[
        bool,
        Field(description="True if all answers in the window were read, false if only the newest 20,000 were."),
    ]
    impressions_complete: Annotated[
        bool,
        Field(description="True if all impressions in the window were read, false if only the newest 20,000 were."),
    ]
    totals: Annotated[ResponseFigures, Field(description="Figures of the whole window.")]
    by_agent: Annotated[list[AgentResponse], Field(description="Figures by agent.")]
    by_agent_version: Annotated[list[VersionResponse], Field(description="Figures by agent and version.")]


class Sides(NamedTuple):
    """Turns and impressions of one group (a version, an agent or all agents).

    Attributes:
        turns: Maps pairs (turns with feedback, turns) to the number of conversations with these counts.
        shown: Maps pairs (responses, impressions) to the number of people with these counts.
    """

    turns: dict[PersonVotes, int]
    shown: dict[PersonVotes, int]

    @property
    def rank(self) -> tuple[int, int]:
        """Return the total number of turns and the total number of impressions."""
        turns, shown = (sum(one.verdicts * number for one, number in side.items()) for side in self)
        return turns, shown


Group = tuple[str | None, ...]
_NAMES: Final[dict[int, tuple[str, ...]]] = {3: (), 1: ("agent_id",), 0: ("agent_id", "agent_version")}
"""Names of the columns that identify a group, by `level`, the result of SQL's grouping()."""


Grouping = Literal["agent", "version"]
"""Groups that a page lists: agents, or their versions. PostgreSQL sorts the rows once for each level of groups."""
_LEVELS: Final[dict[Grouping | None, dict[str, str]]] = {
    None: {
        "version": "agent_version",
        "levels": "(m.agent_id, m.agent_version, m.cluster), (m.agent_id, m.cluster), (m.cluster)",
    },
    "agent": {"version": "null::text", "levels": "(m.agent_id, m.agent_version, m.cluster), (m.cluster)"},
    "version": {"version": "agent_version", "levels": "(m.agent_id, m.agent_version, m.cluster), (m.cluster)"},
}
"""SQL fragments for the placeholders of both statements. With `agent`, all versions are null."""


def shown_slots(narrowed: str, by: Grouping | None = None) -> dict[str, str]:
    """Return the SQL fragments for the placeholders of `count_impressions_by_person`.

    Args:
        narrowed: Additional SQL condition, which may be empty.
    """
    return {"narrowed": narrowed, **_LEVELS[by]}


def answered_slots(narrowed: str, by: Grouping | None = None) -> dict[str, str]:
    """Return the SQL fragments for the placeholders of `count_answered_by_conversation`.

    Args:
        narrowed: Additional SQL condition, which may be empty.
    """
    # Without a condition, one lookup finds all turns of a conversation. With a condition, each turn is looked up.
    looked_up, of_turn = (
        ("conversation_id, turn_id", " and e.turn_id = c.turn_id") if narrowed else ("conversation_id", "")
    )
    return {**shown_slots(narrowed, by), "looked_up": looked_up, "of_turn": of_turn}


async def response_rates(
    pool: asyncpg.Pool,
    at: Project,
    span: TimeSpan,
    filters: Filters,
    *,
    scanned: int = SCANNED,
    most: int = _MOST_GROUPS,
    by: Grouping | None = None,
) -> ResponseRates:
    """Return the proportions of answered turns and of impressions that have feedback so far.

    Only the filters for agent, version and model apply. A turn is matched by its last answer.

    Args:
        scanned: Maximum number of answers to read, newest first, before filtering. The same limit applies to
            impressions.
        most: Maximum number of entries in each list.
        by: If given, only the list with this grouping is filled. Otherwise, all lists are filled.
    """
    values: dict[str, Any] = {**at._asdict(), **span._asdict()}
    narrowed = ""
    for name in _OF_ANSWER:
        if (given := getattr(filters, name)) is not None:
            narrowed, values[name] = f"{narrowed} and e.{name} = :{name}", given
    answered = SQL.count_answered_by_conversation.filled(**answered_slots(narrowed, by))
    found = [
        await pool.fetch(*statement(**values, scanned=scanned))
        for statement in (answered, SQL.count_impressions_by_person.filled(**shown_slots(narrowed, by)))
    ]
    groups = _groups(found, by)
    [(_, totals)] = _figures(groups[3], 1) or [((), figures_of(Sides({}, {})))]
    of_turns, of_shown = (rows[0]["read"] for rows in found)
    return ResponseRates(
        tenant=at.tenant,
        project=at.project,
        window=window_of(span),
        turns_complete=of_turns < scanned,
        impressions_complete=of_shown < scanned,
        totals=ResponseFigures(**totals),
        by_agent=[AgentResponse(agent_id=agent, **found) for (agent,), found in _figures(groups[1], most)],
        by_agent_version=[
            VersionResponse(agent_id=agent, agent_version=version, **found)
            for (agent, version), found in _figures(groups[0], most)
        ],
    )


async def rates_for_page(
    pool: asyncpg.Pool, at: Project, span: TimeSpan, filters: Filters, by: Grouping
) -> ResponseRates:
    """Return the response rates for a dashboard page.

    They are computed from fewer answers and impressions than in the API, and only the largest groups are listed.
    """
    return await response_rates(pool, at, span, filters, scanned=SCANNED_BY_PAGES, most=LISTED_BY_PAGES, by=by)


def _groups(found: Sequence[Sequence[asyncpg.Record]], by: Grouping | None) -> dict[int, dict[Group, Sides]]:
    """Collect the result rows by grouping level (version, agent or all agents) and group.

    Args:
        found: Result rows for turns, and result rows for impressions.
    """
    groups: dict[int, dict[Group, Sides]] = {level: {} for level in _NAMES}
    for side, rows in enumerate(found):
        for row in rows:
            if (level := row["level"]) is not None:
                level = 1 if level == 0 and by == "agent" else level
                group = tuple(row[name] for name in _NAMES[level])
                counts = groups[level].setdefault(group, Sides({}, {}))[side]
                counts[PersonVotes(row["responses"], row["total"])] = row["clusters"]
    return groups


def _figures(groups: dict[Group, Sides], most: int) -> list[tuple[Any, dict[str, Any]]]:
    """Return the figures of at most `most` groups, most turns first."""

    def order(group: Group) -> Any:
        turns, shown = groups[group].rank
        return -turns, -shown, [name or "" for name in group]

    return [(group, figures_of(groups[group])) for group in sorted(groups, key=order)[:most]]


def figures_of(sides: Sides) -> dict[str, Any]:
    """Return one group's values for `ResponseFigures`. No I/O."""
    answered, seen = (_clustered(side) for side in sides)
    return {
        "turns": answered.votes,
        "turns_with_feedback": answered.ok,
        "feedback_share": answered.share,
        "feedback_share_low": answered.sure.low,
        "feedback_share_high": answered.sure.high,
        "impressions": seen.votes,
        "viewers": sum(sides.shown.values()),
        "responses": seen.ok,
        "response_rate": seen.share,
        "response_rate_low": seen.sure.low,
        "response_rate_high": seen.sure.high,
    }


def _clustered(counts: dict[PersonVotes, int]) -> ClusteredShare:
    """Return the share of responses with its effective sample size."""
    responses = sum(one.ok * number for one, number in counts.items())
    total = sum(one.verdicts * number for one, number in counts.items())
    return ClusteredShare(responses, total, effective_size_of(counts))
