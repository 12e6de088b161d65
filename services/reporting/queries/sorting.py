"""Sort orders of lists. URLs and queries name the column; a leading `-` means descending. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from reporting.queries.votes import Votes

Row = TypeVar("Row")
Column = Callable[[Row, bool], Any]
"""Function of a row that returns its sort key, or None if the row has no value. The flag is True if descending."""


class UnknownColumn(ValueError):
    """Error for a sort order with an unknown column."""


class SortOrder(NamedTuple):
    """Sort column and direction of a list."""

    column: str
    descending: bool

    @classmethod
    def parse(cls, text: str, columns: Iterable[str]) -> SortOrder:
        """Parse an order such as `-turns`. Raises UnknownColumn if the column is not one of `columns`."""
        order = cls(text.removeprefix("-"), text.startswith("-"))
        if order.column not in columns:
            raise UnknownColumn
        return order

    @property
    def text(self) -> str:
        return f"-{self.column}" if self.descending else self.column


def in_order(rows: Iterable[Row], order: SortOrder | None, columns: Mapping[str, Column[Row]]) -> list[Row]:
    """Return the rows sorted by a column, or in the given order if `order` is None. The sort is stable.

    Rows without a value come last in both directions.
    """
    if order is None:
        return list(rows)
    keyed = [(columns[order.column](row, order.descending), row) for row in rows]
    known = sorted((one for one in keyed if one[0] is not None), key=lambda one: one[0], reverse=order.descending)
    return [row for _, row in known] + [row for key, row in keyed if key is None]


def certain_share(votes: Votes, descending: bool) -> float | None:  # positional, as in a Column
    """Return the sort key for satisfaction: its lower confidence bound if descending, otherwise its upper bound.

    These bounds keep a row with few votes from being sorted first. Return None without votes.
    """
    if not votes.total:
        return None
    return votes.sure.low if descending else votes.sure.high


class VotesRow(Protocol):
    """Row with people's verdicts, and the machine's verdicts including the reviews that replace them."""

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
"""Sort columns for rows of verdict counts, for example agents or versions, by name."""
