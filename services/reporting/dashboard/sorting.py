"""Sort order of a table, and the links in its header."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from reporting.queries.sorting import SortOrder


@dataclass(frozen=True, slots=True)
class Sorting:
    """Sort order of a table, for its template. `order` is None for the table's default order.

    `at` returns the page's URL with a given order, or without an order for None.
    """

    order: SortOrder | None
    at: Callable[[str | None], str]

    def state(self, column: str) -> Literal["ascending", "descending"] | None:
        """Return the column's `aria-sort`; None if the table is not sorted by this column."""
        if self.order is None or self.order.column != column:
            return None
        return "descending" if self.order.descending else "ascending"

    def href(self, column: str, *, descending: bool = True) -> str:
        """Return the URL of the page sorted by a column.

        If the page is already sorted by this column, the URL reverses the direction.
        """
        if self.order is not None and self.order.column == column:
            descending = not self.order.descending
        return self.at(SortOrder(column, descending).text)


def sorting(
    asked: str | None, columns: Collection[str], at: Callable[[str | None], str], default: SortOrder | None = None
) -> Sorting:
    """Return the sort order `asked`, or the default if it is None. Raises UnknownColumn for an unknown column."""
    return Sorting(default if asked is None else SortOrder.parse(asked, columns), at)
