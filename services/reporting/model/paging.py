"""Size limits of responses, and the selection of rows that fit on one page. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

PAGE_BYTES: Final = 2 * 1024 * 1024
"""Maximum size of the text on one page, in bytes. A page always has at least one item."""
ITEM_BYTES: Final = 1024 * 1024
"""Maximum size of the text of one item (turn or conversation), in bytes. A larger item is truncated and marked."""
OVERHEAD: Final = 600
"""Assumed size of a feedback record in a response, without its text, in bytes."""

Row = TypeVar("Row")


def size_of(*texts: str | None) -> int:
    """Return the size of texts in a response, in bytes of UTF-8."""
    return sum(len(text.encode()) for text in texts if text)


def page_of(rows: Sequence[Row], sizes: Iterable[int], limit: int) -> tuple[Sequence[Row], bool]:
    """Return the rows that fit on one page, and True if there are more.

    Args:
        rows: Up to `limit` + 1 rows. The extra row shows that there are more than `limit`.
        sizes: Size of each row's text in the response, in bytes. Sizes above PAGE_BYTES count as PAGE_BYTES.
    """
    count, used = 0, 0
    for full_size in sizes:
        size = min(full_size, PAGE_BYTES)
        if count == limit or (count and used + size > PAGE_BYTES):
            break
        count, used = count + 1, used + size
    return rows[:count], count < len(rows)
