"""Features of the classifier: the reader's shares, the kinds of patterns that match, and combinations of the two."""

from __future__ import annotations

from typing import Final, get_args

import numpy as np
import numpy.typing as npt

from detector.encoders.exchange import CLASSES, Logits
from detector.evidence import REPHRASED_ABOVE, Evidence
from detector.patterns import Kind

#: Kinds of patterns that say too little for a weight of their own.
_WITHOUT_WEIGHT: Final = frozenset({"acknowledge", "postpone", "ask_agent"})
_KINDS: Final[tuple[Kind, ...]] = tuple(kind for kind in get_args(Kind) if kind not in _WITHOUT_WEIGHT)
NAMES: Final = (
    *(f"reads:{name}" for name in CLASSES),
    *_KINDS,
    *("shares_no_word", "rejected_after_question", "nothing_after_question", "rephrased_and_similar"),
)

Vector = npt.NDArray[np.float64]


def shares(logits: Logits) -> Vector:
    """Return the reader's shares of the classes, which sum to 1 and are not calibrated."""
    raised: Vector = np.exp(logits.astype(np.float64) - float(logits.max()))
    total = float(raised.sum())
    return raised / total


def vector(evidence: Evidence, logits: Logits) -> Vector:
    """Return the values of the features `NAMES` for a message.

    Args:
        logits: The output of the reader.
    """
    read = shares(logits)
    matched = evidence.kinds | evidence.answer_kinds
    similar, question = float(evidence.similarity > REPHRASED_ABOVE), float("agent_asks" in evidence.answer_kinds)
    return np.array(
        [
            *np.log(read),
            *(float(kind in matched) for kind in _KINDS),
            float(evidence.message.content.isdisjoint(evidence.request.content | evidence.answer.content)),
            question * read[CLASSES.index("explicit")],
            question * read[CLASSES.index("none")],
            similar * read[CLASSES.index("rephrased")],
        ]
    )
