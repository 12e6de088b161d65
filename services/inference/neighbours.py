"""Which messages of a conversation depend on one that came or changed: those whose neighbourhood holds it. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from detector.model import NEIGHBOURHOOD, Neighbourhood
from inference.store import IndexedMessage, Place, Placed


@dataclass(frozen=True, slots=True)
class Stretch:
    """Messages of a conversation in order, and the numbers of those that depend on a message which came or changed.

    Before each dependent one stands all of its neighbourhood; elsewhere messages may be missing.
    """

    rows: Sequence[Placed]
    dependent: Sequence[int]

    def before(self, number: int) -> Sequence[Placed]:
        """The neighbourhood of the dependent message `number`."""
        return self.rows[max(0, number - NEIGHBOURHOOD) : number]


def places_of(messages: Iterable[IndexedMessage]) -> list[Place]:
    """Where messages stand and where they stood: what is behind any of these places may depend on them."""
    return [
        Place(one.conversation, at, one.message.message_id)
        for one in messages
        for at in dict.fromkeys((one.message.at, *one.stood_at))
    ]


def near(rows: Sequence[Placed], places: Collection[Place]) -> Stretch:
    """Which of a conversation's ordered `rows` depend on what stands, or stood, at `places`.

    A message depends on itself and on the `NEIGHBOURHOOD` messages before it.
    """
    if not rows:
        return Stretch(rows, ())
    order = [placed.place for placed in rows]
    conversation = rows[0].indexed.conversation
    dependent: set[int] = set()
    for place in places:
        if place.conversation == conversation:
            first = bisect_left(order, (place.at, place.message_id))
            stands = first < len(order) and order[first] == (place.at, place.message_id)
            dependent.update(range(first, min(len(order), first + NEIGHBOURHOOD + stands)))
    return Stretch(rows, sorted(dependent))


def to_judge(stretch: Stretch) -> list[tuple[Placed, Neighbourhood]]:
    """The dependent human messages, each with its neighbourhood."""
    found: list[tuple[Placed, Neighbourhood]] = []
    for number in stretch.dependent:
        placed = stretch.rows[number]
        if placed.indexed.message.role == "human":
            before = tuple(one.indexed.message for one in stretch.before(number))
            found.append((placed, Neighbourhood(before, placed.indexed.message)))
    return found
