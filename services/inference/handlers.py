"""Takes in messages batch by batch: index them, judge every human message they may bear on,
note what that makes of the turns, publish the verdicts."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from contracts.base import TEXT_LIMIT
from contracts.chat import words_of
from contracts.provenance import NO_PROVENANCE, Provenance, provenance_of
from contracts.topics import INFERRED_RECEIVED
from contracts.versions import MessageEvent, message_in, version_of
from detector.detector import Detector
from detector.model import NEIGHBOURHOOD, Message, Neighbourhood, Verdict
from inference.announce import announcement
from inference.llm_gate.gate import Judged, LlmGate
from inference.neighbours import stretches_of, to_judge
from inference.store import ConversationKey, Emission, IndexedMessage, MessageKey, Placed, Store
from inference.turns.facts import Facts, facts_of, joined, questions_of
from inference.turns.store import TurnIntake
from servicekit.log.handler import Handler
from servicekit.log.messages import Message as Record
from servicekit.log.messages import Producer
from servicekit.log.outcome import STORED, UNCHANGED, Outcome
from servicekit.log.records import Received

JUDGED_AT_ONCE = 500
"""Messages judged without letting anything else run: well under a second."""


class Look(NamedTuple):
    """Result of reading the index: verdicts, questions of the answers, and the messages read."""

    pairs: Sequence[tuple[Placed, Verdict]]
    questions: Sequence[Facts]
    messages: Mapping[MessageKey, IndexedMessage]

    def answer_to(self, placed: Placed, verdict: Verdict) -> Provenance:
        """Return the known provenance of the answer that a verdict concerns."""
        if verdict.target is None:
            return NO_PROVENANCE
        answer = self.messages.get(MessageKey(*placed.indexed.conversation, verdict.target.message_id))
        return answer.provenance if answer else NO_PROVENANCE


class ConversationHandler(Handler):
    """The handler of the group `inference`.

    The index is written first and verdicts are judged from it, so that any order of arrival, and a restart in
    between, ends in the same verdicts. A batch that comes again is judged again: its verdicts may not have been
    published the first time.
    """

    def __init__(
        self, store: Store, turns: TurnIntake, producer: Producer, detector: Detector, gate: LlmGate | None = None
    ) -> None:
        self._store = store
        self._turns = turns
        self._producer = producer
        self._detector = detector
        self._gate = gate

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        messages = [indexed(received.event) for received in batch]
        changed = await self._store.index(collapse(messages))
        look = await self._look({message.key for message in messages})
        stated = (facts_of(received.event, message.version) for received, message in zip(batch, messages, strict=True))
        facts = joined([*stated, *look.questions])
        await self._turns.take(facts, look.pairs)
        events = (announcement(placed, verdict, look.answer_to(placed, verdict)) for placed, verdict in look.pairs)
        await self._producer.send(
            [
                Record(
                    INFERRED_RECEIVED.name,
                    INFERRED_RECEIVED.key(event),
                    event.model_dump_json(by_alias=True).encode(),
                )
                for event in events
                if event is not None
            ]
        )
        return [STORED if message.key in changed else UNCHANGED for message in messages]

    async def _look(self, arrived: Collection[MessageKey]) -> Look:
        """A verdict on every human message that the `arrived` ones may bear on, and what the answers among them answer.

        What will be announced is noted first, and then the index is looked at again: of two processes at work on one
        conversation the one that comes second sees the other's message or the other's note.
        """
        while True:
            places = await self._store.places(arrived)
            stretches = stretches_of(await self._store.around(places, NEIGHBOURHOOD), places)
            judged = [pair for stretch in stretches for pair in to_judge(stretch)]
            verdicts = await self._judge([neighbourhood for _, neighbourhood in judged])
            if self._gate is not None:
                verdicts = await self._gate.settle(
                    [
                        Judged(placed.indexed.conversation, neighbourhood, verdict)
                        for (placed, neighbourhood), verdict in zip(judged, verdicts, strict=True)
                    ]
                )
            pairs = [(placed, verdict) for (placed, _), verdict in zip(judged, verdicts, strict=True)]
            emitted = [(placed, verdict.target) for placed, verdict in pairs if verdict.emitted and verdict.target]
            await self._store.emitting([Emission(p.indexed.key, t.turn_id, t.agent_id) for p, t in emitted])
            if not await self._store.outdated([placed for placed, _ in emitted]):
                questions = [facts for stretch in stretches for facts in questions_of(stretch)]
                answers = {placed.indexed.key: placed.indexed for stretch in stretches for placed in stretch.rows}
                return Look(pairs, questions, answers)

    async def _judge(self, neighbourhoods: Sequence[Neighbourhood]) -> list[Verdict]:
        """Piece by piece, so that heartbeats get through while a long conversation is judged again."""
        verdicts: list[Verdict] = []
        for start in range(0, len(neighbourhoods), JUDGED_AT_ONCE):
            verdicts += self._detector.judge(neighbourhoods[start : start + JUDGED_AT_ONCE])
            await asyncio.sleep(0)
        return verdicts


def indexed(event: MessageEvent) -> IndexedMessage:
    """Build the index row of an event's message."""
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
        version_of(event),
        provenance_of(said) if from_agent else NO_PROVENANCE,
        None if from_agent else said.user_type,
    )


def collapse(messages: Iterable[IndexedMessage]) -> list[IndexedMessage]:
    """One message per key, whatever order its versions stand in."""
    kept: dict[MessageKey, IndexedMessage] = {}
    for one in messages:
        held = kept.get(one.key)
        kept[one.key] = one if held is None else replace(held.merged(one), stood_at=(), stood_in=())
    return list(kept.values())
