"""The cache of word vectors: bounded, and without influence on any vector."""

from __future__ import annotations

import numpy as np
import pytest

from detector.encoders.embedder import WORD_CACHE, WordLlamaEmbedder, WordVectors, encodable, unit_rows


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


def test_of_a_word_forty_characters_are_read(embedder: WordLlamaEmbedder) -> None:
    word = "harbour" * 6
    shortened = [[word[:length]] for length in (39, 40, 41, 42)]
    almost, forty, *longer = embedder.embed_words(shortened)
    assert not np.array_equal(almost, forty)
    assert all(np.array_equal(forty, one) for one in longer)


def test_a_rows_length_is_one_or_zero() -> None:
    rows = np.array([[3, 4], [0, 0], [np.inf, 4], [-np.inf, 0], [1e-10, 0], [np.nan, -2]], dtype=np.float32)
    wanted = [[0.6, 0.8], [0, 0], [0, 1], [0, 0], [0, 0], [0, -1]]
    assert np.allclose(unit_rows(rows), np.array(wanted))
    assert encodable("a\ud83db") == "a?b"
