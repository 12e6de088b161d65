"""The sentence vectors of turns, and what makes them. How they reach the database: `turn_vectors_postgres`."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detector.encoders.embedder import Embedder

Halves = NDArray[np.float16]
"""A vector a row."""
DIMENSION: Final = 256
"""Numbers a vector of the index has; see the migration."""


class Packed(NamedTuple):
    """Texts' vectors, each text once: that of `text` is the row `places[text]`."""

    places: dict[str, int]
    rows: Halves


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
        vector: list[float] = self.packed([text]).rows[0].astype(np.float32).tolist()
        return vector

    def packed(self, texts: Iterable[str]) -> Packed:
        """The vectors of all texts, made in one go."""
        wanted = list(dict.fromkeys(texts))
        rows = self._embedder.embed(wanted).astype(np.float16) if wanted else np.empty((0, DIMENSION), np.float16)
        return Packed({text: place for place, text in enumerate(wanted)}, rows)
