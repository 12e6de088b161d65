"""Why answers were rejected or praised: tags that people gave, and how the machine saw an answer rejected."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import asyncpg
from pydantic import Field

from reporting.answers import Answer, Counts, Window
from reporting.queries.counts import COUNTS, SUMS, counts_of
from reporting.queries.rolled import reasons_given
from reporting.queries.satisfaction import window_of
from reporting.selection import Filters, Project, Span, where


class Reason(Counts):
    """How many effective feedbacks give a reason; one with several tags counts for each."""

    reason: Annotated[str, Field(description="The tag or correction type, as the search's `tag` takes it.")]
    kind: Annotated[
        Literal["tag", "correction_type", "rule"],
        Field(
            description="`tag`: given by a person. `correction_type`: how the machine saw it rejected. `rule`:"
            " what in the message made it say so."
        ),
    ]


class Reasons(Answer):
    """Most rejections first, at most 200."""

    tenant: Annotated[str, Field(description="As in the path.")]
    project: Annotated[str, Field(description="As in the path.")]
    window: Annotated[Window, Field(description="From `start` on, before `end`.")]
    reasons: Annotated[list[Reason], Field(description="Most rejections first, then most feedbacks.")]


_REASONS: Final = """
select e.reason, e.kind, {counts}
from (
    select e.origin, e.reaction, r.reason, r.kind
    from {view} e
    cross join lateral (
        select tag as reason, case e.origin when 'user' then 'tag' else 'rule' end as kind
        from unnest(e.tags) as t (tag)
        union all
        select e.correction_type, 'correction_type' where e.correction_type is not null
    ) r
    where {where} and (e.tags <> '{{}}' or e.correction_type is not null)
) e
group by e.reason, e.kind
order by not_ok desc, total desc, e.reason, e.kind
limit {limit}
"""


_ROLLED: Final = """
select e.reason, e.kind, {sums} from {source} e
group by e.reason, e.kind
order by not_ok desc, total desc, e.reason, e.kind
limit {limit}
"""


async def reasons(
    pool: asyncpg.Pool, at: Project, span: Span, filters: Filters, limit: int = 200, *, rules: bool = True
) -> Reasons:
    """Count the reasons given in a window; without `rules`, those of people and the machine's correction types."""
    if rules:
        condition, values = where(at, span, filters)
        statement = _REASONS.format(view=filters.view, counts=COUNTS, where=condition, limit=limit)
    else:
        source, values = reasons_given(at, span, filters)
        statement = _ROLLED.format(sums=SUMS, source=source, limit=limit)
    rows = await pool.fetch(statement, *values)
    found = [Reason(reason=row["reason"], kind=row["kind"], **counts_of(row)) for row in rows]
    return Reasons(tenant=at.tenant, project=at.project, window=window_of(span), reasons=found)
