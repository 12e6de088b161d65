"""Counts of reasons: people's tags, and the rules and correction types of machine verdicts."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import asyncpg
from pydantic import Field, TypeAdapter

from contracts.base import Label
from reporting.figures.counts import counts_of
from reporting.figures.rollup_counts import reasons_given
from reporting.figures.satisfaction import window_of
from reporting.model.cursor import Moment, decode, encode, question
from reporting.model.responses import Counts, ResponseModel, Window
from reporting.model.selection import Filters, Project, TimeSpan
from reporting.sql import SQL


class Reason(Counts):
    """Number of effective feedback records with a reason. A record with several tags counts once for each tag."""

    reason: Annotated[str, Field(description="The tag, rule or correction type; usable as the search filter `tag`.")]
    kind: Annotated[
        Literal["tag", "correction_type", "rule"],
        Field(
            description="`tag`: given by a person. `correction_type`: the kind of rejection that the machine inferred."
            " `rule`: the detection rule that fired."
        ),
    ]


class Reasons(ResponseModel):
    """Reasons in a time window, most rejections first."""

    tenant: Annotated[str, Field(description="The tenant in the path.")]
    project: Annotated[str, Field(description="The project in the path.")]
    window: Annotated[Window, Field(description="Time window: `start` inclusive, `end` exclusive.")]
    reasons: Annotated[list[Reason], Field(description="Reasons: most rejections first, then most feedback.")]
    next_cursor: Annotated[str | None, Field(description="Cursor of the next page; null on the last page.")] = None


_PLACE: Final = TypeAdapter(tuple[Moment, Moment, Moment, Moment, Label, Label])


async def reasons(
    pool: asyncpg.Pool,
    project: Project,
    span: TimeSpan,
    filters: Filters,
    limit: int = 200,
    *,
    rules: bool = True,
    cursor: str | None = None,
    parameters: tuple[object, ...] = (),
) -> Reasons:
    """Return one page of the reasons in a time window, with their counts.

    The time window of the first page applies to all pages.

    Args:
        rules: If False, only people's tags and the machine's correction types are counted.
        cursor: Cursor of the previous page. It is valid only for a query with the same `parameters`.
        parameters: The parameters of the query.

    Raises:
        BadCursor: If the cursor belongs to another query.
    """
    query = question("reasons", *project, *parameters)
    after = None if cursor is None else decode(cursor, query, _PLACE)
    span = span if after is None else TimeSpan(*after[:2])
    source, values = reasons_given(project, span, filters, rules=rules)
    columns = ("after_not_ok", "after_total", "after_reason", "after_kind")
    position = dict(zip(columns, (None,) * 4 if after is None else after[2:], strict=True))
    statement = SQL.list_reasons.filled(source=source)
    rows = await pool.fetch(*statement(**values, **position, rules=rules, limit=limit + 1))
    last = rows[limit - 1] if len(rows) > limit else None
    return Reasons(
        tenant=project.tenant,
        project=project.project,
        window=window_of(span),
        reasons=[Reason(reason=row["reason"], kind=row["kind"], **counts_of(row)) for row in rows[:limit]],
        next_cursor=None
        if last is None
        else encode(query, (*span, int(last["not_ok"]), int(last["total"]), last["reason"], last["kind"])),
    )
