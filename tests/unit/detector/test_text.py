"""Normalised text that the rules read."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from detector.detector import Detector
from detector.encoders.choice import sentence_encoder
from detector.encoders.embedder import WordLlamaEmbedder, WordVectors, encodable, unit_rows
from detector.encoders.onnx_part import part
from detector.evaluation.rows import neighbourhood
from detector.text import HEAD, TAIL, cap, prepare
from detector.word_layer import WordLayer, ngrams


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("  That’s   WRONG \n", "that's wrong"),
        ("```\nraise Wrong\n```\nworks", "works"),
        ("<b>No</b>, not <i>that</i>", "no , not that"),
        ("> that's wrong\nI agree with the quote", "i agree with the quote"),
        ("see https://wrong.example/no", "see"),
        ("a < b and b > c", "a < b and b > c"),
        ("", ""),
    ],
)
def test_only_what_the_person_says(text: str, shown: str) -> None:
    assert prepare(text).text == shown


def test_words_content_and_numbers() -> None:
    seen = prepare("I wanted 3 tickets, not 2.5!")
    assert seen.words == ("i", "wanted", "3", "tickets", "not", "2", "5")
    assert seen.content == {"wanted", "3", "tickets", "2", "5"}
    assert seen.numbers == {"3", "2.5"}


@pytest.mark.parametrize("text", ["", "   ", "🙂🙂", "?!...", "\ud800", "\x00", "```code```"])
def test_a_text_without_words(text: str) -> None:
    assert prepare(text).words == ()


def test_a_text_of_the_greatest_length_is_read_whole() -> None:
    text = "x" * (HEAD + TAIL)
    assert (cap(text), len(cap(f"{text}x"))) == (text, HEAD + TAIL + 1)


def test_a_long_text_keeps_its_head_and_its_tail() -> None:
    text = "start " + "x" * 100_000 + " that's wrong"
    assert len(cap(text)) <= HEAD + TAIL + 1
    assert prepare(text).text.startswith("start")
    assert prepare(text).text.endswith("that's wrong")


@pytest.mark.parametrize("text", ["```" * 40_000, "`" * 100_000, "<" * 100_000, "<a " * 40_000, "> \n" * 40_000])
def test_broken_markup_is_not_slow(text: str) -> None:
    started = time.process_time()
    prepare(text)
    assert time.process_time() - started < 0.1


# The cache of word vectors: bounded, and without influence on any vector.


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


# Parts of an ONNX model: together they compute the same as the whole model, and contain nothing else.

onnxruntime: Any = pytest.importorskip("onnxruntime")


def field(number: int, content: bytes | str | int) -> bytes:
    """Return a field of a protocol buffer shorter than 128 bytes."""
    if isinstance(content, int):
        return bytes((number << 3, content))
    content = content.encode() if isinstance(content, str) else content
    return bytes((number << 3 | 2, len(content))) + content


def value(name: str) -> bytes:
    """Return a tensor of two floats."""
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, field(1, field(1, 2)))))


def tensor(name: str, numbers: list[float]) -> bytes:
    return field(1, len(numbers)) + field(2, 1) + field(8, name) + field(9, np.array(numbers, "<f4").tobytes())


def node(kind: str, left: str, right: str, made: str) -> bytes:
    return field(1, left) + field(1, right) + field(2, made) + field(4, kind)


def graph(*fields: bytes) -> bytes:
    """Return a model with the inputs a and b, the constants two and ten, and these fields."""
    inputs = field(11, value("a")) + field(11, value("b"))
    constants = field(5, tensor("two", [2.0, 2.0])) + field(5, tensor("ten", [10.0, 10.0]))
    content = b"".join(fields) + field(2, "g") + constants + inputs
    size = bytes((len(content) & 127 | 128, len(content) >> 7))
    return field(1, 8) + bytes((7 << 3 | 2,)) + size + content + field(8, field(2, 13))


#: middle = a + two; last = middle * ten + b
MODEL = graph(
    field(1, node("Add", "a", "two", "middle")),
    field(1, node("Mul", "middle", "ten", "large")),
    field(1, node("Add", "large", "b", "last")),
    field(12, value("last")),
)


def run(model: bytes, **inputs: list[float]) -> list[float]:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    assert {one.name for one in session.get_inputs()} == set(inputs)
    [found] = session.run(None, {name: np.array(row, np.float32) for name, row in inputs.items()})
    return list(found.tolist())


def test_the_parts_compute_what_the_whole_does() -> None:
    assert run(MODEL, a=[1, 2], b=[5, 6]) == [35.0, 46.0]
    first, rest = part(MODEL, "middle"), part(MODEL, "last", start="middle")
    assert run(first, a=[1, 2]) == [3.0, 4.0]
    assert run(rest, middle=[3, 4], b=[5, 6]) == [35.0, 46.0]
    assert b"ten" not in first
    assert b"two" not in rest


def test_what_no_node_computes_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing in the model computes 'none'"):
        part(MODEL, "none")


@pytest.mark.parametrize("broken", [MODEL[:-1], b"\xff", b"\x3d\x00\x00\x00\x00", bytes((7 << 3 | 2, 3, 10, 200, 1))])
def test_what_is_no_model_is_refused(broken: bytes) -> None:
    with pytest.raises(ValueError, match="not an ONNX model"):
        part(broken, "last")


# The reader on exchanges whose messages differ only in what they say about one answer.

ROWS = [
    json.loads(line) for line in (Path(__file__).parent / "contrast.jsonl").read_text(encoding="utf-8").splitlines()
]


#: Kind of message -> announced rejections of 106 at most, or at least for kinds that reject.
AT_MOST = {"new_problem": 8, "reversed_request": 9, "next_step": 1}
AT_LEAST = {"polite_rejection": 71, "thanks_and_rejection": 91, "symptom": 69, "reworded": 60}


@pytest.fixture(scope="module")
def reader() -> Detector:
    encoder = sentence_encoder("auto", print)
    if encoder is None:
        pytest.skip("the sentence encoder is not on this machine")
    return Detector.default(encoder)


def test_the_shares_of_announced_verdicts(reader: Detector) -> None:
    rejected, approved = Counter[str](), Counter[str]()
    for row, verdict in zip(ROWS, reader.judge([neighbourhood(row) for row in ROWS]), strict=True):
        if verdict.emitted:
            (rejected if verdict.reaction == "not_ok" else approved)[row["source"]] += 1
    assert {kind for kind, most in AT_MOST.items() if rejected[kind] > most} == set()
    assert {kind for kind, least in AT_LEAST.items() if rejected[kind] < least} == set()
    assert approved.total() <= 6, approved


# The word layer.


def test_ngrams_are_of_both_ends_of_the_message_and_of_the_end_of_the_answer() -> None:
    assert ngrams(prepare("No, the other?"), prepare("Here it is!")) == {
        *("no", "the", "other", "no the", "the other", "^no", "^no the", "?"),
        *(">here", ">it", ">is", ">!"),
    }
    long = prepare(" ".join(f"w{n}" for n in range(100)))
    words = ngrams(long, long)
    assert {"w44", "w85", "w99", ">w75", ">w99"} <= words
    assert words.isdisjoint({"w45", "w84", ">w74"})


def test_logits_are_sums_of_the_weights_of_known_ngrams() -> None:
    layer = WordLayer({"wrong": 0, ">left": 1}, np.array([[3.0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 6.0]]), np.ones(6))
    assert layer.logits(prepare("wrong"), prepare("It is right.")).tolist() == [2.5, *[-0.5] * 5]
    assert layer.logits(prepare("wrong"), prepare("It is left.")).tolist() == [1.5, *[-1.5] * 4, 4.5]
    assert layer.logits(prepare("ok"), prepare("")).tolist() == [0.0] * 6


def test_weights_of_other_classes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "words.json").write_text('{"classes": ["good", "bad"], "bias": [], "weights": {}}')
    with pytest.raises(ValueError, match="other classes"):
        WordLayer.load(tmp_path / "words.json")
