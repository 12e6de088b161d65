"""Judgement of a new message during an HTTP request.

Nothing is stored except the language model's answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from contracts.message_fields import MessageKey, TurnKey
from detector.addressing import in_scope
from detector.detector import Detector
from detector.location import MAX_AGE_US
from detector.model import NEIGHBOURHOOD, Message, Neighbourhood, Verdict
from detector.rules import UNRELATED
from inference.last_answer import LastAnswer
from inference.llm_gate.gate import LlmGate, PendingVerdict
from inference.model import ConversationKey, IndexedMessage, Scope
from inference.planner import Advice
from inference.store import ConversationStore
from inference.turns.candidates import Candidate, candidates
from inference.turns.model import PersonTurns, StrategyFilter
from inference.turns.rules import Turn, TurnFeedback, rejections_in_a_row
from inference.turns.search import TurnSearch

RECENT_TURNS: Final = 10
"""Number of latest turns that are checked for consecutive rejections."""

SEARCHED_TURNS: Final = 50
"""Number of turns that are searched for distinct strategies."""

LookBack = Literal["conversation", "user"]


@dataclass(frozen=True, slots=True)
class Detected:
    """Result of `Detection.detect`.

    Attributes:
        advice: Advice about the judged turn, or about the latest turn if none was judged. None if no answer is known.
        candidates: Turns that the message may be about, most probable first. They come from all of the person's
            conversations. The list is empty if other conversations were not searched, or if the message is not
            feedback.
    """

    verdict: Verdict
    advice: Advice | None
    candidates: tuple[Candidate, ...] = ()


class Detection:
    """Judge of new messages in their conversations."""

    def __init__(
        self, store: ConversationStore, turns: TurnSearch, detector: Detector, gate: LlmGate | None = None
    ) -> None:
        self._store = store
        self._turns = turns
        self._detector = detector
        self._gate = gate

    async def find(self, key: MessageKey) -> IndexedMessage | None:
        """Return a published message, or None if it is not indexed."""
        return await self._store.find(key)

    async def detect(
        self,
        where: ConversationKey,
        message: Message,
        position: bytes | None = None,
        look_back: LookBack = "conversation",
        previous: LastAnswer | None = None,
        *,
        names_writer: bool = True,
    ) -> Detected:
        """Judge a message in its conversation and return the verdict with advice for the next answer.

        Later messages are ignored. The verdict depends only on the conversation, so it equals the verdict that will be
        announced for the message.

        Args:
            position: Position of the message if it is indexed. By default, all messages up to its time precede it.
            look_back: With "user", all of the person's turns are searched for candidates. If the conversation has no
                answer yet, the message is then judged as feedback on the best candidate.
            previous: The last answer, if the caller has one that may not be indexed yet.
            names_writer: False if the message's sender may be the agent's program instead of the person who wrote it.
        """
        thread = message.thread_id or ""
        indexed, latest_turns = await asyncio.gather(
            self._store.before(Scope(where, thread), position or end_of(message.at), NEIGHBOURHOOD + 1),
            self._turns.latest(where, message.at, RECENT_TURNS, thread),
        )
        before: Sequence[Message] = [row.message for row in indexed if row.message.message_id != message.message_id]
        message = message if names_writer else _by_a_participant(message, before[-NEIGHBOURHOOD:])
        before = previous.added_to(before, message) if previous else before
        item = Neighbourhood(tuple(before[-NEIGHBOURHOOD:]), message)
        if look_back == "user" and not any(earlier.role == "agent" for earlier in in_scope(item).before):
            return await self._answered_elsewhere(where, message)
        [verdict] = self._detector.judge([item])
        if self._gate is not None:
            [verdict] = await self._gate.settle([PendingVerdict(where, item, verdict)], final=False)
        latest = previous.first_of(latest_turns, where, message) if previous else list(latest_turns)
        about = latest[0] if latest else None
        if verdict.target is not None and not verdict.status_only:
            about = await self._turn_judged(where, message, verdict, latest)
            latest = [about if turn.key == about.key else turn for turn in latest]
        others = await self._candidates(where, message) if look_back == "user" and _is_feedback(verdict) else ()
        advice = Advice(about, rejections_in_a_row(latest, message.at), tuple(latest)) if about else None
        return Detected(verdict, advice, others)

    async def strategies_that_worked(
        self,
        where: ConversationKey,
        text: str,
        detected: Detected,
        *,
        limit: int,
        intent: str | None = None,
        agent_id: str | None = None,
    ) -> Sequence[Turn]:
        """Return turns whose strategies worked for similar questions, best first, with one turn per strategy.

        If the new message rejects a turn, questions similar to that turn's question are searched, and the rejected
        strategy is excluded. Otherwise, questions similar to `text` are searched.

        Args:
            detected: The detection result for the new message.
            limit: Maximum number of turns.
            intent: Only return strategies for questions with this intent.
            agent_id: Only return strategies of this agent. By default, the agent of the turn that `detected` is about,
                or all agents if that is unknown.
        """
        if limit < 1:
            return ()
        about = detected.advice.turn if detected.advice else None
        rejected = about if about is not None and about.status == "rejected" else None
        question = (rejected.user_text if rejected else None) or text
        agent = agent_id or (about.agent_id if about else None)
        wanted = StrategyFilter(where.tenant, where.project, intent=intent, text=question, agent_id=agent, praised=True)
        best: dict[str | None, Turn] = {}
        for turn in await self._turns.search(wanted, SEARCHED_TURNS):
            best.setdefault(turn.strategy, turn)
        if rejected:
            best.pop(rejected.strategy, None)
        return list(best.values())[:limit]

    async def _turn_judged(
        self, where: ConversationKey, message: Message, verdict: Verdict, latest: Sequence[Turn]
    ) -> Turn:
        """Return the turn that the verdict is about, with the verdict."""
        target = verdict.target
        assert target is not None
        key = TurnKey(*where, target.turn_id)
        turn = next((turn for turn in latest if turn.key == key), None) or await self._turns.turn(key)
        return _judged(turn or Turn(key, agent_id=target.agent_id), message, verdict)

    async def _answered_elsewhere(self, where: ConversationKey, message: Message) -> Detected:
        """Judge the message as feedback on the most probable of the person's turns in other conversations.

        The verdict has no target, because a target must be in the message's own conversation.
        """
        others = await self._candidates(where, message)
        best = others[0] if others and others[0].target.similarity >= UNRELATED else None
        about = await self._turns.turn(TurnKey(*best.conversation, best.target.turn_id)) if best else None
        [verdict] = self._detector.judge([Neighbourhood(_exchange(about) if about else (), message)])
        untargeted = replace(verdict, target=None)
        if about is None or not _is_feedback(verdict):
            return Detected(untargeted, None)
        return Detected(untargeted, Advice(_judged(about, message, verdict), 0), others)

    async def _candidates(self, where: ConversationKey, message: Message) -> tuple[Candidate, ...]:
        wanted = PersonTurns(where.tenant, where.project, message.sender_id, message.at - MAX_AGE_US, message.at)
        return candidates(message.text, await self._turns.nearby(wanted, message.text))


def end_of(time: int) -> bytes:
    """Return the position after all messages up to the time `time`, in microseconds."""
    return max(0, time + 1).to_bytes(8)


def _by_a_participant(message: Message, before: Sequence[Message]) -> Message:
    """Return the message with a person of the conversation as its sender.

    An agent's program may send requests under its own name. A sender who wrote none of the messages in `before` is
    therefore replaced with the last person who wrote one.
    """
    people = [earlier.sender_id for earlier in before if earlier.role == "human"]
    return message if not people or message.sender_id in people else replace(message, sender_id=people[-1])


def _exchange(turn: Turn) -> tuple[Message, Message]:
    name, agent, time = turn.key.turn_id, turn.agent_id or "", turn.at or 0
    return (
        Message("question", name, turn.user_id or "", "human", None, turn.user_text or "", time),
        Message("answer", name, agent, "agent", agent, turn.assistant_text or "", time),
    )


def _is_feedback(verdict: Verdict) -> bool:
    return verdict.status != "neutral" and not verdict.status_only


def _judged(turn: Turn, message: Message, verdict: Verdict) -> Turn:
    """Return the turn with the verdict on it. A rejection outweighs earlier praise and unannounced verdicts."""
    if turn.machine and turn.machine.status == "rejected" and not verdict.emitted:
        return turn
    status, words, user = verdict.status, verdict.user_said, turn.user
    if user and status == "rejected" != user.status and (user.detected_at or 0) <= message.at:
        user = None
    machine = TurnFeedback(status, verdict.confidence, verdict.correction_type, words, message.turn_id, message.at)
    return replace(turn, machine=machine, user=user)
