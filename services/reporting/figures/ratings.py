"""Number and mean of the ratings on each scale. Ratings are also verdicts."""

from __future__ import annotations

from typing import Annotated

import asyncpg
from pydantic import Field

from reporting.model.responses import ResponseModel
from reporting.model.selection import Filters, Project, TimeSpan, where
from reporting.sql import SQL


class ScaleFigures(ResponseModel):
    """Number and mean of the ratings on one scale."""

    worst_rating: Annotated[int, Field(description="The worst rating of the scale.")]
    best_rating: Annotated[int, Field(description="The best rating of the scale.")]
    ratings: Annotated[int, Field(description="The number of ratings.")]
    mean: Annotated[float, Field(description="Mean of the ratings, on this scale.")]


async def ratings(pool: asyncpg.Pool, project: Project, span: TimeSpan, filters: Filters) -> list[ScaleFigures]:
    """Return the number and mean of a time window's ratings on each scale, for up to 100 scales."""
    condition, values = where(project, span, filters)
    rows = await pool.fetch(*SQL.count_ratings.filled(view=filters.view, where=condition)(**values))
    return [ScaleFigures(**row) for row in rows]
