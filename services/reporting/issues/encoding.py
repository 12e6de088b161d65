"""Sentence encoder with a cache, because questions repeat and each rejection of an answer needs the answer's vector."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

import numpy as np

from detector.encoders.embedder import Embedder, Vectors, WordLlamaEmbedder, encodable

_KEPT: Final = 4_096
"""Maximum number of vectors in the cache: 6 MiB with 384 floats each."""


_COHERENCE: Final = 0.3


def least_coherence(encoder: Embedder) -> float:
    """Return the minimum mean pairwise similarity of a new issue's turns (see `grouping.grouped`).

    A reader found no topic in less similar groups of the sample. Without such groups, the issues of
    `benchmarks/issue_groups.py` also agree better with the known topics. Word vectors have no minimum, because their
    similarity is often lower within a topic.
    """
    return 0.0 if isinstance(encoder, WordLlamaEmbedder) else _COHERENCE


class CachingEncoder:
    """Encoder that encodes equal texts only once. The cache keys are digests, so the cache contains no text."""

    def __init__(self, encoder: Embedder, limit: int = _KEPT) -> None:
        self._encoder = encoder
        self._limit = limit
        self._vectors: OrderedDict[bytes, Vectors] = OrderedDict()

    @property
    def name(self) -> str:
        return self._encoder.name

    @property
    def dimension(self) -> int:
        return self._encoder.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of shape (len(texts), dimension), as the encoder does."""
        if not texts:
            return self._encoder.embed(texts)
        digests = [sha256(encodable(text).encode()).digest() for text in texts]
        known = {digest: self._vectors[digest] for digest in digests if digest in self._vectors}
        unknown = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in known}
        if unknown:
            known |= zip(unknown, self._encoder.embed(list(unknown.values())), strict=True)
        for digest, vector in known.items():
            self._vectors[digest] = vector
            self._vectors.move_to_end(digest)
        while len(self._vectors) > self._limit:
            self._vectors.popitem(last=False)
        found: Vectors = np.stack([known[digest] for digest in digests])
        return found
