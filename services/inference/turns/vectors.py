"""Embedding vectors of the texts of turns."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

import numpy as np

from detector.encoders.embedder import Embedder, Vectors
from servicekit.clock import stage

DIMENSION: Final = 256
"""Dimension of the vectors in the turn index, as in the schema."""


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
        vector: list[float] = self.packed([text])[1][0].tolist()
        return vector

    def packed(self, texts: Iterable[str]) -> tuple[dict[str, int], Vectors]:
        """Return the row number of each distinct text, and the rows, calling the embedder only once."""
        row_of = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        if not row_of:
            return row_of, np.empty((0, DIMENSION), np.float32)
        with stage("encoder"):
            return row_of, self._embedder.embed(list(row_of))
