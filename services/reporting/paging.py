"""Limits of one response, and the marker of a truncated page. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

PAGE_BYTES: Final = 2 * 1024 * 1024
"""Bytes of text in one page; a page always holds at least one item."""
ITEM_BYTES: Final = 1024 * 1024
"""Bytes of text of one item, a turn or a conversation; what is over is left out, and the item says so."""
OVERHEAD: Final = 600
"""Bytes that a feedback takes in an answer beside its text."""

Row = TypeVar("Row")


def page_of(rows: Sequence[Row], sizes: Iterable[int], limit: int) -> tuple[Sequence[Row], bool]:
    """The rows that fit in one page, and whether some are left.

    `rows` holds one more than `limit` where there are that many; `sizes` are their bytes of text, each at most
    PAGE_BYTES in the answer.
    """
    taken, used = 0, 0
    for whole in sizes:
        size = min(whole, PAGE_BYTES)
        if taken == limit or (taken and used + size > PAGE_BYTES):
            break
        taken, used = taken + 1, used + size
    return rows[:taken], taken < len(rows)
