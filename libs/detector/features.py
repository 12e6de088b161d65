"""Features of the classifier: the reader's shares, the rule that matches, and whether the message takes up a word."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from detector.encoders.exchange import CLASSES, Logits
from detector.evidence import Evidence
from detector.rules import RULES, Rule

NAMES: Final = (*(f"reads:{name}" for name in CLASSES), *(f"rule:{rule.name}" for rule in RULES), "shares_no_word")

Vector = npt.NDArray[np.float64]


def shares(logits: Logits) -> Vector:
    """Return the reader's shares of the classes, which sum to 1 and are not calibrated."""
    raised: Vector = np.exp(logits.astype(np.float64) - float(logits.max()))
    total = float(raised.sum())
    return raised / total


def vector(evidence: Evidence, rule: Rule, logits: Logits) -> Vector:
    """Return the values of the features `NAMES` for a message.

    Args:
        rule: The first rule that matches the message.
        logits: The output of the reader.
    """
    said, known = evidence.message.content, evidence.request.content | evidence.answer.content
    flags = (*(rule is row for row in RULES), said.isdisjoint(known))
    return np.array([*np.log(shares(logits)), *map(float, flags)])
