"""Judges a message that was just written, for a caller who waits. Publishes nothing, and stores nothing except
what a language model answered."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from detector.addressing import in_scope
from detector.detector import Detector
from detector.dialogue import UNRELATED
from detector.location import MAX_AGE_US
from detector.model import NEIGHBOURHOOD, Message, Neighbourhood, Verdict
from inference.llm_gate.gate import Judged, LlmGate
from inference.planner import Advice
from inference.previous import LastAnswer
from inference.store import ConversationKey, Place, Store
from inference.turns.candidates import Candidate, candidates
from inference.turns.rules import MachineStatus, Turn, TurnKey, rejections_in_a_row
from inference.turns.store import Looked, TurnSearch

LOOKED_BACK: Final = 10
"""So many of the latest turns are looked at for rejections in a row."""

LookBack = Literal["conversation", "user"]


@dataclass(frozen=True, slots=True)
class Detection:
    """`advice` is about the turn that the message judges, else about the latest; None where no agent has answered.

    `candidates` are the turns of the person, in whatever conversation, that the message may be about, best first; none
    where it says nothing, or where no more than its conversation was looked at.
    """

    verdict: Verdict
    advice: Advice | None
    rejections: int
    candidates: tuple[Candidate, ...] = ()


async def detect(
    store: Store,
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
    """The verdict on a message as if it stood in its conversation, at its time; later messages do not count.

    The verdict rests on the conversation alone, so it is the one that would be announced. Looking back over all the
    person's turns tells what else it may be about; where nothing was answered in the conversation, the best of them
    stands for the answer. `previous` counts as the last answer where the conversation's index does not hold it yet.
    """
    place = (message.at, message.message_id)
    thread = message.thread_id or ""
    [stretch], indexed = await asyncio.gather(
        store.around([Place(where, *place, thread)], NEIGHBOURHOOD + 1),
        turns.latest(where, message.at, LOOKED_BACK, thread),
    )
    said = [one.indexed.message for one in stretch]
    before = tuple(one for one in said if (one.at, one.message_id) < place and one.message_id != message.message_id)
    message = message if names_writer else _by_a_participant(message, before)
    before = previous.added_to(before, message) if previous else before
    asked = Neighbourhood(before[-NEIGHBOURHOOD:], message)
    if look_back == "user" and not any(one.role == "agent" for one in in_scope(asked).before):
        return await _answered_elsewhere(turns, detector, where, message)
    [verdict] = detector.judge([asked])
    if gate is not None:
        verdict = await gate.look(Judged(where, asked, verdict))
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
    """Return the message as its sender's if they wrote in `before`, otherwise as the last person's who did.

    An agent runtime asks under its own name, which no participant has.
    """
    people = [one.sender_id for one in before if one.role == "human"]
    return message if not people or message.sender_id in people else replace(message, sender_id=people[-1])


async def _answered_elsewhere(
    turns: TurnSearch, detector: Detector, where: ConversationKey, message: Message
) -> Detection:
    """The best candidate stands for the answer; without a target, for it is none of this conversation's turns."""
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
    looked = Looked(where.tenant, where.project, message.sender_id, message.at - MAX_AGE_US, message.at)
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
