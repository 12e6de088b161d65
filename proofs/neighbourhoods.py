"""Neighbourhoods of a whole conversation, computed at once."""

from __future__ import annotations

from collections.abc import Sequence

from detector.model import NEIGHBOURHOOD, Message, Neighbourhood


def neighbourhoods(messages: Sequence[Message]) -> list[Neighbourhood]:
    """Return what the verdict on each of a conversation's messages depends on. The messages must be in order."""
    return [
        Neighbourhood(tuple(messages[max(0, number - NEIGHBOURHOOD) : number]), message)
        for number, message in enumerate(messages)
    ]
