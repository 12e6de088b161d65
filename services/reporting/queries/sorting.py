"""Sort orders of lists. In URLs and queries an order is a column's name, with `-` before it if descending. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from reporting.queries.votes import Votes

Row = TypeVar("Row")
Column = Callable[[Row, bool], Any]
"""Function of a row that returns its sort key, or None if the row has no value. The flag is True if descending."""


class UnknownColumn(ValueError):
    """Error for a sort order by a column that the list does not have."""


class SortOrder(NamedTuple):
    """Column that sorts a list, and the direction."""

    column: str
    descending: bool

    @classmethod
    def parse(cls, text: str, columns: Iterable[str]) -> SortOrder:
        """Return the order that `text` names, such as `-turns`. Raises UnknownColumn if it is not one of `columns`."""
        order = cls(text.removeprefix("-"), text.startswith("-"))
        if order.column not in columns:
            raise UnknownColumn
        return order

    @property
    def text(self) -> str:
        return f"-{self.column}" if self.descending else self.column


def in_order(rows: Iterable[Row], order: SortOrder | None, columns: Mapping[str, Column[Row]]) -> list[Row]:
    """Return the rows sorted by a column; None keeps their order, and so do rows with equal values.

    Rows without a value come last in both directions.
    """
    if order is None:
        return list(rows)
    keyed = [(columns[order.column](row, order.descending), row) for row in rows]
    known = sorted((one for one in keyed if one[0] is not None), key=lambda one: one[0], reverse=order.descending)
    return [row for _, row in known] + [row for key, row in keyed if key is None]


def certain_share(votes: Votes, descending: bool) -> float | None:  # it is used in a Column
    """Return the bound of the satisfaction's interval that sorts a share; None without votes.

    Ascending it is the upper bound and descending the lower bound, so few votes make nothing the worst or the best.
    """
    if not votes.total:
        return None
    return votes.sure.low if descending else votes.sure.high


class VotesRow(Protocol):
    """Row with verdicts by people, and by the machine (with the reviews that replace them)."""

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
"""Columns that agents, versions and other values of a dimension have in common."""
