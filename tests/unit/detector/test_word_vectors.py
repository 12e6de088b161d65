"""The cache of word vectors: bounded, and without influence on any vector."""

from __future__ import annotations

import numpy as np
import pytest

from detector.encoders.embedder import WORD_CACHE, WordLlamaEmbedder, WordVectors


@pytest.fixture(scope="module")
def embedder() -> WordLlamaEmbedder:
    return WordLlamaEmbedder()


def test_a_full_cache_begins_anew_and_changes_no_vector(embedder: WordLlamaEmbedder) -> None:
    texts = [["a", "b", "c"], ["d", "a"], ["e", "f", "g", "h"], ["a", "h"], ["b"]]
    expected = [embedder.embed_words([text])[0] for text in texts]
    small = WordLlamaEmbedder()
    small.words = WordVectors(embedder.words._tokenizer, embedder.words._table, limit=5)
    for _ in range(3):
        for text, vector in zip(texts, expected, strict=True):
            assert np.array_equal(small.embed_words([text])[0], vector), text
            assert len(small.words._rows) < 5
    assert np.array_equal(small.embed_words(texts), np.array(expected)), "more words at once than the cache holds"


def test_the_cache_holds_32_768_words(embedder: WordLlamaEmbedder) -> None:
    assert WORD_CACHE == 32_768
    words = WordVectors(embedder.words._tokenizer, embedder.words._table)
    for start in range(0, 40_000, 8_000):
        [rows] = words.rows([[f"w{number}" for number in range(start, start + 8_000)]])
        assert len(set(rows)) == 8_000
        assert max(rows) < 32_768
    assert len(words.matrix) <= 65_536
