"""Handler of chat messages: indexes them, judges the affected messages, updates turns and publishes verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from contracts.base import TEXT_LIMIT
from contracts.chat import words_of
from contracts.headers import Headers, derived_headers
from contracts.provenance import NO_PROVENANCE, provenance_of
from contracts.versions import UNLOGGED, LogPosition, MessageEvent, message_in, version_of
from detector.detector import Detector
from detector.model import Message
from inference.judging import Judging
from inference.llm_gate.gate import LlmGate
from inference.neighbours import REACH, MessageRange, message_ranges
from inference.store import ConversationKey, ConversationStore, IndexedMessage, MessageKey
from inference.turns.facts import facts_of
from inference.turns.store import TurnIntake
from servicekit import Handler, Outcome, Producer, Received


class ConversationHandler(Handler):
    """Handler of the consumer group `inference`.

    Messages are written to the index before they are judged, so verdicts do not depend on the order of arrival or on
    restarts. A redelivered batch is judged again, because its verdicts may not have been published.
    """

    def __init__(
        self,
        store: ConversationStore,
        turns: TurnIntake,
        producer: Producer,
        detector: Detector,
        gate: LlmGate | None = None,
    ) -> None:
        self._store = store
        self.judging = Judging(store, turns, producer, detector, gate)

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        messages = [indexed(received.event, received.position) for received in batch]
        changed = await self._store.index(collapse(messages))
        arrived = {message.key for message in messages}
        judged = await self.judging.judge(lambda: self._ranges(arrived))
        facts = [facts_of(received.event, message.version) for received, message in zip(batch, messages, strict=True)]
        traces = {message.key: received.traceparent for received, message in zip(batch, messages, strict=True)}

        def headers(judged_message: IndexedMessage) -> Headers:
            return derived_headers(traceparent=traces.get(judged_message.key))

        await self.judging.publish(judged, facts, headers)
        return [Outcome.STORED if message.key in changed else Outcome.UNCHANGED for message in messages]

    async def _ranges(self, arrived: Collection[MessageKey]) -> Sequence[MessageRange]:
        """Find the messages to judge again after the messages in `arrived` were indexed, and return them as ranges.

        Each range also contains the preceding messages that the judgement needs.
        """
        places = await self._store.places(arrived)
        return message_ranges(await self._store.around(places, REACH), places)


def indexed(event: MessageEvent, logged: LogPosition = UNLOGGED) -> IndexedMessage:
    """Convert a message event to its row in the message index."""
    said = message_in(event)
    from_agent = said.sender_type == "agent"
    message = Message(
        message_id=said.message_id,
        turn_id=said.turn_id or said.message_id,
        sender_id=said.sender_id,
        role=said.sender_type,
        agent_id=said.agent_id if from_agent else None,
        text=words_of(said.content)[:TEXT_LIMIT],
        at=said.occurred_at,
        reply_to=said.reply_to_message_id,
        thread_id=None if said.thread_id == said.message_id else said.thread_id,
    )
    return IndexedMessage(
        ConversationKey(said.tenant, said.project, said.conversation_id),
        message,
        version_of(event, logged),
        provenance_of(said) if from_agent else NO_PROVENANCE,
        None if from_agent else said.user_type,
    )


def collapse(messages: Iterable[IndexedMessage]) -> list[IndexedMessage]:
    """Merge the versions of each message into one row per message.

    The result does not depend on the order of the versions.
    """
    kept: dict[MessageKey, IndexedMessage] = {}
    for one in messages:
        held = kept.get(one.key)
        kept[one.key] = one if held is None else replace(held.merged(one), stood_at=(), stood_in=())
    return list(kept.values())
