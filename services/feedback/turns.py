"""Handler that fills the message registry, in which judged turns are looked up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from contracts.erasure import ErasedAt, author_of, is_erased
from contracts.topics import CHAT_MESSAGE, CHAT_REPLY, POST_COMMENTED, POST_PUBLISHED
from contracts.versions import MessageEvent
from feedback.registry import PostgresRegistry, RegisteredMessage, collapse, registered
from feedback.turn_erasures import TurnErasures
from servicekit.log.handler import Handler
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received

TURN_TOPICS: Final = (CHAT_MESSAGE, CHAT_REPLY, POST_PUBLISHED, POST_COMMENTED)
"""Topics from which the registry is filled."""


class TurnHandler(Handler):
    """Handler of messages, posts and comments, which merges them into the registry.

    An erased person's message is stored with the pseudonym, if there is one, and without the person's role.

    Writes are guarded by the erasure ledger (`ErasureLedger.guard`). If the guard finds an erased person, the ledger is
    read before and after the write. If a batch and an erasure overlap, at least one of them therefore sees the other.
    """

    def __init__(self, registry: PostgresRegistry, erasures: TurnErasures) -> None:
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
        messages = [self._message(received, erased) for received in batch]
        changed = await self._registry.add(collapse(messages))
        return [Outcome.STORED if message.key in changed else Outcome.UNCHANGED for message in messages]

    def _message(self, received: Received[MessageEvent], erased: ErasedAt) -> RegisteredMessage:
        message, person = registered(received.event, received.position), author_of(received.event)
        if person is None or not is_erased(received.event.occurred_at, erased.get(person), received.first_log_time):
            return message
        return replace(message, sender_id=self._erasures.pseudonym_of(person), user_type=None)
