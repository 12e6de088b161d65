"""Judgement of a new message during an HTTP request.

Nothing is stored except the language model's answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from detector.addressing import in_scope
from detector.detector import Detector
from detector.location import MAX_AGE_US
from detector.model import NEIGHBOURHOOD, Message, Neighbourhood, Verdict
from detector.rules import UNRELATED
from inference.last_answer import LastAnswer
from inference.llm_gate.gate import LlmGate, PendingVerdict
from inference.neighbours import earlier
from inference.planner import Advice
from inference.store import ConversationKey, ConversationStore, Place
from inference.turns.candidates import Candidate, candidates
from inference.turns.rules import MachineStatus, Turn, TurnKey, rejections_in_a_row
from inference.turns.store import PersonTurns, TurnSearch

RECENT_TURNS: Final = 10
"""Number of latest turns that are checked for consecutive rejections."""

LookBack = Literal["conversation", "user"]


@dataclass(frozen=True, slots=True)
class Detection:
    """Result of `detect`.

    Attributes:
        advice: Advice about the judged turn, or about the latest turn if none was judged. None if no answer is known.
        rejections: Number of consecutive rejected turns up to the latest one.
        candidates: Turns that the message may be about, most probable first. They come from all of the person's
            conversations. The list is empty if other conversations were not searched, or if the message is not
            feedback.
    """

    verdict: Verdict
    advice: Advice | None
    rejections: int
    candidates: tuple[Candidate, ...] = ()


async def detect(
    store: ConversationStore,
    turns: TurnSearch,
    detector: Detector,
    where: ConversationKey,
    message: Message,
    gate: LlmGate | None = None,
    look_back: LookBack = "conversation",
    previous: LastAnswer | None = None,
    *,
    names_writer: bool = True,
) -> Detection:
    """Judge a message in its conversation and return the verdict with advice for the next answer.

    Later messages are ignored. The verdict depends only on the conversation, so it equals the verdict that will be
    announced for the message.

    Args:
        look_back: With "user", all of the person's turns are searched for candidates. If the conversation has no answer
            yet, the message is then judged as feedback on the best candidate.
        previous: The last answer, if the caller has one that may not be indexed yet.
        names_writer: False if the message's sender may be the agent's program instead of the person who wrote it.
    """
    place = (message.at, message.message_id)
    thread = message.thread_id or ""
    [around], indexed = await asyncio.gather(
        store.around([Place(where, *place, thread)], NEIGHBOURHOOD + 1),
        turns.latest(where, message.at, RECENT_TURNS, thread),
    )
    others = [one for one in around if one.indexed.message.message_id != message.message_id]
    said = earlier(message, [one for one in others if one.place < place], [one for one in others if one.place > place])
    before = said.judged_from
    message = message if names_writer else _by_a_participant(message, [one.indexed.message for one in said.rows])
    before = previous.added_to(before, message) if previous else before
    asked = Neighbourhood(before[-NEIGHBOURHOOD:], message)
    if look_back == "user" and said.is_certain and not any(one.role == "agent" for one in in_scope(asked).before):
        return await _answered_elsewhere(turns, detector, where, message)
    [verdict] = detector.judge([asked])
    if gate is not None:
        verdict = await gate.preview(PendingVerdict(where, asked, verdict))
    found: tuple[Candidate, ...] = ()
    if look_back == "user" and _says_something(verdict):
        found = await _among_all_turns(turns, where, message)
    latest = previous.first_of(indexed, where, message) if previous else list(indexed)
    about = latest[0] if latest else None
    if verdict.target is not None and not verdict.status_only:
        key = TurnKey(*where, verdict.target.turn_id)
        known = next((one for one in latest if one.key == key), None) or await turns.find(key)
        about = known or Turn(key, agent_id=verdict.target.agent_id)
        about = replace(about, machine=_status_of(message, verdict))
        latest = [about if one.key == key else one for one in latest]
    rejections = rejections_in_a_row(latest, message.at)
    return Detection(verdict, Advice(about, rejections, tuple(latest)) if about else None, rejections, found)


def _by_a_participant(message: Message, before: Sequence[Message]) -> Message:
    """Return the message with a person of the conversation as its sender.

    An agent's program may send requests under its own name. A sender who wrote none of the messages in `before` is
    therefore replaced with the last person who wrote one.
    """
    people = [one.sender_id for one in before if one.role == "human"]
    return message if not people or message.sender_id in people else replace(message, sender_id=people[-1])


async def _answered_elsewhere(
    turns: TurnSearch, detector: Detector, where: ConversationKey, message: Message
) -> Detection:
    """Judge the message as feedback on the most probable of the person's turns in other conversations.

    The verdict has no target, because a target must be in the message's own conversation.
    """
    found = await _among_all_turns(turns, where, message)
    best = found[0] if found and found[0].target.similarity >= UNRELATED else None
    about = await turns.find(TurnKey(*best.conversation, best.target.turn_id)) if best else None
    [verdict] = detector.judge([Neighbourhood(_exchange(about) if about else (), message)])
    verdict = replace(verdict, target=None)
    if about is None or not _says_something(verdict):
        return Detection(verdict, None, 0)
    return Detection(verdict, Advice(replace(about, machine=_status_of(message, verdict)), 0), 0, found)


def _exchange(turn: Turn) -> tuple[Message, Message]:
    name, agent, at = turn.key.turn_id, turn.agent_id or "", turn.at or 0
    return (
        Message("question", name, turn.user_id or "", "human", None, turn.user_text or "", at),
        Message("answer", name, agent, "agent", agent, turn.assistant_text or "", at),
    )


def _says_something(verdict: Verdict) -> bool:
    return verdict.status != "neutral" and not verdict.status_only


async def _among_all_turns(turns: TurnSearch, where: ConversationKey, message: Message) -> tuple[Candidate, ...]:
    looked = PersonTurns(where.tenant, where.project, message.sender_id, message.at - MAX_AGE_US, message.at)
    return candidates(message.text, await turns.nearby(looked, message.text))


def _status_of(message: Message, verdict: Verdict) -> MachineStatus:
    return MachineStatus(
        status=verdict.status,
        confidence=verdict.confidence,
        correction_type=verdict.correction_type,
        user_said=verdict.user_said,
        detected_in_turn_id=message.turn_id,
        detected_in_message_id=message.message_id,
        decided_by=verdict.decided_by,
        at=message.at,
    )
