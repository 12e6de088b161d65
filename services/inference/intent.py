"""Whether two messages ask for the same thing, by more than shared words.

Each word of the shorter list looks for its nearest word in the other message, so that "cheap" meets "inexpensive" and
a changed name, number or question word is missed on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from inference.embed import Vectors

#: Words looked at on each side; questions longer than that say what they want early.
WORDS: Final = 40


def aligned(left: Vectors, right: Vectors) -> float:
    """How well the words of two messages find each other, in [0, 1]; arguments are word vectors, shape (n, dim)."""
    if not len(left) or not len(right):
        return 0.0
    weight_left = np.linalg.norm(left, axis=1)
    weight_right = np.linalg.norm(right, axis=1)
    table = (left @ right.T) / np.maximum(np.outer(weight_left, weight_right), 1e-9)
    found_left = float((table.max(axis=1) * weight_left).sum() / max(float(weight_left.sum()), 1e-9))
    found_right = float((table.max(axis=0) * weight_right).sum() / max(float(weight_right.sum()), 1e-9))
    return max(0.0, 2 * found_left * found_right / max(found_left + found_right, 1e-9))


def same_intent(cosine: float, alignment: float) -> float:
    """Probability in [0, 1] that two requests want the same, from their cosine and the alignment of their words."""
    return 1.0 / (1.0 + math.exp(-(12.0 * (0.5 * cosine + 0.5 * alignment) - 8.6)))


def distinct(words: Sequence[str]) -> tuple[str, ...]:
    """The words once each, in order, at most `WORDS`."""
    return tuple(dict.fromkeys(words))[:WORDS]
