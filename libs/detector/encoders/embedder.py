"""Interface for text encoders, and the default encoder, which uses WordLlama.

The WordLlama package includes its weights, so nothing is downloaded. A text's vector is the sum of its token vectors.
Instead of tokenising each text, this adapter caches the vectors of words and sums them, which is several times faster.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from detector.text import prepare

Vectors = npt.NDArray[np.float32]

#: Maximum number of cached words: 32 MiB with 256 floats each. A full cache is emptied.
WORD_CACHE: Final = 32_768
#: Maximum number of characters of a word. It excludes, for example, Base64.
WORD_LENGTH: Final = 40


class Embedder(Protocol):
    """Encoder that converts texts to vectors. The dot product of two vectors is the similarity of the texts."""

    @property
    def name(self) -> str:
        """Name of the encoder. Vectors of differently named encoders must not be compared."""

    @property
    def dimension(self) -> int:
        """Number of components of a vector."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of the texts as an array of shape (len(texts), dimension).

        Vectors have length 1, except that the vector of an empty text is zero.
        """


class ExchangeNetwork(Protocol):
    """Network that reads a message with the answer and the request before it."""

    @property
    def name(self) -> str:
        """Name of the network."""

    def read(self, message: str, answer: str, request: str) -> Vectors:
        """Return the logits of the classes of the message."""


class SentenceEncoder(Embedder, Protocol):
    """Encoder that reads each text as a whole. It is slower than summing word vectors."""

    @property
    def exchanges(self) -> ExchangeNetwork:
        """Reader of exchanges for the detector, based on this encoder."""


def unit_rows(rows: Vectors) -> Vectors:
    """Scale each row to length 1.

    Rows of length zero and rows that contain NaN or infinity become zero.
    """
    clean = np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0)
    length = np.linalg.norm(clean, axis=1, keepdims=True)
    scaled: Vectors = np.divide(clean, length, out=np.zeros_like(clean), where=length > 1e-9)
    return scaled


def encodable(text: str) -> str:
    """Return the text with its lone surrogates replaced, because tokenizers reject them."""
    return text.encode("utf-8", "replace").decode()


class WordVectors:
    """Cache of word vectors, stored as a growing matrix with one row per word. Row 0 is all zeros."""

    def __init__(self, tokenizer: Any, table: npt.NDArray[np.float16], limit: int = WORD_CACHE) -> None:
        self._tokenizer = tokenizer
        self._table = table
        self._limit = limit
        self._rows: dict[str, int] = {}
        self._matrix: Vectors = np.zeros((1024, table.shape[1]), dtype=np.float32)
        self._count = 1

    @property
    def matrix(self) -> Vectors:
        """Matrix of word vectors, of shape (rows, dimension), valid until the next call of `rows`."""
        return self._matrix

    def rows(self, words: Sequence[Sequence[str]]) -> list[list[int]]:
        """Return the row numbers in `matrix` for the words of each text."""
        rows = self._rows
        fresh = set(chain.from_iterable(words)).difference(rows)
        if fresh:
            if self._count + len(fresh) > self._limit:
                rows.clear()
                self._count = 1
                fresh = set(chain.from_iterable(words))
            self._learn(sorted(fresh))
        return [list(map(rows.__getitem__, text)) for text in words]

    def _learn(self, fresh: list[str]) -> None:
        needed = self._count + len(fresh)
        if needed > len(self._matrix):
            self._matrix = np.pad(self._matrix, ((0, max(needed, len(self._matrix))), (0, 0)))
        last = len(self._table) - 1
        encode = self._tokenizer.encode
        tokens = [[min(i, last) for i in encode(w[:WORD_LENGTH], add_special_tokens=False).ids] for w in fresh]
        self._matrix[self._count : needed] = summed(self._table, tokens)
        self._rows.update(zip(fresh, range(self._count, needed), strict=True))
        self._count = needed


class WordLlamaEmbedder:
    """Encoder that sums the 256-dimensional WordLlama vectors of the words in a text. No network access."""

    name = "wordllama-256-words"

    def __init__(self) -> None:
        wordllama = _import_quietly("wordllama")
        # Without cache_dir, the loader would search outside of the wheel and download the weights.
        model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
        # The weights are published in half precision, so this loses nothing and needs half of the memory.
        self.words = WordVectors(model.tokenizer, np.asarray(model.embedding, dtype=np.float16))

    @property
    def dimension(self) -> int:
        """Dimension of the vectors. Always 256, the only size for which the package includes weights."""
        return int(self.words.matrix.shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of the texts, as described for `Embedder.embed`."""
        return self.embed_words([prepare(t).words for t in texts])

    def embed_words(self, texts: Sequence[Sequence[str]]) -> Vectors:
        """Embed texts that are already split into words."""
        rows = self.words.rows(texts)
        return unit_rows(summed(self.words.matrix, rows))


def _import_quietly(name: str) -> Any:
    """Import a package that reconfigures the root logger, and undo its changes to the logger."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    package = import_module(name)
    root.handlers[:] = handlers
    root.setLevel(level)
    return package


def summed(matrix: Vectors | npt.NDArray[np.float16], rows: Sequence[Sequence[int]]) -> Vectors:
    """Return the sum of the given rows of `matrix` for each list of row numbers, added in list order."""
    sums = np.zeros((len(rows), matrix.shape[1]), dtype=np.float32)
    for total, numbers in zip(sums, rows, strict=True):
        if numbers:
            np.add.reduce(matrix.take(numbers, axis=0), axis=0, dtype=np.float32, out=total)
    return sums
