"""Lookup of searched words in feedback, and in the question and the answer that it is about."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import asyncpg

from reporting.queries.selection import Filters, Project
from reporting.queries.words import patterns
from reporting.sql import SQL

MOST: Final = 3_000
"""Maximum number of texts that a search collects from an index. Of more frequent words, each page scans records."""


async def looked_up(pool: asyncpg.Pool, at: Project, filters: Filters) -> Filters:
    """Return `filters` with the records that contain the words instead of the words, unless these are too frequent."""
    if filters.words is None:
        return filters
    wanted = patterns(filters.words)
    if not wanted:
        return replace(filters, words=None, among=())
    row = await pool.fetchrow(*SQL.feedback_about(**at._asdict(), words=filters.words, patterns=wanted, most=MOST))
    assert row is not None
    return filters if row["texts"] >= MOST else replace(filters, words=None, among=tuple(row["ids"]))
