"""Teaches the learned layers and writes their weights, byte for byte the same on every run.

    python -m inference.training.train

Nothing is chosen by looking at evaluation rows: temperature and announcing point are fitted on the domains of our own
data, each predicted by a model that was taught on the others.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from inference import features
from inference.embed import Embedder, WordLlamaEmbedder
from inference.intent import NAMES, Asked, IntentModel, compare, distinct
from inference.intent import WEIGHTS as INTENT_WEIGHTS
from inference.learned import CLASSES, WEIGHTS, Numbers, assemble, probabilities
from inference.minilm import MiniLm
from inference.minilm_files import fetched
from inference.model import Message, Neighbourhood
from inference.reading import Reader
from inference.rewording import WEIGHTS as SCALE
from inference.text import prepare
from inference.training import make

#: Strength of the data against the pull of the weights to zero; small, because the data are ours and the world is not.
FIT: Final = 0.02
INTENT_FIT: Final = 1.0
#: Share of rejections in real traffic, and the precision that announcing aims at there.
PREVALENCE: Final = 0.08
PRECISION: Final = 0.70

Ints = npt.NDArray[np.int64]
Names = npt.NDArray[np.str_]

_CLASS_OF: Final = {
    ("accepted", "ok"): "approval",
    ("accepted", "neutral"): "follow_up",
    ("neutral", "neutral"): "none",
}


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows of a JSON-lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def neighbourhood(request: str, answer: str, message: str) -> Neighbourhood:
    """A request, its answer and what was said about it, a minute apart."""
    minute = 60_000_000
    before = (
        Message("m1", "t1", "person", "human", None, request, 0),
        Message("m2", "t1", "agent", "agent", "agent", answer, minute),
    )
    shown = tuple(m for m in before if m.text)
    return Neighbourhood(shown, Message("m3", "t2", "person", "human", None, message, 2 * minute))


def class_of(row: dict[str, Any]) -> int:
    """Which of `CLASSES` a training row is."""
    name = row["kind"] if row["label"] == "rejected" else _CLASS_OF[row["label"], row["gate"]]
    return CLASSES.index(name)


def fit(inputs: Numbers, classes: Ints) -> tuple[Numbers, Numbers]:
    """Weights of shape (features, classes) and bias of shape (classes,)."""
    model = LogisticRegression(C=FIT, max_iter=2000, tol=1e-6).fit(inputs, classes)
    return model.coef_.T, model.intercept_


def left_out(inputs: Numbers, classes: Ints, domains: Names) -> Numbers:
    """Scores of every row by a model that never saw its domain."""
    scores = np.zeros((len(classes), len(CLASSES)))
    for domain in sorted(set(domains.tolist())):
        away = domains == domain
        weights, bias = fit(inputs[~away], classes[~away])
        scores[away] = inputs[away] @ weights + bias
    return scores


def best_temperature(scores: Numbers, classes: Ints) -> float:
    """The temperature, in steps of 0.01, that makes the left-out labels likeliest."""
    labels = grouped(np.eye(len(CLASSES))[classes]).argmax(axis=1)

    def surprise(temperature: float) -> float:
        told = grouped(probabilities(scores, temperature))
        return float(-np.log(told[np.arange(len(labels)), labels] + 1e-12).mean())

    return min((round(0.5 + step / 100, 2) for step in range(200)), key=surprise)


def announcing_point(scores: Numbers, classes: Ints, temperature: float) -> float:
    """The smallest probability, in steps of 0.01, at which left-out rejections reach the precision aimed at."""
    told = grouped(probabilities(scores, temperature))[:, 0]
    truth = grouped(np.eye(len(CLASSES))[classes])[:, 0] > 0
    for step in range(70, 99):
        called = told >= step / 100
        hit, false = float(called[truth].mean()), float(called[~truth].mean())
        if PREVALENCE * hit >= PRECISION * (PREVALENCE * hit + (1 - PREVALENCE) * false):
            return step / 100
    return 0.99


def grouped(shares: Numbers) -> Numbers:
    """Shares of the six classes as shares of rejected, accepted, neutral."""
    return np.stack([shares[:, :3].sum(axis=1), shares[:, 3:5].sum(axis=1), shares[:, 5]], axis=1)


def teach_intent(embedder: WordLlamaEmbedder) -> IntentModel:
    """Fits and writes the weights of the intent model."""
    pairs = read_rows(make.DATA / "pairs.jsonl")
    inputs = np.array([compare(_asked(p["a"], embedder), _asked(p["b"], embedder)) for p in pairs])
    # The composed pairs are harder and narrower than life, so only the scale is learned: all four features, each by its
    # spread, count alike.
    spread = inputs.std(axis=0)
    summed = (inputs / spread).sum(axis=1, keepdims=True)
    model = LogisticRegression(C=INTENT_FIT, max_iter=2000).fit(summed, [p["same"] for p in pairs])
    told = {
        "features": NAMES,
        "weights": np.round(model.coef_[0, 0] / spread, 4).tolist(),
        "bias": round(float(model.intercept_[0]), 4),
    }
    INTENT_WEIGHTS.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return IntentModel.load()


def teach_scale(encoder: Embedder) -> None:
    """Fits and writes what a cosine of sentences means. Two digits: other processors give other last ones."""
    pairs = read_rows(make.DATA / "pairs.jsonl")
    left, right = (encoder.embed([prepare(pair[side]).text for pair in pairs]) for side in "ab")
    cosines = np.einsum("ij,ij->i", left, right)[:, None]
    model = LogisticRegression(C=INTENT_FIT, max_iter=2000).fit(cosines, [p["same"] for p in pairs])
    told = {
        "encoder": encoder.name,
        "weight": round(float(model.coef_[0, 0]), 2),
        "bias": round(float(model.intercept_[0]), 2),
    }
    SCALE.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def _asked(text: str, embedder: WordLlamaEmbedder) -> Asked:
    words = distinct(prepare(text).words)
    rows = embedder.words.rows([words])[0]
    return Asked(words, embedder.words.matrix[rows])


def main() -> None:
    """Makes the rows, fits, writes the weights, and prints what was found."""
    make.main()
    WEIGHTS.parent.mkdir(exist_ok=True)
    teach_scale(MiniLm(fetched(print)))
    rows = read_rows(make.DATA / "exchanges.jsonl")
    embedder = WordLlamaEmbedder()
    read = Reader(embedder, teach_intent(embedder)).read(
        [neighbourhood(r["request"], r["answer"], r["message"]) for r in rows]
    )
    inputs = assemble(read.evidence, read.messages, read.answers)
    classes = np.array([class_of(r) for r in rows])
    domains = np.array([r["domain"] for r in rows])
    scores = left_out(inputs, classes, domains)
    temperature = best_temperature(scores, classes)
    announce = announcing_point(scores, classes, temperature)
    weights, bias = fit(inputs, classes)
    told = {
        "embedder": embedder.name,
        "classes": CLASSES,
        "features": features.names(),
        "temperature": temperature,
        "announce": announce,
        "bias": np.round(bias, 4).tolist(),
        "weights": np.round(weights, 4).tolist(),
    }
    WEIGHTS.write_text(_lines(told), encoding="utf-8")
    right = grouped(probabilities(scores, temperature)).argmax(axis=1) == grouped(np.eye(6)[classes]).argmax(axis=1)
    print(
        f"{len(rows)} rows; left-out accuracy {right.mean():.3f}; temperature {temperature}; announce from {announce}"
    )


def _lines(told: dict[str, Any]) -> str:
    """JSON with one row of weights a line, so that a change can be read."""
    rows = ",\n".join(json.dumps([round(x, 4) + 0.0 for x in row]) for row in told.pop("weights"))
    return json.dumps(told)[:-1] + ', "weights": [\n' + rows + "\n]}\n"


if __name__ == "__main__":
    main()
