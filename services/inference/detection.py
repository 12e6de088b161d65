"""What a message that was only just written says about its conversation. Publishes nothing, and keeps
nothing but what a language model answered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from inference.detector import Detector
from inference.llm_gate import Judged, LlmGate
from inference.model import NEIGHBOURHOOD, Message, Neighbourhood, Verdict
from inference.planner import Advice
from inference.store import ConversationKey, Span, Store
from inference.turn_index import TurnIndex
from inference.turns import MachineWord, Turn, TurnKey, rejections_in_a_row

LOOKED_BACK: Final = 10
"""So many of the latest turns are looked at for rejections in a row."""


@dataclass(frozen=True, slots=True)
class Detection:
    """`advice` is about the turn that the message judges, else about the latest; None where no agent has answered."""

    verdict: Verdict
    advice: Advice | None
    rejections: int


async def detect(
    store: Store,
    turns: TurnIndex,
    detector: Detector,
    where: ConversationKey,
    message: Message,
    gate: LlmGate | None = None,
) -> Detection:
    """The verdict on a message as if it stood in its conversation, at its time; later messages do not count."""
    place = (message.at, message.message_id)
    [stretch] = await store.around([Span(where, place, place)], NEIGHBOURHOOD + 1)
    said = [one.indexed.message for one in stretch]
    before = tuple(one for one in said if (one.at, one.message_id) < place and one.message_id != message.message_id)
    item = Neighbourhood(before[-NEIGHBOURHOOD:], message)
    [verdict] = detector.judge([item])
    if gate is not None:
        verdict = await gate.look(Judged(where, item, verdict))
    latest = list(await turns.latest(where, message.at, LOOKED_BACK))
    about = latest[0] if latest else None
    if verdict.target is not None and not verdict.status_only:
        key = TurnKey(*where, verdict.target.turn_id)
        about = await turns.find(key) or Turn(key, agent_id=verdict.target.agent_id)
        about = replace(about, machine=_word(message, verdict))
        latest = [about if one.key == key else one for one in latest]
    rejections = rejections_in_a_row(latest, message.at)
    return Detection(verdict, Advice(about, rejections) if about else None, rejections)


def _word(message: Message, verdict: Verdict) -> MachineWord:
    return MachineWord(
        status=verdict.feedback,
        confidence=verdict.confidence,
        correction_type=verdict.correction_type,
        user_said=verdict.user_said,
        detected_in_turn_id=message.turn_id,
        detected_in_message_id=message.message_id,
        decided_by=verdict.decided_by,
    )
