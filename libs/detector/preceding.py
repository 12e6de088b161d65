"""Messages that precede a judged message, if others have its time. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from detector.model import NEIGHBOURHOOD, Message

SAME_INSTANT: Final = 4
"""Number of messages after a message in the order of (at, message_id) that are compared with it."""


class Preceding(NamedTuple):
    """Messages that precede a message: at most `NEIGHBOURHOOD`, in their order.

    `numbers` are indexes of the messages before it, continued by those after it in the order of (at, message_id).
    `is_certain` is False if the order of the message and an agent's message of the same time is unknown.
    """

    numbers: Sequence[int]
    is_certain: bool


def preceding(message: Message, before: Sequence[Message], after: Sequence[Message]) -> Preceding:
    """Return which of the `NEIGHBOURHOOD` messages before `message` and the `SAME_INSTANT` after it precede it.

    Both are sorted by (at, message_id). Of two messages of the same time, the one that replies to the other is later.
    If neither replies, a person's message keeps its order, and the order of an agent's message is unknown. All order is
    unknown if there may be more messages of that time than were given (decision 150).
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
        is_certain = False  # the first of fewer messages would be taken for the thread's root
    return Preceding(found[-NEIGHBOURHOOD:], is_certain)


def _precedes(one: Message, message: Message) -> bool | None:
    """Return True if `one`, which has the time of `message`, is before it; None if unknown."""
    if one.reply_to == message.message_id:
        return False
    return True if message.reply_to == one.message_id else None
