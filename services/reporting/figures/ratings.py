"""Number and mean of the ratings on each scale.

Ratings of the answer are also verdicts. Projects may have further scales of their own.
"""

from __future__ import annotations

from typing import Annotated

import asyncpg
from pydantic import Field

from contracts.fields import Scale
from reporting.model.responses import ResponseModel
from reporting.model.selection import Filters, Project, TimeSpan, where
from reporting.sql import SQL


class ScaleFigures(ResponseModel):
    """Number and mean of the ratings on one scale. `scale` is null for ratings of the answer itself."""

    scale: Scale
    worst_rating: Annotated[int, Field(description="The worst rating of the scale.")]
    best_rating: Annotated[int, Field(description="The best rating of the scale.")]
    ratings: Annotated[int, Field(description="The number of ratings.")]
    mean: Annotated[float, Field(description="Mean of the ratings, on this scale.")]


async def ratings(pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters) -> list[ScaleFigures]:
    """Return the number and mean of a time window's ratings on each scale, for up to 100 scales.

    Ratings of the answer come first.
    """
    views = [
        *([filters.view] if filters.has_verdicts else ()),
        *(["live_replies"] if filters.has_non_verdicts else ()),
    ]
    if not views:
        return []
    condition, values = where(project, span, filters)
    parts = (SQL.part("ratings_in", view=view, where=condition) for view in views)
    rows = await pool.fetch(*SQL.count_ratings.filled(rows=" union all ".join(parts))(**values))
    return [ScaleFigures(**row) for row in rows]
