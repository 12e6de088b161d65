"""Select the messages that precede a judged message, even if some have the same time. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from detector.model import NEIGHBOURHOOD, Message

SAME_INSTANT: Final = 4
"""Number of messages with a greater (at, message_id) than the judged message that are checked for the same time."""


class Preceding(NamedTuple):
    """Messages that precede a message, at most `NEIGHBOURHOOD`, in order.

    `numbers` are indexes into the concatenation of the arguments `before` and `after` of `preceding`. `is_certain` is
    False if the order of the message and an agent's message with the same time is unknown, or if more messages may have
    that time than were given.
    """

    numbers: Sequence[int]
    is_certain: bool


def preceding(message: Message, before: Sequence[Message], after: Sequence[Message]) -> Preceding:
    """Return the messages of `before` and `after` that precede `message`.

    `before` has the `NEIGHBOURHOOD` messages with a smaller (at, message_id), `after` the next `SAME_INSTANT`, both
    sorted by it. If two messages have the same time and one replies to the other, the reply is later. Otherwise a
    message of a person is ordered by its id, and the order of an agent's message is unknown (decision 150).
    """
    after = [one for one in after if one.at == message.at]
    found = [number for number, one in enumerate(before) if one.at != message.at]
    is_certain = len(after) < SAME_INSTANT and (bool(found) or len(before) < NEIGHBOURHOOD)
    for number, one in enumerate((*before[len(found) :], *after), len(found)):
        precedes = _precedes(one, message)
        if precedes is None:
            is_certain = is_certain and one.role == "human"
            precedes = one.message_id < message.message_id
        if precedes:
            found.append(number)
    if message.thread_id is not None and len(found) < NEIGHBOURHOOD <= len(before):
        is_certain = False  # with fewer messages, the first one would be mistaken for the thread's root
    return Preceding(found[-NEIGHBOURHOOD:], is_certain)


def _precedes(one: Message, message: Message) -> bool | None:
    """Return True if `one`, which has the same time as `message`, precedes it; None if the order is unknown."""
    if one.reply_to == message.message_id:
        return False
    return True if message.reply_to == one.message_id else None
