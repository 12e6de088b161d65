"""Fills the turn registry from chat messages, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence

from contracts.versions import MessageEvent
from feedback.registry import Registry, collapse, newest_roles, role_of, turn_of
from servicekit.log.handler import Handler
from servicekit.log.outcome import STORED, UNCHANGED, Ignored, Outcome
from servicekit.log.records import Received

NO_TURN = Ignored("no_turn")


class TurnHandler(Handler):
    """The handler of the group `feedback_turns`: what a message tells of its turn, joined with what is known."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def handle(self, batch: Sequence[Received[MessageEvent]]) -> Sequence[Outcome]:
        found = [turn_of(received.event) for received in batch]
        roles = newest_roles(role_of(received.event) for received in batch)
        changed = await self._registry.add(collapse(turn for turn in found if turn is not None), roles)
        return [NO_TURN if turn is None else STORED if turn.key in changed else UNCHANGED for turn in found]
