"""Sentence encoder with a cache.

The same texts are encoded repeatedly: different people ask the same question, and an answer is encoded for each
rejection.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

import numpy as np

from detector.encoders.embedder import Embedder, Vectors, WordLlamaEmbedder, encodable

_KEPT: Final = 4_096
"""Maximum number of cached vectors. They take 6 MiB at 384 floats each."""


_COHERENCE: Final = 0.3


def least_coherence(encoder: Embedder) -> float:
    """Return the minimum coherence (mean pairwise similarity) of a new issue; see `grouping.grouped`.

    Groups with a lower coherence had no common topic in samples that were read. For word vectors there is no minimum
    (0), because the similarity of turns on the same topic is often low.
    """
    return 0.0 if isinstance(encoder, WordLlamaEmbedder) else _COHERENCE


class CachingEncoder:
    """Encoder that encodes equal texts only once. The cache is keyed by digests and contains no text."""

    def __init__(self, encoder: Embedder, limit: int = _KEPT) -> None:
        self._encoder = encoder
        self.least_coherence = least_coherence(encoder)
        self._limit = limit
        self._vectors: OrderedDict[bytes, Vectors] = OrderedDict()

    @property
    def name(self) -> str:
        return self._encoder.name

    @property
    def dimension(self) -> int:
        return self._encoder.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of the texts as an array of shape (len(texts), dimension)."""
        if not texts:
            return self._encoder.embed(texts)
        digests = [sha256(encodable(text).encode()).digest() for text in texts]
        vectors = {digest: self._vectors[digest] for digest in digests if digest in self._vectors}
        unknown = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in vectors}
        if unknown:
            vectors |= zip(unknown, self._encoder.embed(list(unknown.values())), strict=True)
        for digest, vector in vectors.items():
            self._vectors[digest] = vector
            self._vectors.move_to_end(digest)
        while len(self._vectors) > self._limit:
            self._vectors.popitem(last=False)
        result: Vectors = np.stack([vectors[digest] for digest in digests])
        return result
