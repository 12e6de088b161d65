"""Judgement of indexed messages and publication of the verdicts, for new messages and for `rejudge`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Final

from contracts.headers import Headers
from contracts.topics import INFERRED_RECEIVED
from detector.detector import Detector
from detector.model import Neighbourhood, Verdict
from inference.announce import JudgedMessage, announcement
from inference.llm_gate.gate import LlmGate, PendingVerdict
from inference.model import IndexedMessage
from inference.turns.facts import Facts, joined
from inference.turns.store import TurnIndex
from inference.window import MessageRange, neighbourhood
from servicekit.clock import stage
from servicekit.log.records import Message as Record
from servicekit.log.records import Producer

PIECE: Final = 32
"""Number of messages that are judged at a time. Between two pieces, other tasks of the event loop run, such as
heartbeats: if they are delayed beyond the session timeout, the consumer loses its partitions and cannot commit."""


class Judging:
    """Judge of indexed messages, using a detector and optionally a language model.

    Verdicts and announcements are stored in one transaction, which locks the conversations and returns the previous
    verdicts. If two processes judge the same message, the later one therefore sees the other's announcement, and the
    verdict with the lower stamp is not announced.
    """

    def __init__(self, turns: TurnIndex, producer: Producer, detector: Detector, gate: LlmGate | None = None) -> None:
        self.detector = detector
        self.version = gate.version if gate else detector.version
        """Version of the detector and its gate."""
        self._turns = turns
        self._producer = producer
        self._gate = gate

    async def judge(self, ranges: Sequence[MessageRange]) -> list[JudgedMessage]:
        """Judge people's messages in `ranges`. Nothing is stored except the language model's answers."""
        pending = [pair for span in ranges for pair in span.to_judge()]
        items = [neighbourhood(message, before) for message, before in pending]
        verdicts = await self._judge(items)
        if self._gate is not None:
            with stage("gate"):
                verdicts = await self._gate.settle(
                    [
                        PendingVerdict(message.conversation, item, verdict)
                        for (message, _), item, verdict in zip(pending, items, verdicts, strict=True)
                    ]
                )
        return [JudgedMessage(*pair, verdict) for pair, verdict in zip(pending, verdicts, strict=True)]

    async def publish(
        self,
        judged: Sequence[JudgedMessage],
        facts: Collection[Facts] = (),
        headers: Callable[[IndexedMessage], Headers] = lambda _: (),
    ) -> None:
        """Store the verdicts and `facts` in the turn index, then publish the announcements and retractions.

        Args:
            headers: Returns the record headers for the event about a message.
        """
        verdicts = [(item.message, item.verdict) for item in judged]
        previous = await self._turns.take(joined(facts), verdicts, self.version)
        events = [
            (announcement(item, self.version, previous.get(item.message.key)), headers(item.message)) for item in judged
        ]
        await self._producer.send([Record.of(INFERRED_RECEIVED, event, about) for event, about in events if event])

    async def _judge(self, neighbourhoods: Sequence[Neighbourhood]) -> list[Verdict]:
        verdicts: list[Verdict] = []
        for start in range(0, len(neighbourhoods), PIECE):
            with stage("detector"):
                verdicts += self.detector.judge(neighbourhoods[start : start + PIECE])
            await asyncio.sleep(0)
        return verdicts
