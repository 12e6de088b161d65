"""Select the messages that depend on an added or changed message. Pure."""

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
"""Number of messages before and after a place that `message_ranges` needs for complete neighbourhoods."""


class Earlier(NamedTuple):
    """The messages before a message, sorted by (at, message_id).

    `is_certain` is False if the order is unknown, because an agent's message may have the same time as the message.
    """

    rows: Sequence[Placed]
    is_certain: bool

    @property
    def judged_from(self) -> tuple[Message, ...]:
        """The messages from which a verdict is derived; empty if their order is unknown.

        With an unknown order, the judged message could be about any of several answers.
        """
        return tuple(one.indexed.message for one in self.rows) if self.is_certain else ()


def earlier(message: Message, before: Sequence[Placed], after: Sequence[Placed]) -> Earlier:
    """Return the messages that precede `message`.

    `before` and `after` are its neighbours, sorted by (at, message_id) as in the index.
    """
    before, after = before[-NEIGHBOURHOOD:], after[:SAME_INSTANT]
    if not any(one.place[0] == message.at for one in (*before[-1:], *after[:1])):
        return Earlier(before, True)
    rows = (*before, *after)
    found = preceding(message, [one.indexed.message for one in before], [one.indexed.message for one in after])
    return Earlier([rows[number] for number in found.numbers], found.is_certain)


@dataclass(frozen=True, slots=True)
class MessageRange:
    """Consecutive messages of a thread or channel, and the indexes of the dependent ones.

    A dependent message may have another verdict or question after the change of a message. Its neighbourhood in `rows`
    is complete. Messages between distant neighbourhoods may be missing.
    """

    rows: Sequence[Placed]
    dependent: Sequence[int]

    def before(self, number: int) -> Earlier:
        """Return the neighbourhood of the dependent message at index `number`."""
        one = self.rows[number].indexed
        before = self.rows[max(0, number - NEIGHBOURHOOD) : number]
        return earlier(one.message, before, self.rows[number + 1 : number + 1 + SAME_INSTANT])


def message_ranges(scopes: Iterable[Sequence[Placed]], places: Iterable[Place]) -> list[MessageRange]:
    """For each scope, return its rows and the indexes of the messages to judge again after a change at `places`.

    `scopes` has the ordered rows of each scope. A message is judged again if the change may be in its neighbourhood: in
    the message itself, in one of the `NEIGHBOURHOOD` messages before it, or in one of the `SAME_INSTANT` messages after
    it with the same time.
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
    # The root message of a thread is in the channel, so messages of the thread do not affect its verdict.
    dependent = {number for number in dependent if rows[number].indexed.thread == scope.thread}
    return MessageRange(rows, sorted(dependent))


def to_judge(span: MessageRange) -> list[tuple[Placed, Neighbourhood]]:
    """Return the dependent messages of people, each with its neighbourhood."""
    found: list[tuple[Placed, Neighbourhood]] = []
    for number in span.dependent:
        placed = span.rows[number]
        if placed.indexed.message.role == "human":
            before = span.before(number).judged_from
            found.append((placed, Neighbourhood(before, placed.indexed.message)))
    return found
