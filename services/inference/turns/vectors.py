"""Embedding vectors of the texts of turns."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Final, NamedTuple

import numpy as np

from detector.encoders.embedder import Embedder, Vectors
from servicekit.clock import stage

DIMENSION: Final = 256
"""Dimension of the vectors in the turn index, as in the schema."""


class Packed(NamedTuple):
    """Vectors of distinct texts. The vector of `text` is in row `row_of[text]`."""

    row_of: dict[str, int]
    rows: Vectors


class TurnVectors:
    """Encoder of texts into vectors of the turn index.

    Raises:
        ValueError: The dimension of the embedder differs from that of the index.
    """

    def __init__(self, embedder: Embedder) -> None:
        if embedder.dimension != DIMENSION:
            raise ValueError(f"vectors in the index of turns have {DIMENSION} numbers, not {embedder.dimension}")
        self._embedder = embedder
        self.made_by = int.from_bytes(sha256(embedder.name.encode()).digest()[:8], "big", signed=True)
        """Number that identifies the embedder, derived from its name."""

    def of(self, text: str) -> list[float]:
        """Return the vector of one text."""
        vector: list[float] = self.packed([text]).rows[0].tolist()
        return vector

    def packed(self, texts: Iterable[str]) -> Packed:
        """Return the vectors of all texts, calling the embedder only once."""
        wanted = list(dict.fromkeys(texts))
        if not wanted:
            return Packed({}, np.empty((0, DIMENSION), np.float32))
        with stage("encoder"):
            rows = self._embedder.embed(wanted)
        return Packed({text: number for number, text in enumerate(wanted)}, rows)
