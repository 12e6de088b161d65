"""Messages whose neighbourhood contains an added or changed message. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from detector.model import NEIGHBOURHOOD, Message, Neighbourhood
from detector.preceding import SAME_INSTANT, preceding
from inference.store import Place, Placed, Scope

REACH: Final = NEIGHBOURHOOD + SAME_INSTANT
"""Number of messages around a place that `message_ranges` needs, so that each neighbourhood is complete."""


class Earlier(NamedTuple):
    """The messages before a message, sorted by (at, message_id).

    `is_certain` is False if an agent's message has the same time, so that their order is unknown.
    """

    rows: Sequence[Placed]
    is_certain: bool

    @property
    def judged_from(self) -> tuple[Message, ...]:
        """The messages that a verdict may depend on: none if the order is unknown, as any answer might be meant."""
        return tuple(one.indexed.message for one in self.rows) if self.is_certain else ()


def earlier(message: Message, before: Sequence[Placed], after: Sequence[Placed]) -> Earlier:
    """Return the messages that precede `message`. Its neighbours are sorted by (at, message_id), as in the index."""
    before, after = before[-NEIGHBOURHOOD:], after[:SAME_INSTANT]
    if not any(one.place[0] == message.at for one in (*before[-1:], *after[:1])):
        return Earlier(before, True)
    rows = (*before, *after)
    found = preceding(message, [one.indexed.message for one in before], [one.indexed.message for one in after])
    return Earlier([rows[number] for number in found.numbers], found.is_certain)


@dataclass(frozen=True, slots=True)
class MessageRange:
    """Messages of a scope in order, and the indexes of those that depend on an added or changed message.

    The neighbourhood of each dependent message is complete; elsewhere, messages may be missing.
    """

    rows: Sequence[Placed]
    dependent: Sequence[int]

    def before(self, number: int) -> Earlier:
        """Return the neighbourhood of the dependent message at index `number`."""
        one = self.rows[number].indexed
        before = self.rows[max(0, number - NEIGHBOURHOOD) : number]
        return earlier(one.message, before, self.rows[number + 1 : number + 1 + SAME_INSTANT])


def message_ranges(scopes: Iterable[Sequence[Placed]], places: Iterable[Place]) -> list[MessageRange]:
    """Return the rows whose neighbourhood contains one of `places`. `scopes` has the ordered rows of each scope.

    A message depends on itself, on the `NEIGHBOURHOOD` messages before it, and on the `SAME_INSTANT` messages after it
    that have its time.
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
        dependent.update(n for n in range(max(0, first - SAME_INSTANT), first) if order[n][0] == place[0])
    # The root message of a thread is in the channel, so it depends on the channel.
    dependent = {number for number in dependent if rows[number].indexed.thread == scope.thread}
    return MessageRange(rows, sorted(dependent))


def to_judge(span: MessageRange) -> list[tuple[Placed, Neighbourhood]]:
    """Return the dependent human messages, each with its neighbourhood."""
    found: list[tuple[Placed, Neighbourhood]] = []
    for number in span.dependent:
        placed = span.rows[number]
        if placed.indexed.message.role == "human":
            before = span.before(number).judged_from
            found.append((placed, Neighbourhood(before, placed.indexed.message)))
    return found
