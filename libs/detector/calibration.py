"""Convert a verdict's score to a calibrated confidence.

After a long answer, such as a coding agent's, scores are biased: a message without a cue is usually the next request,
and likely rejections are right less often than their score says. Logistic curves, fitted on labelled turns, correct
both. After a short answer, the confidence is the score.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from contracts.announcement_threshold import ANNOUNCEMENT_THRESHOLD
from detector.learned import Opinion
from detector.rules import Decision
from detector.text import Prepared

WEIGHTS: Final = Path(__file__).parent / "weights" / "calibration.json"
#: Minimum number of words of a long answer. An answer with a code block is long, too.
LONG_ANSWER: Final = 40
#: Scores are clipped to [EDGE, 1 - EDGE], because the log odds of 0 and 1 are infinite.
EDGE: Final = 0.001
_ROUNDING: Final = 1e-9

#: Kinds of verdicts with a curve, as `label.layer`. The curve of rejections applies below the announcement threshold.
KINDS: Final = ("rejected.learned", "accepted.learned", "accepted.rules", "neutral.learned", "neutral.rules")


def log_odds(score: float) -> float:
    """Return the log odds of a score, after clipping the score to [EDGE, 1 - EDGE]."""
    limited = min(max(score, EDGE), 1 - EDGE)
    return math.log(limited / (1 - limited))


class Curve(NamedTuple):
    """Logistic curve: log odds of the confidence = `intercept` + `slope` * log odds of the score."""

    intercept: float
    slope: float

    def at(self, score: float) -> float:
        """Return the confidence in (0, 1) at a score in [0, 1]."""
        return 1 / (1 + math.exp(-self.intercept - self.slope * log_odds(score)))


@dataclass(frozen=True, slots=True)
class ConfidenceCalibration:
    """Curve of each kind of verdict, and the slope for announced rejections by the learned layer.

    All slopes are positive, so calibration keeps the order of scores within a kind. It never moves a rejection across
    the announcement threshold, so it does not change which rejections are announced. Raises ValueError if the curves
    would violate this.
    """

    curves: Mapping[str, Curve]
    announced_slope: float

    def __post_init__(self) -> None:
        if self.curves.keys() != set(KINDS):
            raise ValueError(f"a calibration needs the curves {', '.join(KINDS)}")
        if not 0 < self.announced_slope <= 1 or any(curve.slope <= 0 for curve in self.curves.values()):
            raise ValueError("a calibration must keep the order of scores")
        if self.curves["rejected.learned"].at(ANNOUNCEMENT_THRESHOLD) > ANNOUNCEMENT_THRESHOLD + _ROUNDING:
            raise ValueError("a rejection below the announcement threshold must stay below it")

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> ConfidenceCalibration:
        """Load the committed calibration. Raises ValueError if its curves are not valid (see the class)."""
        stored = json.loads(path.read_text(encoding="utf-8"))
        return cls({kind: Curve(*stored["curves"][kind]) for kind in KINDS}, float(stored["announced_slope"]))

    def confidence(self, decision: Decision, answer: Prepared) -> float:
        """Return the confidence in a decision about a message after `answer`, from 0 to 1.

        Only decisions after a long answer change. Approvals, new topics and rejections by rules always keep their
        score: either there are too few of them in the labelled turns, or the score already matches the measured
        precision.
        """
        score = decision.confidence
        curve = self.curves.get(f"{decision.feedback}.{decision.decided_by}")
        if curve is None or decision.status_only or decision.gate == "ok" or not is_long(answer):
            return score
        if decision.feedback == "rejected" and score >= ANNOUNCEMENT_THRESHOLD:
            above = score - ANNOUNCEMENT_THRESHOLD
            return round(ANNOUNCEMENT_THRESHOLD + self.announced_slope * above, 6)
        return round(curve.at(score), 6)


def is_long(answer: Prepared) -> bool:
    """Return True if the answer contains a code block, or at least `LONG_ANSWER` words outside of code."""
    return answer.coded or len(answer.words) >= LONG_ANSWER


def ranking(confidence: float, opinion: Opinion | None) -> float:
    """Return the score by which rejections are ranked, from 0 to 1.

    It is the geometric mean of the confidence and the learned layer's probability of a rejection. Rejections by rules
    have this score, too. Without an opinion of the learned layer, it is the confidence.
    """
    return confidence if opinion is None else math.sqrt(confidence * opinion.rejected)
