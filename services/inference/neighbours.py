"""Selection of the messages to judge again after a message was added or changed. No I/O."""

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
"""Number of messages that `message_ranges` needs on either side of a changed message."""


class Earlier(NamedTuple):
    """The messages before a given message, sorted by (at, message_id).

    `is_certain` is False if an agent's message may have the same timestamp as the given message, which leaves their
    order open.
    """

    rows: Sequence[Placed]
    is_certain: bool

    @property
    def judged_from(self) -> tuple[Message, ...]:
        """The messages from which the verdict is derived, or none if their order is uncertain.

        With an uncertain order, the message could be about any of several answers.
        """
        return tuple(one.indexed.message for one in self.rows) if self.is_certain else ()


def earlier(message: Message, before: Sequence[Placed], after: Sequence[Placed]) -> Earlier:
    """Return the messages that precede `message`.

    Args:
        before: The messages before it in the index, sorted by (at, message_id).
        after: The messages after it in the index, sorted in the same way.
    """
    before, after = before[-NEIGHBOURHOOD:], after[:SAME_INSTANT]
    if not any(one.place[0] == message.at for one in (*before[-1:], *after[:1])):
        return Earlier(before, True)
    rows = (*before, *after)
    found = preceding(message, [one.indexed.message for one in before], [one.indexed.message for one in after])
    return Earlier([rows[number] for number in found.numbers], found.is_certain)


@dataclass(frozen=True, slots=True)
class MessageRange:
    """Consecutive messages of a thread or channel, some of which must be judged again.

    Attributes:
        rows: The messages in order. All messages that a dependent message relies on are included; others may be
            missing.
        dependent: Indexes of the messages whose verdict or question may have changed.
    """

    rows: Sequence[Placed]
    dependent: Sequence[int]

    def before(self, number: int) -> Earlier:
        """Return the messages that precede the message at index `number`."""
        one = self.rows[number].indexed
        before = self.rows[max(0, number - NEIGHBOURHOOD) : number]
        return earlier(one.message, before, self.rows[number + 1 : number + 1 + SAME_INSTANT])


def message_ranges(scopes: Iterable[Sequence[Placed]], places: Iterable[Place]) -> list[MessageRange]:
    """Find the messages to judge again after the messages at `places` have changed.

    A message must be judged again if it has changed itself, if one of the `NEIGHBOURHOOD` messages before it has
    changed, or if one of the `SAME_INSTANT` messages after it has changed and has the same timestamp.

    Args:
        scopes: The messages of each thread or channel in `places`, in the sort order of these threads and channels.

    Returns:
        One range per thread or channel.
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
    """Return the people's messages to judge in a range, each with the messages before it."""
    found: list[tuple[Placed, Neighbourhood]] = []
    for number in span.dependent:
        placed = span.rows[number]
        if placed.indexed.message.role == "human":
            before = span.before(number).judged_from
            found.append((placed, Neighbourhood(before, placed.indexed.message)))
    return found
