"""Sort order of a table, with the links in its header."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from reporting.queries.sorting import SortOrder


@dataclass(frozen=True, slots=True)
class Sorting:
    """Sort order of a table, for use in its template.

    Attributes:
        order: Current order, or None for the table's default order.
        at: Function that returns the page's URL with the given sort order. If it gets None, the URL has no sort order.
    """

    order: SortOrder | None
    at: Callable[[str | None], str]

    def state(self, column: str) -> Literal["ascending", "descending"] | None:
        """Return the column's `aria-sort`, or None if the table is not sorted by this column."""
        if self.order is None or self.order.column != column:
            return None
        return "descending" if self.order.descending else "ascending"

    def href(self, column: str, *, descending: bool = True) -> str:
        """Return the URL of the page sorted by this column.

        If the page is already sorted by the column, the URL reverses the direction.
        """
        if self.order is not None and self.order.column == column:
            descending = not self.order.descending
        return self.at(SortOrder(column, descending).text)


def sorting(
    asked: str | None, columns: Collection[str], at: Callable[[str | None], str], default: SortOrder | None = None
) -> Sorting:
    """Return the sort order of a table.

    Args:
        asked: Sort order from the URL, or None for the default.
        columns: Columns by which the table can be sorted.
        at: Function that returns the page's URL for a sort order.

    Raises:
        UnknownColumn: If the sort order names another column.
    """
    return Sorting(default if asked is None else SortOrder.parse(asked, columns), at)
