"""Handler that fills the turn registry from chat messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from contracts.erasure import ErasedAt, author_of, is_erased
from contracts.versions import MessageEvent
from feedback.registry import RegisteredTurn, Registry, Role, collapse, newest_roles, role_of, turn_of
from feedback.turn_erasures import TurnErasures
from servicekit import Handler, Outcome, Received

NO_TURN = Outcome.ignored("no_turn")


class MessageFacts(NamedTuple):
    """Facts to be stored in the registry, taken from one message."""

    turn: RegisteredTurn | None
    role: Role | None


class TurnHandler(Handler):
    """Handler of the consumer group `feedback_turns`, which merges facts from messages into the turn registry.

    For an erased person, the turn is stored with the name that replaces the person's id, and the role is not stored.

    Writes are guarded by the erasure ledger (`ErasureLedger.guard`). If the guard finds an erased person, the ledger is
    read before and after the write. If a batch and an erasure overlap, at least one of them therefore sees the other.
    """

    def __init__(self, registry: Registry, erasures: TurnErasures) -> None:
        self._registry = registry
        self._erasures = erasures

    async def handle(self, batch: Sequence[Received[MessageEvent]]) -> Sequence[Outcome]:
        people = {person for received in batch if (person := author_of(received.event)) is not None}
        with self._erasures.ledger.guard(people):
            return await self._register(batch, {})
        erased = await self._erasures.ledger.erased_at(people)
        outcomes = await self._register(batch, erased)
        await self._erasures.erase_since(people, erased)
        return outcomes

    async def _register(self, batch: Sequence[Received[MessageEvent]], erased: ErasedAt) -> Sequence[Outcome]:
        facts = [self._facts(received, erased) for received in batch]
        roles = newest_roles(one.role for one in facts)
        changed = await self._registry.add(collapse(one.turn for one in facts if one.turn is not None), roles)
        return [
            NO_TURN if turn is None else Outcome.STORED if turn.key in changed else Outcome.UNCHANGED
            for turn, _ in facts
        ]

    def _facts(self, received: Received[MessageEvent], erased: ErasedAt) -> MessageFacts:
        event, person = received.event, author_of(received.event)
        turn = turn_of(event, received.position)
        if person is None or not is_erased(event.occurred_at, erased.get(person), received.first_log_time):
            return MessageFacts(turn, role_of(event, received.position))
        if turn is not None and turn.asker is not None:
            turn = replace(turn, asker=replace(turn.asker, user_id=self._erasures.name_of(person)))
        return MessageFacts(turn, None)
