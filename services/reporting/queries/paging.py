"""Size limits of a response, and the function that ends a page at them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

PAGE_BYTES: Final = 2 * 1024 * 1024
"""Maximum bytes of text in one page; a page always has at least one item."""
ITEM_BYTES: Final = 1024 * 1024
"""Maximum bytes of text of one item (a turn or a conversation). An item over the limit is truncated and marked."""
OVERHEAD: Final = 600
"""Bytes of a feedback record in a response, apart from its text."""

Row = TypeVar("Row")


def page_of(rows: Sequence[Row], sizes: Iterable[int], limit: int) -> tuple[Sequence[Row], bool]:
    """Return the rows that fit in one page, and True if rows remain.

    `rows` should contain one row more than `limit`, if there are that many. `sizes` are the rows' bytes of text, each
    at most PAGE_BYTES in the response.
    """
    taken, used = 0, 0
    for whole in sizes:
        size = min(whole, PAGE_BYTES)
        if taken == limit or (taken and used + size > PAGE_BYTES):
            break
        taken, used = taken + 1, used + size
    return rows[:taken], taken < len(rows)
