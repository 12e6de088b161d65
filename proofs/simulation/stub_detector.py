"""Detector whose verdict depends on every earlier text, so that a missing second judgement changes the result."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from contracts.detectors import DetectorVersion
from detector.model import Feedback, Neighbourhood, Reaction, Target, Verdict

VERDICTS: tuple[Feedback, ...] = ("rejected", "accepted", "neutral", "neutral")
REACTIONS: dict[Feedback, Reaction] = {"rejected": "not_ok", "accepted": "ok"}


def judge(item: Neighbourhood) -> Verdict:
    """Return rejected, accepted or neutral, by a checksum of the neighbourhood; the target is the latest agent
    message."""
    answered = next((one for one in reversed(item.before) if one.role == "agent"), None)
    text = "\n".join(f"{m.message_id}\t{m.text}" for m in (*item.before, item.message))
    feedback = VERDICTS[zlib.crc32(text.encode()) % 4]
    target = None
    if answered is not None and feedback != "neutral":
        target = Target(
            answered.turn_id, answered.message_id, answered.agent_id or answered.sender_id, 1.0, 1.0, 1.0, 1
        )
    return Verdict(
        feedback=feedback,
        reaction=REACTIONS.get(feedback) if target else None,
        confidence=0.9,
        correction_type=None,
        user_said=item.message.text,
        target=target,
        rules=(),
        decided_by="rules",
        gate="neutral",
    )


class StubDetector:
    version = DetectorVersion(1, 1, "00000000")

    def judge(self, items: Sequence[Neighbourhood]) -> list[Verdict]:
        return [judge(item) for item in items]
