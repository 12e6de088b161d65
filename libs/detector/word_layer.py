"""The word layer: logits of the classes from the words of a message and of the end of the answer before it.

It is a linear model that was fitted on the same exchanges as the reader (training/README.md). The reader generalises to
other words; the word layer knows decisive phrases, and needs no encoder.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from detector.encoders.exchange import CLASSES
from detector.text import Prepared

WEIGHTS: Final = Path(__file__).parent / "weights" / "words.json"
#: Unit of the committed weights.
STEP: Final = 0.02
#: Number of words read at the beginning and at the end of the message, and at the end of the answer.
MESSAGE: Final = (45, 15)
ANSWER: Final = 25

Vector = npt.NDArray[np.float64]


def ngrams(message: Prepared, answer: Prepared) -> frozenset[str]:
    """Return the words and pairs of words of a message, its first words, and the words at the end of the answer."""
    words = message.words
    if len(words) > sum(MESSAGE):
        words = words[: MESSAGE[0]] + words[-MESSAGE[1] :]
    marks = {f"{side}{mark}" for mark in "?!" for side, text in (("", message), (">", answer)) if mark in text.text}
    first = {f"^{' '.join(words[:count])}" for count in (1, 2)}
    before = {f">{word}" for word in answer.words[-ANSWER:]}
    return frozenset({*words, *map(" ".join, pairwise(words))} | marks | first | before)


class WordLayer:
    """Weights of n-grams: one row of `matrix` for each entry of `rows`, one column for each class."""

    def __init__(self, rows: dict[str, int], matrix: Vector, bias: Vector) -> None:
        self._rows, self._matrix, self._bias = rows, matrix, bias

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> WordLayer:
        """Read the committed weights.

        Raises:
            ValueError: The weights belong to other classes.
        """
        content = json.loads(path.read_text("utf-8"))
        if tuple(content["classes"]) != CLASSES:
            raise ValueError(f"{path} belongs to other classes")
        rows = {ngram: number for number, ngram in enumerate(content["weights"])}
        return cls(rows, STEP * np.array(list(content["weights"].values())), np.array(content["bias"]))

    def logits(self, message: Prepared, answer: Prepared) -> Vector:
        """Return the logits of the classes for a message. Their mean is 0."""
        numbers = sorted(self._rows[ngram] for ngram in ngrams(message, answer) if ngram in self._rows)
        scores: Vector = self._matrix[numbers].sum(axis=0) + self._bias
        scores -= scores.mean()
        return scores
