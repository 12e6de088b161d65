"""Estimate the similarity of two requests, taking synonyms and changed details into account.

Each word is compared with the closest word of the other request, so that "cheap" matches "inexpensive", while a changed
name, number or question word has no close match. A logistic model combines several such measures. It was trained on
pairs of requests written for this project.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from detector.encoders.embedder import Vectors
from detector.text import STOP

WEIGHTS: Final = Path(__file__).parent / "weights" / "intent.json"
#: Maximum number of words of a request that are compared.
WORDS: Final = 60

NAMES: Final = ("flat_cosine", "aligned", "content_least", "rest")

Floats = npt.NDArray[np.float64]


class Sameness(NamedTuple):
    """Similarity of two texts: their cosine and the probability that they have the same intent, both in [0, 1]."""

    similarity: float
    same_intent: float


@dataclass(frozen=True, slots=True)
class Asked:
    """The distinct words of a request, in order, and an array of their vectors of shape (words, dimension)."""

    words: tuple[str, ...]
    vectors: Vectors


def distinct(words: Sequence[str]) -> tuple[str, ...]:
    """Return the first `WORDS` distinct words, in order of their first occurrence."""
    return tuple(dict.fromkeys(words))[:WORDS]


def compare(left: Asked, right: Asked) -> tuple[float, ...]:
    """Compare two requests and return the values of the measures `NAMES`.

    All values are zero if one of the requests is empty. The measures are:

    - `flat_cosine`: cosine of the summed word vectors. Each vector is first divided by the square root of its length,
      so that a rare word does not dominate.
    - `aligned`: similarity of each word to the closest word of the other request, averaged over both requests.
    - `content_least`: like `aligned`, but for content words only. Of the averages of the two requests, the lower one is
      used.
    - `rest`: cosine of the words that occur in only one of the requests.
    """
    if not left.words or not right.words:
        return (0.0,) * len(NAMES)
    long_left = np.linalg.norm(left.vectors, axis=1) + 1e-9
    long_right = np.linalg.norm(right.vectors, axis=1) + 1e-9
    table = (left.vectors @ right.vectors.T) / np.outer(long_left, long_right)
    found_left = float(table.max(axis=1) @ long_left / long_left.sum())
    found_right = float(table.max(axis=0) @ long_right / long_right.sum())
    content = 0.0
    topics_left = [row for row, word in enumerate(left.words) if word not in STOP]
    topics_right = [row for row, word in enumerate(right.words) if word not in STOP]
    if topics_left and topics_right:
        inner = table[topics_left][:, topics_right]
        heavy_left, heavy_right = long_left[topics_left], long_right[topics_right]
        content = min(
            float(inner.max(axis=1) @ heavy_left / heavy_left.sum()),
            float(inner.max(axis=0) @ heavy_right / heavy_right.sum()),
        )
    flat_left = (left.vectors / np.sqrt(long_left)[:, None]).sum(axis=0)
    flat_right = (right.vectors / np.sqrt(long_right)[:, None]).sum(axis=0)
    length = float(np.linalg.norm(flat_left)) * float(np.linalg.norm(flat_right))
    return (
        float(flat_left @ flat_right) / max(length, 1e-9),
        2 * found_left * found_right / max(found_left + found_right, 1e-9),
        content,
        _rest(left, right),
    )


def _rest(left: Asked, right: Asked) -> float:
    """Return the cosine between the words that occur in only one of the requests.

    The result is 1 if neither request has such words, and 0.5 if only one has.
    """
    shared = set(left.words) & set(right.words)
    rows_left = [row for row, word in enumerate(left.words) if word not in shared]
    rows_right = [row for row, word in enumerate(right.words) if word not in shared]
    if not rows_left or not rows_right:
        return 1.0 if not rows_left and not rows_right else 0.5
    over_left, over_right = left.vectors[rows_left].sum(axis=0), right.vectors[rows_right].sum(axis=0)
    length = float(np.linalg.norm(over_left)) * float(np.linalg.norm(over_right))
    return float(over_left @ over_right) / max(length, 1e-9)


@dataclass(frozen=True)
class IntentModel:
    """Logistic model for the probability that two requests have the same intent, based on the measures `NAMES`."""

    weights: Floats
    bias: float

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> IntentModel:
        """Load the committed weights.

        Raises:
            ValueError: The weights were trained on other measures.
        """
        stored = json.loads(path.read_text(encoding="utf-8"))
        if tuple(stored["features"]) != NAMES:
            raise ValueError(f"{path} was made for other features: run `make train`")
        return cls(np.asarray(stored["weights"], dtype=np.float64), float(stored["bias"]))

    def same(self, left: Asked, right: Asked) -> float:
        """Return the probability in [0, 1] that two requests have the same intent."""
        score = float(np.asarray(compare(left, right)) @ self.weights) + self.bias
        return round(float(1 / (1 + np.exp(-score))), 6)
