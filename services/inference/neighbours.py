"""Messages whose neighbourhood contains an added or changed message. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from detector.model import NEIGHBOURHOOD, Neighbourhood
from inference.store import Place, Placed, Scope


@dataclass(frozen=True, slots=True)
class MessageRange:
    """Messages of a scope in order, and the indexes of those that depend on an added or changed message.

    The neighbourhood of each dependent message is complete; elsewhere, messages may be missing.
    """

    rows: Sequence[Placed]
    dependent: Sequence[int]

    def before(self, number: int) -> Sequence[Placed]:
        """Return the neighbourhood of the dependent message at index `number`."""
        return self.rows[max(0, number - NEIGHBOURHOOD) : number]


def message_ranges(scopes: Iterable[Sequence[Placed]], places: Iterable[Place]) -> list[MessageRange]:
    """Return the rows whose neighbourhood contains one of `places`. `scopes` has the ordered rows of each scope.

    A message depends on itself and on the `NEIGHBOURHOOD` messages before it.
    """
    asked: defaultdict[Scope, list[tuple[int, str]]] = defaultdict(list)
    for place in places:
        asked[place.scope].append((place.at, place.message_id))
    return [_range(rows, scope, asked[scope]) for scope, rows in zip(sorted(asked), scopes, strict=True)]


def _range(rows: Sequence[Placed], scope: Scope, asked: Iterable[tuple[int, str]]) -> MessageRange:
    order = [placed.place for placed in rows]
    dependent: set[int] = set()
    for place in asked:
        first = bisect_left(order, place)
        stands = first < len(order) and order[first] == place
        dependent.update(range(first, min(len(order), first + NEIGHBOURHOOD + stands)))
    # The root message of a thread depends on the channel.
    dependent = {number for number in dependent if rows[number].indexed.thread == scope.thread}
    return MessageRange(rows, sorted(dependent))


def to_judge(span: MessageRange) -> list[tuple[Placed, Neighbourhood]]:
    """Return the dependent human messages, each with its neighbourhood."""
    found: list[tuple[Placed, Neighbourhood]] = []
    for number in span.dependent:
        placed = span.rows[number]
        if placed.indexed.message.role == "human":
            before = tuple(one.indexed.message for one in span.before(number))
            found.append((placed, Neighbourhood(before, placed.indexed.message)))
    return found
