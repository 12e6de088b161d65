"""Counts of reasons: people's tags, and the correction types of machine verdicts."""

from __future__ import annotations

from typing import Annotated, Literal

import asyncpg
from pydantic import Field

from reporting.figures.counts import counts_of
from reporting.figures.rollup_counts import reasons_given
from reporting.model.responses import Counts, ProjectReport, scope_of
from reporting.model.selection import Filters, Project, TimeSpan
from reporting.sql import SQL


class Reason(Counts):
    """Number of effective feedback records with a reason. A record with several tags counts once for each tag."""

    reason: Annotated[str, Field(description="The tag or correction type; usable as the search filter `tag`.")]
    kind: Annotated[
        Literal["tag", "correction_type"],
        Field(
            description="`tag`: given by a person. `correction_type`: the kind of rejection that the machine inferred."
        ),
    ]


class Reasons(ProjectReport):
    """Reasons in a time window, most rejections first."""

    reasons: Annotated[list[Reason], Field(description="Reasons: most rejections first, then most feedback.")]


async def reasons(pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters, limit: int = 200) -> Reasons:
    """Return the reasons with the most rejections in a time window, with their counts."""
    source, values = reasons_given(project, span, filters)
    rows = await pool.fetch(*SQL.list_reasons.filled(source=source)(**values, limit=limit))
    return Reasons(
        **scope_of(project, span),
        reasons=[Reason(reason=row["reason"], kind=row["kind"], **counts_of(row)) for row in rows],
    )
