"""Embedding vectors of the texts of turns, as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final

import numpy as np
import numpy.typing as npt

from detector.encoders.embedder import Embedder
from servicekit.clock import stage

_MARK_BYTES: Final = 8
_HALF: Final = np.dtype("<f2")
Cosines = npt.NDArray[np.float64]


class TurnVectors:
    """Vectors of texts for the turn index, and their cosines.

    A stored vector consists of a mark of its embedder and of half-precision numbers.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._mark = sha256(embedder.name.encode()).digest()[:_MARK_BYTES]

    def stored(self, texts: Iterable[str]) -> Mapping[str, bytes]:
        """Return the vector of each text, calling the embedder only once."""
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return {}
        with stage("encoder"):
            rows = self._embedder.embed(distinct).astype(_HALF)
        return {text: self._mark + row.tobytes() for text, row in zip(distinct, rows, strict=True)}

    def cosines(self, text: str, stored: Sequence[bytes | None]) -> Cosines:
        """Return the cosine of each vector and `text`, from 0 to 1; 0 for None and vectors of another embedder."""
        cosines = np.zeros(len(stored))
        numbered = [(n, vector) for n, vector in enumerate(stored) if vector and vector.startswith(self._mark)]
        if numbered:
            rows = np.frombuffer(b"".join(vector[_MARK_BYTES:] for _, vector in numbered), _HALF)
            (of_text,) = self._embedder.embed([text])
            alike = rows.reshape(len(numbered), -1).astype(np.float32) @ of_text
            cosines[[n for n, _ in numbered]] = alike.clip(0, 1).round(4)
        return cosines
