"""Index lookup of search words in feedback records and in their questions and answers."""

from __future__ import annotations

from typing import Final

import asyncpg

from reporting.model.selection import Filters, Project
from reporting.model.words import patterns
from reporting.sql import SQL

MOST: Final = 3_000
"""Maximum number of matching texts to collect from the index. If there are more, each page scans records instead."""


async def looked_up(pool: asyncpg.Pool, project: Project, filters: Filters) -> Filters:
    """Look up the search words of the filters in the index.

    Returns:
        The filters with `words` replaced by `among`, the ids of the records that contain the words. If there are no
        words, or if at least MOST texts contain them, the filters are returned unchanged.
    """
    if filters.words is None:
        return filters
    wanted = patterns(filters.words)
    if not wanted:
        return filters.replace(words=None, among=())
    row = await pool.fetchrow(*SQL.feedback_about(**project._asdict(), words=filters.words, patterns=wanted, most=MOST))
    assert row is not None
    return filters if row["texts"] >= MOST else filters.replace(words=None, among=tuple(row["ids"]))
