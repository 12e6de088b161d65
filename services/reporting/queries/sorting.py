"""Sort orders of lists. No I/O.

URLs and queries give the name of a column. A leading `-` means descending order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from reporting.queries.votes import Votes

Row = TypeVar("Row")
Column = Callable[[Row, bool], Any]
"""Function that returns the sort key of a row, or None if the row has no value. The flag is True for descending
order."""


class UnknownColumn(ValueError):
    """Error for a sort order with an unknown column."""


class SortOrder(NamedTuple):
    """Sort column and direction of a list."""

    column: str
    descending: bool

    @classmethod
    def parse(cls, text: str, columns: Iterable[str]) -> SortOrder:
        """Parse an order such as `-turns`.

        Raises UnknownColumn if the column is not one of `columns`.
        """
        order = cls(text.removeprefix("-"), text.startswith("-"))
        if order.column not in columns:
            raise UnknownColumn
        return order

    @property
    def text(self) -> str:
        return f"-{self.column}" if self.descending else self.column


def in_order(rows: Iterable[Row], order: SortOrder | None, columns: Mapping[str, Column[Row]]) -> list[Row]:
    """Return the rows sorted by a column, or in their original order if `order` is None.

    The sort is stable. Rows without a value come last in both directions.
    """
    if order is None:
        return list(rows)
    keyed = [(columns[order.column](row, order.descending), row) for row in rows]
    known = sorted((one for one in keyed if one[0] is not None), key=lambda one: one[0], reverse=order.descending)
    return [row for _, row in known] + [row for key, row in keyed if key is None]


def certain_share(votes: Votes, descending: bool) -> float | None:  # positional, as in a Column
    """Return the sort key for satisfaction, or None if there are no votes.

    The key is the lower confidence bound in descending order, and the upper bound in ascending order. This keeps rows
    with few votes from coming first.
    """
    if not votes.total:
        return None
    return votes.sure.low if descending else votes.sure.high


class VotesRow(Protocol):
    """Row with people's verdicts and machine verdicts.

    The machine verdicts include the reviews that replace them.
    """

    @property
    def people(self) -> Votes: ...
    @property
    def machine(self) -> Votes: ...


VOTES_COLUMNS: Final[Mapping[str, Column[VotesRow]]] = {
    "people": lambda one, descending: certain_share(one.people, descending),
    "machine": lambda one, descending: certain_share(one.machine, descending),
    "rejected": lambda one, _: one.people.not_ok + one.machine.not_ok,
    "total": lambda one, _: one.people.total + one.machine.total,
}
"""Sort columns, by name, for rows of verdict counts such as agents or versions."""
