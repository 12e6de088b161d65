"""Size limits of a response, and the function that cuts a page at these limits. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

PAGE_BYTES: Final = 2 * 1024 * 1024
"""Maximum size of one page's text, in bytes; a page always has at least one item."""
ITEM_BYTES: Final = 1024 * 1024
"""Maximum size of one item's text, in bytes. A larger item (turn or conversation) is truncated and marked."""
OVERHEAD: Final = 600
"""Assumed size of a feedback record in a response without its text, in bytes."""

Row = TypeVar("Row")


def page_of(rows: Sequence[Row], sizes: Iterable[int], limit: int) -> tuple[Sequence[Row], bool]:
    """Return the rows that fit in one page, and a flag that is True if rows remain.

    `rows` should contain one row more than `limit`, if there are that many. `sizes` are the sizes of the rows' texts
    in the response, in bytes, each at most PAGE_BYTES.
    """
    taken, used = 0, 0
    for whole in sizes:
        size = min(whole, PAGE_BYTES)
        if taken == limit or (taken and used + size > PAGE_BYTES):
            break
        taken, used = taken + 1, used + size
    return rows[:taken], taken < len(rows)
