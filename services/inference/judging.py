"""Judgement of indexed messages and publication of the verdicts, for new messages and for `rejudge`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import NamedTuple

from contracts.detectors import version_of
from contracts.exchange import thread_of
from contracts.headers import Headers
from contracts.provenance import NO_PROVENANCE
from contracts.topics import INFERRED_RECEIVED
from detector.addressing import Exchange
from detector.detector import Detector
from detector.model import Neighbourhood, Target, Verdict
from inference.announce import announcement, silent
from inference.llm_gate.gate import LlmGate, PendingVerdict
from inference.neighbours import MessageRange, to_judge
from inference.store import ConversationStore, Emission, IndexedMessage, MessageKey, Placed, VerdictStamp
from inference.turns.facts import Facts, joined, questions_of
from inference.turns.store import PreviousVerdict, TurnIntake
from servicekit import Message as Record
from servicekit import Producer, stage

BLOCKED_SECONDS = 0.25
"""Maximum time in seconds for which judging may block the event loop.

If heartbeats are delayed beyond the session timeout, the consumer loses its partitions and cannot commit. The same
batch would then be redelivered forever.
"""
FIRST_PIECE, LARGEST_PIECE = 16, 256
"""Initial and maximum number of messages in a chunk. Larger chunks would hardly be faster."""
ReadRanges = Callable[[], Awaitable[Sequence[MessageRange]]]


class JudgedMessages(NamedTuple):
    """Judged messages with their verdicts, and the questions that belong to the judged answers."""

    pairs: Sequence[tuple[Placed, Verdict]]
    questions: Sequence[Facts]
    messages: Mapping[MessageKey, IndexedMessage]
    asked: Mapping[tuple[MessageKey, str], str]
    """Message ids of the questions whose answers have an announced verdict.

    The key is (key of the judged message, message id of the answer).
    """

    def answer_to(self, placed: Placed, verdict: Verdict) -> IndexedMessage | None:
        """Return the answer that a verdict is about, or None if there is no target or the answer was not read."""
        if verdict.target is None:
            return None
        return self.messages.get(MessageKey(*placed.indexed.conversation, verdict.target.message_id))

    def question_of(self, placed: Placed, verdict: Verdict) -> str | None:
        """Return the message id of the question behind the answer of an announced verdict, or None if it is unknown."""
        return self.asked.get((placed.indexed.key, verdict.target.message_id)) if verdict.target else None


class Judging:
    """Judge of indexed messages, using a detector and optionally a language model.

    A process first records the announcements it plans, then stores its verdicts, then reads the recorded announcements.
    If two processes judge the same message, the later one therefore sees the other's announcements.
    """

    def __init__(
        self,
        store: ConversationStore,
        turns: TurnIntake,
        producer: Producer,
        detector: Detector,
        gate: LlmGate | None = None,
    ) -> None:
        self.store = store
        self.detector = detector
        self.version = gate.version(detector.version) if gate else detector.version
        """Version of the detector and its gate; see `contracts.detectors`."""
        self.judged = 0
        self._piece = FIRST_PIECE
        self._turns = turns
        self._producer = producer
        self._gate = gate

    async def judge(self, read: ReadRanges) -> JudgedMessages:
        """Judge people's messages in the ranges returned by `read`, and record the announcements to be made.

        If another message is indexed in these conversations meanwhile, the ranges are read and judged again.
        """
        while True:
            ranges = await read()
            pairs = await self.verdicts(ranges)
            emitted = [(placed, verdict.target) for placed, verdict in pairs if verdict.emitted and verdict.target]
            await self.store.emitting([_emission(placed, target) for placed, target in emitted])
            if not await self.store.outdated([placed for placed, _ in emitted]):
                questions = [facts for span in ranges for facts in questions_of(span)]
                messages = {placed.indexed.key: placed.indexed for span in ranges for placed in span.rows}
                targets = {placed.indexed.key: target.message_id for placed, target in emitted}
                return JudgedMessages(pairs, questions, messages, _questions_behind(ranges, targets))

    async def verdicts(self, ranges: Sequence[MessageRange]) -> list[tuple[Placed, Verdict]]:
        """Judge those of people's messages in `ranges` that must be judged again, and return the verdicts.

        Nothing is stored except the language model's answers.
        """
        judged = [pair for span in ranges for pair in to_judge(span)]
        verdicts = await self._judge([neighbourhood for _, neighbourhood in judged])
        if self._gate is not None:
            pending = [
                PendingVerdict(placed.indexed.conversation, neighbourhood, verdict)
                for (placed, neighbourhood), verdict in zip(judged, verdicts, strict=True)
            ]
            with stage("gate"):
                verdicts = await self._gate.settle(pending)
        return [(placed, verdict) for (placed, _), verdict in zip(judged, verdicts, strict=True)]

    async def publish(
        self,
        judged: JudgedMessages,
        facts: Collection[Facts] = (),
        headers: Callable[[IndexedMessage], Headers] = lambda _: (),
    ) -> None:
        """Store the verdicts and `facts` in the turn index, then publish the announcements and retractions.

        Args:
            headers: Returns the record headers for the event about a message.
        """
        self.judged += len(judged.pairs)
        held = await self._turns.take(joined([*facts, *judged.questions]), judged.pairs, self.version)
        await self._producer.send(list(self._records(judged, held, headers)))

    def _records(
        self,
        judged: JudgedMessages,
        held: Mapping[MessageKey, PreviousVerdict],
        headers: Callable[[IndexedMessage], Headers],
    ) -> Iterator[Record]:
        for placed, verdict in judged.pairs:
            placed, verdict, version = _upheld(placed, verdict, self.version, held.get(placed.indexed.key))
            answer = judged.answer_to(placed, verdict)
            event = announcement(
                placed,
                verdict,
                answer.provenance if answer else NO_PROVENANCE,
                version,
                question_message_id=judged.question_of(placed, verdict),
                thread_id=thread_of(answer.message.message_id, answer.message.thread_id) if answer else None,
            )
            if event is not None:
                value = event.model_dump_json(by_alias=True).encode()
                yield Record(INFERRED_RECEIVED.name, INFERRED_RECEIVED.key(event), value, headers(placed.indexed))

    async def _judge(self, neighbourhoods: Sequence[Neighbourhood]) -> list[Verdict]:
        """Judge the messages in chunks, yielding to the event loop after each chunk so that heartbeats are sent.

        The chunk size adapts to the speed of the machine.
        """
        verdicts: list[Verdict] = []
        while len(verdicts) < len(neighbourhoods):
            began, piece = monotonic(), neighbourhoods[len(verdicts) : len(verdicts) + self._piece]
            with stage("patterns", less="encoder"):
                verdicts += self.detector.judge(piece)
            took = monotonic() - began
            # The time of a short last piece is no measure for larger pieces, unless it was too long.
            if len(piece) == self._piece or took > BLOCKED_SECONDS:
                self._piece = next_piece(len(piece), took)
            await asyncio.sleep(0)
        return verdicts


def next_piece(judged: int, seconds: float) -> int:
    """Return the size of the next chunk, given that judging `judged` messages took `seconds`.

    The size at most doubles from one chunk to the next.
    """
    fitting = judged * BLOCKED_SECONDS / max(seconds, BLOCKED_SECONDS / 2)
    return min(LARGEST_PIECE, max(1, int(fitting)))


def _emission(placed: Placed, target: Target) -> Emission:
    return Emission(placed.indexed.key, placed.indexed.message.sender_id, target.turn_id, target.agent_id)


def _questions_behind(
    ranges: Sequence[MessageRange], targets: Mapping[MessageKey, str]
) -> dict[tuple[MessageKey, str], str]:
    """Find the question behind each announced verdict, and return its message id.

    A verdict is about an answer, and the question is the one that this answer responds to. The result is keyed by (key
    of the judged message, message id of the answer).
    """
    found: dict[tuple[MessageKey, str], str] = {}
    judged = (pair for span in ranges for pair in to_judge(span)) if targets else ()
    for placed, neighbourhood in judged:
        key = placed.indexed.key
        if (target := targets.get(key)) is None:
            continue
        exchange = Exchange.of(neighbourhood)
        for answer, question in zip(exchange.candidates, exchange.requests, strict=True):
            if answer.message_id == target and question is not None:
                found[key, target] = question.message_id
    return found


def _upheld(
    placed: Placed, verdict: Verdict, version: str, held: PreviousVerdict | None
) -> tuple[Placed, Verdict, str]:
    """Return the verdict to publish, with its message and the version of its detector.

    This is normally `verdict` itself. The exception is a stored verdict that takes precedence over `verdict`, but was
    not announced. A neutral verdict with its stamp is then published, to retract any announcement with a lower stamp.
    """
    if held is None:
        return placed, verdict, version
    placed = replace(placed, emitted_turn_id=held.emitted_turn_id, emitted_agent_id=held.emitted_agent_id)
    stamp = held.stamp
    if held.announced or stamp <= VerdictStamp.of(placed, version):
        return placed, verdict, version
    placed = replace(placed, epoch=stamp.epoch, evaluation=stamp.evaluation)
    return placed, silent(verdict), version_of(stamp.judged_by) or version
