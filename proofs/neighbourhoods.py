"""Neighbourhoods of a whole conversation, computed at once."""

from __future__ import annotations

from collections.abc import Iterable

from detector.model import NEIGHBOURHOOD, Message, Neighbourhood
from detector.preceding import SAME_INSTANT


def neighbourhoods(messages: Iterable[Message]) -> list[Neighbourhood]:
    """Return what the verdict on each message depends on, in the order of (at, message_id)."""
    rows = sorted(messages, key=lambda one: (one.at, one.message_id))
    return [Neighbourhood(_before(rows, number), message) for number, message in enumerate(rows)]


def _before(rows: list[Message], number: int) -> tuple[Message, ...]:
    """Return the messages that precede a message; none if the order of an agent's message of its time is unknown."""
    message, window = rows[number], rows[max(0, number - NEIGHBOURHOOD) : number]
    later = [one for one in rows[number + 1 :][:SAME_INSTANT] if one.at == message.at]
    same = [one for one in (*window, *later) if one.at == message.at]
    if not same:
        return tuple(window)
    replies = [one for one in same if one.reply_to == message.message_id]
    replied = [one for one in same if one not in replies and message.reply_to == one.message_id]
    unknown = [one for one in same if one not in replies and one not in replied]
    earlier = [*replied, *(one for one in unknown if one.message_id < message.message_id)]
    found = [*(one for one in window if one.at != message.at), *sorted(earlier, key=lambda one: one.message_id)]
    may_have_more = len(later) == SAME_INSTANT or (len(window) == NEIGHBOURHOOD and window[0].at == message.at)
    is_cut = message.thread_id is not None and len(window) == NEIGHBOURHOOD and len(found) < NEIGHBOURHOOD
    if may_have_more or is_cut or any(one.role != "human" for one in unknown):
        return ()
    return tuple(found[-NEIGHBOURHOOD:])
