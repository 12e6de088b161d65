"""Comparison of whole sentences: similar words with different requests, and different words with the same request."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import numpy as np
import pytest

from detector.detector import Detector
from detector.encoders.choice import sentence_encoder
from detector.encoders.embedder import Embedder, Vectors
from detector.encoders.minilm import MiniLm
from detector.encoders.minilm_files import ModelMissing, model_directory, present
from detector.model import Message, Neighbourhood, Role
from detector.rewording import Scale


@pytest.mark.parametrize(
    ("cosine", "sameness"),
    [(0.12344, (0.1234, 0.437036)), (0.12346, (0.1235, 0.437085)), (-0.2, (0.0, 0.377541)), (1.2, (1.0, 0.817574))],
)
def test_a_comparison_does_not_depend_on_the_last_digits(cosine: float, sameness: tuple[float, float]) -> None:
    assert tuple(Scale(weight=2.0, bias=-0.5).sameness(cosine)) == sameness


def test_the_committed_scale_tells_the_same_request_from_another() -> None:
    scale = Scale.load()
    assert scale.sameness(1.0).same_intent > 0.8 > 0.5 > scale.sameness(0.5).same_intent > 0


@pytest.fixture(scope="session")
def minilm() -> MiniLm:
    try:
        encoder = sentence_encoder("minilm", print)
    except ModelMissing as error:
        pytest.skip(str(error))
    assert isinstance(encoder, MiniLm)
    return encoder


@pytest.fixture(scope="session")
def by_sentences(minilm: MiniLm) -> Detector:
    return Detector.default(minilm)


def exchange(request: str, message: str, answer: str = "Here you are.") -> Neighbourhood:
    said: tuple[tuple[str, Role, str], ...] = (("a", "human", request), ("b", "agent", answer), ("c", "human", message))
    first, second, third = (
        Message(name, name, role, role, "bot" if role == "agent" else None, text, place * 60_000_000)
        for place, (name, role, text) in enumerate(said)
    )
    return Neighbourhood((first, second), third)


class Counting:
    """Encoder that forwards calls and counts them."""

    def __init__(self, encoder: Embedder, early: Embedder | None = None) -> None:
        self._encoder = encoder
        self.name, self.dimension = encoder.name, encoder.dimension
        self.early = early
        self.calls: list[int] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(len(texts))
        return self._encoder.embed(texts)


@pytest.mark.parametrize("layers", ["all", "early"])
def test_vectors_have_length_one_and_do_not_depend_on_company(minilm: MiniLm, layers: str) -> None:
    encoder: Embedder = minilm if layers == "all" else minilm.early
    texts = ["how do I reset my password", "", " ", "x" * 20_000, "日本語", "\x00\ud83d", "what does it cost?"]
    together = encoder.embed(texts)
    assert together.shape == (7, encoder.dimension)
    lengths = np.linalg.norm(together, axis=1)
    assert np.allclose(lengths[[0, 3, 4, 6]], 1, atol=1e-5)
    assert not lengths[1:3].any()
    for text, row in zip(texts, together, strict=True):
        assert (encoder.embed([text])[0] == row).all()


@pytest.mark.parametrize("layers", ["all", "early"])
def test_of_a_text_64_pieces_are_read_with_the_marks_at_both_ends(minilm: MiniLm, layers: str) -> None:
    encoder: Embedder = minilm if layers == "all" else minilm.early
    almost, full, longer = encoder.embed(["word " * 61, "word " * 62, "word " * 62 + "and another one"])
    assert (full == longer).all()
    assert (full != almost).any()


@pytest.mark.parametrize(
    ("asked", "reworded", "other"),
    [
        ("how can I change my password", "what is the way to get a new password", "how can I change my address"),
        ("where can I park near the museum", "is there parking by the museum", "where can I eat near the museum"),
        ("do my headaches come from stress", "can stress give me headaches", "do my headaches come from coffee"),
    ],
)
def test_a_request_in_other_words_is_nearer_than_another_in_the_same_words(
    by_sentences: Detector, asked: str, reworded: str, other: str
) -> None:
    assert by_sentences.same_intent(asked, reworded) > by_sentences.same_intent(asked, other)


def test_a_request_in_other_words_rejects_and_the_verdict_says_how_alike(by_sentences: Detector) -> None:
    [verdict] = by_sentences.judge(
        [exchange("how do I cancel my subscription to the magazine", "how can I cancel the magazine subscription")]
    )
    assert (verdict.feedback, verdict.correction_type, verdict.decided_by) == ("rejected", "rephrased", "rules")
    assert "rule.same_request" in verdict.rules
    assert verdict.confidence == verdict.scores["sentence_similarity"] > 0.8
    assert verdict.emitted


def test_sentences_overrule_words(detector: Detector, by_sentences: Detector) -> None:
    item = exchange("how do I freeze my card after I lost it", "how do I use my card after I lost it")
    [by_words], [verdict] = detector.judge([item]), by_sentences.judge([item])
    assert "rule.same_request" in by_words.rules
    assert "rule.same_request" not in verdict.rules


def test_few_messages_are_worth_the_look_and_one_call_does_them_all(minilm: MiniLm) -> None:
    early = Counting(minilm.early)
    counting = Counting(minilm, early)
    unlike = [exchange("is the shop open on Sunday", text) for text in ("thanks", "that's wrong", "ok, and a taxi?")]
    alike = [exchange(f"tell me the price of room {n}", f"tell me what room {n} costs") for n in range(3)]
    found = Detector.default(counting).judge([*unlike, *alike])
    assert counting.calls == [6], "the texts of three pairs"
    assert len(early.calls) <= 1, "and one call for all second looks"
    assert [("sentence_similarity" in verdict.scores) for verdict in found] == [False] * 3 + [True] * 3


def test_a_verdict_does_not_depend_on_the_batch(by_sentences: Detector) -> None:
    items = [exchange(f"tell me the price of room {n}", f"tell me what room {n} costs, please") for n in range(9)]
    assert by_sentences.judge(items) == [by_sentences.judge([item])[0] for item in items]


def test_none_and_auto_never_ask_for_anything(tmp_path_factory: pytest.TempPathFactory) -> None:
    def fail(_: str) -> None:
        raise AssertionError("nothing may be fetched")

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("empty")))
        assert sentence_encoder("none", fail) is None
        assert sentence_encoder("auto", fail) is None


def test_auto_takes_the_model_that_is_on_the_machine(minilm: MiniLm) -> None:
    said: list[str] = []
    found = sentence_encoder("auto", said.append)
    assert isinstance(found, MiniLm) and (found.name, said) == (minilm.name, [])


def test_a_vector_is_the_mean_over_the_pieces_of_the_text_alone(minilm: MiniLm) -> None:
    onnx, tokenizers = import_module("onnxruntime"), import_module("tokenizers")
    files = present()
    assert files is not None
    whole = onnx.InferenceSession(files.model.read_bytes(), providers=["CPUExecutionProvider"])
    tokenizer = tokenizers.Tokenizer.from_file(str(files.tokenizer))
    for text in ("hotel", "how do I reset my password"):
        read = tokenizer.encode(text)
        ids = np.array([read.ids[: sum(read.attention_mask)]], dtype=np.int64)
        fed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        mean = whole.run(["last_hidden_state"], fed)[0][0].mean(axis=0)
        assert np.allclose(minilm.embed([text])[0], mean / np.linalg.norm(mean), atol=1e-3)


def test_a_changed_model_is_not_used(minilm: MiniLm, tmp_path_factory: pytest.TempPathFactory) -> None:
    files = present()
    assert files is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("changed")))
        model_directory().mkdir(parents=True)
        for path in (files.model, files.tokenizer):
            (model_directory() / path.name).write_bytes(path.read_bytes())
        assert present() is not None
        with (model_directory() / files.model.name).open("ab") as model:
            model.write(b"\0")
        assert present() is None
        assert sentence_encoder("auto", print) is None


def test_an_unknown_encoder_is_refused() -> None:
    with pytest.raises(ModelMissing, match="sentence"):
        sentence_encoder("no-such/model", print)
