"""Features of the classifier: the word layer, the kinds of matching patterns, overlaps, the reader's probabilities."""

from __future__ import annotations

from typing import Final, get_args

import numpy as np
import numpy.typing as npt

from detector.encoders.exchange import CLASSES, Logits
from detector.evidence import REPHRASED_ABOVE, Evidence
from detector.patterns import Kind
from detector.word_layer import WordLayer

#: Kinds of patterns that say too little for a weight of their own.
_WITHOUT_WEIGHT: Final = frozenset({"acknowledge", "postpone", "ask_agent"})
_KINDS: Final[tuple[Kind, ...]] = tuple(kind for kind in get_args(Kind) if kind not in _WITHOUT_WEIGHT)
#: Features that need no reader.
WORDS: Final = (
    *(f"words:{name}" for name in CLASSES),
    *_KINDS,
    *("shares_no_word", "words_of_request", "words_of_answer", "coded", "answer_coded", "similarity"),
    "asks_otherwise",
)
NAMES: Final = (
    *WORDS,
    *(f"reads:{name}" for name in CLASSES),
    *("rejected_after_question", "nothing_after_question", "rephrased_and_similar", "rephrased_by_similarity"),
)

Vector = npt.NDArray[np.float64]


def shares(logits: Logits) -> Vector:
    """Return the reader's probabilities of the classes, which sum to 1 and are not calibrated."""
    raised: Vector = np.exp(logits.astype(np.float64) - float(logits.max()))
    total = float(raised.sum())
    return raised / total


def vector(evidence: Evidence, words: WordLayer, logits: Logits | None) -> Vector:
    """Return the values of the features `NAMES` for a message, or of `WORDS` without a reader.

    Args:
        logits: The output of the reader.
    """
    message, request, answer = evidence.message, evidence.request, evidence.answer
    matched = evidence.kinds | evidence.answer_kinds
    features = [
        *words.logits(message, answer),
        *(float(kind in matched) for kind in _KINDS),
        float(message.content.isdisjoint(request.content | answer.content)),
        len(message.content & request.content) / max(1, len(request.content)),
        len((message.content - request.content) & answer.content) / max(1, len(message.content)),
        float(message.coded),
        float(answer.coded),
        evidence.similarity,
        float(evidence.asks_otherwise and bool(request.words)),
    ]
    if logits is not None:
        read = shares(logits)
        rephrased, question = read[CLASSES.index("rephrased")], float("agent_asks" in evidence.answer_kinds)
        features += [
            *np.log(read),
            question * read[CLASSES.index("explicit")],
            question * read[CLASSES.index("none")],
            rephrased * (evidence.similarity > REPHRASED_ABOVE),
            rephrased * evidence.similarity,
        ]
    return np.array(features)
