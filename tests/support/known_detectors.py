"""Detectors with known differences: each rejects the answer before a message that begins with one of its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from contracts.detectors import DetectorVersion
from detector.encoders.embedder import Embedder
from detector.model import Neighbourhood, Target, Verdict


@dataclass(frozen=True)
class KnownDetector:
    """Detector of this version; `words` maps a message's first word to its verdict. Other messages give no feedback."""

    version: DetectorVersion
    words: Mapping[str, Literal["rejected", "accepted"]] = field(default_factory=dict)
    embedder: Embedder | None = None

    def judge(self, items: Sequence[Neighbourhood]) -> list[Verdict]:
        return [self._judge(item) for item in items]

    def _judge(self, item: Neighbourhood) -> Verdict:
        feedback = self.words.get((item.message.text.split() or [""])[0])
        answer = next((one for one in reversed(item.before) if one.role == "agent"), None)
        if feedback is None or answer is None:
            return Verdict("neutral", None, 0.5, None, item.message.text, None, (), "rules", "neutral")
        rejected = feedback == "rejected"
        return Verdict(
            feedback=feedback,
            reaction="not_ok" if rejected else "ok",
            confidence=0.9,
            correction_type="explicit" if rejected else None,
            user_said=item.message.text,
            target=Target(answer.turn_id, answer.message_id, answer.agent_id or "", 1.0, 1.0, 1.0, 1),
            rules=(str(self.version),),
            decided_by="rules",
            gate="not_ok" if rejected else "ok",
        )
