"""Neighbourhoods of a whole conversation, computed at once from the versions of its messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from detector.model import Message, Neighbourhood
from inference.neighbours import earlier
from inference.store import ConversationKey, IndexedMessage, Placed


class LastVersion(NamedTuple):
    """A message as its last version has it, at the time of its first; and the time and sequence of the last version."""

    message: Message
    occurred_at: int
    sequence: int


def neighbourhoods(messages: Iterable[LastVersion]) -> list[Neighbourhood]:
    """Return what the verdict on each message depends on, in the order of (at, message_id)."""
    rows = [
        Placed(
            IndexedMessage(
                ConversationKey("", "", ""),
                one.message,
                b"\0" + one.occurred_at.to_bytes(8) + (one.sequence + 1).to_bytes(8),
            ),
            0,
            None,
            None,
        )
        for one in sorted(messages, key=lambda one: (one.message.at, one.message.message_id))
    ]
    return [
        Neighbourhood(
            earlier(row.indexed.message, row.indexed.sequence, rows[:n], rows[n + 1 :]).judged_from,
            row.indexed.message,
        )
        for n, row in enumerate(rows)
    ]
