"""Find the messages that precede a given message, including those with the same timestamp. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from detector.model import NEIGHBOURHOOD, Message

SAME_INSTANT: Final = 4
"""Number of messages with a greater (at, message_id) than the judged message that are checked for the same time."""


class Preceding(NamedTuple):
    """Up to `NEIGHBOURHOOD` messages that precede a given message, in order.

    Attributes:
        numbers: Indexes of the messages in `before + after`, as passed to `preceding`.
        is_certain: False if the selection may be wrong. This is the case if an agent's message has the same
            timestamp as the given message and neither of them replies to the other. It is also the case if `before` or
            `after` may lack messages with that timestamp or messages of the same thread.
    """

    numbers: Sequence[int]
    is_certain: bool


def preceding(message: Message, before: Sequence[Message], after: Sequence[Message]) -> Preceding:
    """Return the messages that precede `message` in its conversation.

    Among messages with the same timestamp, a reply follows the message it answers. Otherwise, a person's message is
    ordered by its id, and the position of an agent's message is unknown.

    Args:
        message: The message.
        before: The last `NEIGHBOURHOOD` messages with a smaller (at, message_id), sorted.
        after: The next `SAME_INSTANT` messages, sorted.
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
    """Return True if `one` precedes a message with the same timestamp, or None if their order is unknown."""
    if one.reply_to == message.message_id:
        return False
    return True if message.reply_to == one.message_id else None
