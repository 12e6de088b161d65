"""The sentence vectors of turns: what makes them, and how they travel to the database."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Final, NamedTuple

import numpy as np

from inference.embed import Embedder, Vectors

DIMENSION: Final = 256
"""Numbers a vector of the index has; see the migration."""


class Packed(NamedTuple):
    """Texts' vectors one after the other, each text once: that of `text` begins at `places[text] * DIMENSION`."""

    places: dict[str, int]
    numbers: list[float]


class TurnVectors:
    """Vectors by `embedder`. Raises ValueError where those have another number of dimensions than the index.

    Numbers are rounded to half precision, so that a database which stores more holds no other ones.
    """

    def __init__(self, embedder: Embedder) -> None:
        if embedder.dimension != DIMENSION:
            raise ValueError(f"the index of turns holds {DIMENSION} numbers a vector, not {embedder.dimension}")
        self._embedder = embedder
        self.made_by = int.from_bytes(sha256(embedder.name.encode()).digest()[:8], "big", signed=True)
        """Stands for the embedder's name."""

    def of(self, text: str) -> list[float]:
        """The vector of one text."""
        return self.packed([text]).numbers

    def packed(self, texts: Iterable[str]) -> Packed:
        """The vectors of all texts, made in one go."""
        wanted = list(dict.fromkeys(texts))
        rows = _half(self._embedder.embed(wanted)) if wanted else []
        return Packed({text: place for place, text in enumerate(wanted)}, rows)


def _half(rows: Vectors) -> list[float]:
    told: list[float] = rows.astype(np.float16).astype(np.float32).ravel().tolist()
    return told
