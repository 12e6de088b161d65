"""Takes in messages batch by batch: index them, judge every human message they may bear on,
note what that makes of the turns, publish the verdicts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from contracts.base import TEXT_LIMIT
from contracts.chat import ChatMessageIngested
from contracts.topics import INFERRED_RECEIVED
from inference.announce import announcement
from inference.detector import Detector
from inference.llm_gate import Judged, LlmGate
from inference.model import NEIGHBOURHOOD, Message, Neighbourhood, Verdict
from inference.store import ConversationKey, Emission, IndexedMessage, MessageKey, Placed, Span, Store, version_of
from inference.turn_facts import Facts, facts_of, joined, questions_of
from inference.turn_index import TurnIntake
from servicekit.outcome import STORED, UNCHANGED, Outcome
from servicekit.producer import Message as Record
from servicekit.producer import Producer
from servicekit.records import Received

JUDGED_AT_ONCE = 500
"""Messages judged without letting anything else run: well under a second."""


class ConversationEvents:
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
        pairs, questions = await self._look(messages)
        await self._turns.take(joined([*map(facts_of, (received.event for received in batch)), *questions]), pairs)
        events = (announcement(placed, verdict) for placed, verdict in pairs)
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

    async def _look(self, messages: Sequence[IndexedMessage]) -> tuple[list[tuple[Placed, Verdict]], list[Facts]]:
        """A verdict on every human message that `messages` may bear on, and what the answers among them answer.

        What will be announced is noted first, and then the index is looked at again: of two processes at work on one
        conversation the one that comes second sees the other's message or the other's note.
        """
        arrived = {message.key for message in messages}
        while True:
            placed = await self._store.placed([message.key for message in messages])
            stretches = await self._store.around(spans(placed), NEIGHBOURHOOD)
            judged = [pair for stretch in stretches for pair in to_judge(stretch, arrived)]
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
                return pairs, [facts for stretch in stretches for facts in questions_of(stretch, arrived)]

    async def _judge(self, neighbourhoods: Sequence[Neighbourhood]) -> list[Verdict]:
        """Piece by piece, so that heartbeats get through while a long conversation is judged again."""
        verdicts: list[Verdict] = []
        for start in range(0, len(neighbourhoods), JUDGED_AT_ONCE):
            verdicts += self._detector.judge(neighbourhoods[start : start + JUDGED_AT_ONCE])
            await asyncio.sleep(0)
        return verdicts

    async def uncertain(self, batch: Sequence[Received[Any]]) -> None:
        """Nothing to mend: of two looks the one with the higher evaluation wins wherever it lies in the log."""

    async def probe(self) -> None:
        await self._store.ping()


def indexed(event: ChatMessageIngested) -> IndexedMessage:
    """What the index keeps of a message."""
    message = Message(
        message_id=event.message_id,
        turn_id=event.turn_id or event.message_id,
        sender_id=event.sender_id,
        role=event.sender_type,
        agent_id=event.agent_id if event.sender_type == "agent" else None,
        text=event.content[:TEXT_LIMIT],
        at=event.occurred_at,
    )
    return IndexedMessage(
        ConversationKey(event.tenant, event.project, event.conversation_id), message, event.occurred_at
    )


def collapse(messages: Iterable[IndexedMessage]) -> list[IndexedMessage]:
    """One message per key: the earliest time as its place, the latest version's text."""
    kept: dict[MessageKey, IndexedMessage] = {}
    for one in messages:
        held = kept.get(one.key)
        if held is None:
            kept[one.key] = one
            continue
        newer = max(one, held, key=version_of)
        at = min(one.message.at, held.message.at)
        message = newer.message
        placed = Message(
            message.message_id, message.turn_id, message.sender_id, message.role, message.agent_id, message.text, at
        )
        kept[one.key] = IndexedMessage(newer.conversation, placed, newer.said_at)
    return list(kept.values())


def spans(messages: Iterable[IndexedMessage]) -> list[Span]:
    """For each conversation the stretch from the first place of its messages to the time of their last version.

    A version that came before an earlier one stood at its own time until then, so what is near that time counts too.
    """
    found: dict[ConversationKey, Span] = {}
    for one in messages:
        begin, end = (one.message.at, one.message.message_id), (one.said_at, one.message.message_id)
        span = found.get(one.conversation)
        first, last = (begin, end) if span is None else (min(span.first, begin), max(span.last, end))
        found[one.conversation] = Span(one.conversation, first, last)
    return list(found.values())


def to_judge(stretch: Sequence[Placed], arrived: set[MessageKey]) -> list[tuple[Placed, Neighbourhood]]:
    """The human messages of an ordered stretch from the first that arrived, each with all of its neighbourhood."""
    found: list[tuple[Placed, Neighbourhood]] = []
    messages = tuple(placed.indexed.message for placed in stretch)
    touched = False
    for index, placed in enumerate(stretch):
        touched = touched or placed.indexed.key in arrived
        if touched and placed.indexed.message.role == "human":
            found.append((placed, Neighbourhood(messages[max(0, index - NEIGHBOURHOOD) : index], messages[index])))
    return found
