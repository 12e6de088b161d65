"""Similarity of two requests that also recognises synonyms and changed details.

Each word is compared with the nearest word of the other request, so that "cheap" matches "inexpensive". A changed name,
number or question word has no near match. A logistic model combines several measures of this kind. Its weights were
trained on pairs of requests written for this project.
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
    """Similarity of two texts: their cosine in [0, 1], and the probability in [0, 1] of the same intent."""

    similarity: float
    same_intent: float


@dataclass(frozen=True, slots=True)
class Asked:
    """Distinct words of a request, in order, and their vectors with shape (words, dimension)."""

    words: tuple[str, ...]
    vectors: Vectors


def distinct(words: Sequence[str]) -> tuple[str, ...]:
    """Return the first `WORDS` distinct words, in order."""
    return tuple(dict.fromkeys(words))[:WORDS]


def compare(left: Asked, right: Asked) -> tuple[float, ...]:
    """Return the values of the measures `NAMES` for two requests; all are zero if one request is empty.

    - `flat_cosine`: cosine of the summed word vectors. Each vector is divided by the square root of its length, so that
      a rare word does not dominate.
    - `aligned`: similarity of each word to the nearest word of the other request, averaged over both requests.
    - `content_least`: like `aligned`, but for content words only; the lower of the two requests' averages.
    - `rest`: cosine of the words that are in one request only.
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
    """Return the cosine of the words that are in one request only.

    It is 1 if neither request has such words, and 0.5 if only one of them has.
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
    """Logistic model over the measures `NAMES`: weights with shape (len(NAMES),), and a bias."""

    weights: Floats
    bias: float

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> IntentModel:
        """Load the committed weights. Raises ValueError if they were trained for other measures."""
        stored = json.loads(path.read_text(encoding="utf-8"))
        if tuple(stored["features"]) != NAMES:
            raise ValueError(f"{path} was made for other features: run `make train`")
        return cls(np.asarray(stored["weights"], dtype=np.float64), float(stored["bias"]))

    def same(self, left: Asked, right: Asked) -> float:
        """Return the probability in [0, 1] that two requests have the same intent."""
        score = float(np.asarray(compare(left, right)) @ self.weights) + self.bias
        return round(float(1 / (1 + np.exp(-score))), 6)
