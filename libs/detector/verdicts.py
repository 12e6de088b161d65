"""Conversion of judged exchanges to verdicts."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from detector.addressing import Exchange
from detector.calibration import ConfidenceCalibration
from detector.evidence import Evidence
from detector.learned import Opinion
from detector.model import Feedback, Reaction, Target, Verdict
from detector.published import reactions_below
from detector.rules import Decision

#: Maximum number of characters of the message that a verdict quotes.
QUOTE: Final = 10_000

_REACTION: Final[dict[Feedback, Reaction | None]] = {"rejected": "not_ok", "accepted": "ok", "neutral": None}


class JudgedExchange(NamedTuple):
    """A judged exchange, with its evidence, the learned layer's opinion (if any) and the decision."""

    exchange: Exchange
    evidence: Evidence
    opinion: Opinion | None
    decision: Decision

    @property
    def scores(self) -> dict[str, float]:
        """Similarities, and the learned layer's probabilities if it has an opinion. All are from 0 to 1."""
        alike = self.evidence.sentences
        scores = {"similarity": self.evidence.similarity}
        scores["same_intent"] = self.evidence.same_intent if alike is None else alike.same_intent
        if alike is not None:
            scores["sentence_similarity"] = alike.similarity
        if (opinion := self.opinion) is not None:
            scores |= {"rejected": opinion.rejected, "accepted": opinion.accepted, "neutral": opinion.neutral}
        return scores


@dataclass(frozen=True)
class VerdictBuilder:
    """Builder of verdicts for one detector.

    Attributes:
        calibration: Conversion of scores to confidences after long answers. After short answers, or without it, the
            score is used as the confidence.
        target_precision: Kinds of verdicts whose published precision is clearly below this value are not announced.
        encoder: Name of the detector's sentence encoder, if it has one.
    """

    calibration: ConfidenceCalibration | None
    target_precision: float
    encoder: str | None

    @cached_property
    def _reactions_below_target(self) -> Collection[str]:
        return reactions_below(self.target_precision)

    def build(self, one: JudgedExchange, target: Target | None) -> Verdict:
        """Return the verdict on a judged message about `target`."""
        decision = one.decision
        reaction = _REACTION[decision.feedback] if not decision.status_only else None
        confidence = decision.confidence
        if self.calibration is not None and one.evidence.has_long_answer:
            confidence = self.calibration.confidence(decision)
        scores = {"score": decision.confidence, **one.scores}
        if decision.feedback == "rejected":
            scores["ranking"] = ranking(confidence, one.opinion)
        return Verdict(
            feedback=decision.feedback,
            reaction=reaction,
            confidence=confidence,
            correction_type=decision.correction_type,
            user_said=one.exchange.message.text[:QUOTE],
            target=target,
            rules=decision.rules,
            decided_by=decision.decided_by,
            gate=decision.gate,
            scores={name: round(value, 6) for name, value in scores.items()},
            status_only=decision.status_only,
            settled=decision.settled,
            encoder=self.encoder,
            rule=decision.rule,
            falls_short=reaction in self._reactions_below_target,
        )


def ranking(confidence: float, opinion: Opinion | None) -> float:
    """Return the score (0 to 1) used to rank rejections.

    This is the geometric mean of the confidence and the learned layer's probability of a rejection, even if a rule made
    the decision. Without an opinion of the learned layer, it is the confidence.
    """
    return confidence if opinion is None else math.sqrt(confidence * opinion.rejected)
