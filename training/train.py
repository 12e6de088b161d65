"""Training of the learned layers. The weights are byte for byte the same in every run.

    python -m training.train

No choice depends on evaluation rows: temperature and announcing point are fitted on our own domains, each predicted by
a model that was trained on the others.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from detector import features
from detector.addressing import Exchange
from detector.encoders.embedder import Embedder, WordLlamaEmbedder
from detector.encoders.minilm import WIDTH, MiniLm
from detector.encoders.minilm_files import fetched
from detector.intent import NAMES, Asked, IntentModel, compare, distinct
from detector.intent import WEIGHTS as INTENT_WEIGHTS
from detector.learned import CLASSES, SENTENCE_WEIGHTS, VECTOR_SCALE, WEIGHTS, Numbers, assemble, probabilities
from detector.model import Message, Neighbourhood
from detector.reading import Reader
from detector.rewording import WEIGHTS as SCALE
from detector.rules import announceable
from detector.text import prepare
from detector.version import DATE, HOME
from training import make
from training.talk import talk

#: Strength of the data against the pull of the weights to zero; small, because the data are ours and the world is not.
FIT: Final = 0.02
INTENT_FIT: Final = 1.0
#: Share of rejections in real traffic, and the precision that announcing aims at there.
PREVALENCE: Final = 0.08
PRECISION: Final = 0.70
#: The precision that announcing an approval aims at among our own rows.
APPROVED: Final = 0.90
#: Shares of rejected, accepted and neutral messages that probabilities are calibrated for.
NATURAL: Final = (0.2, 0.5, 0.3)
#: What a row of talk with agents counts beside one of the exchanges.
TALK: Final = 0.6
#: Models that left-out scores come from.
FOLDS: Final = 3

Ints = npt.NDArray[np.int64]
Names = npt.NDArray[np.str_]

_CLASS_OF: Final = {
    ("accepted", "ok"): "approval",
    ("accepted", "neutral"): "follow_up",
    ("neutral", "neutral"): "none",
}


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a JSON-lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def neighbourhood(request: str, answer: str, message: str) -> Neighbourhood:
    """Return a request, its answer and the message about it, a minute apart."""
    minute = 60_000_000
    before = (
        Message("m1", "t1", "person", "human", None, request, 0),
        Message("m2", "t1", "agent", "agent", "agent", answer, minute),
    )
    shown = tuple(m for m in before if m.text)
    return Neighbourhood(shown, Message("m3", "t2", "person", "human", None, message, 2 * minute))


def class_of(row: dict[str, Any]) -> int:
    """Return the class in `CLASSES` of a training row."""
    name = row["kind"] if row["label"] == "rejected" else _CLASS_OF[row["label"], row["gate"]]
    return CLASSES.index(name)


@dataclass(frozen=True)
class Evened:
    """Scaling of message vectors: each number is centred and divided by its spread.

    Early layers of an encoder express most information in small numbers, which regularisation would suppress. The
    layer's weights include centre and spread, so that it reads unscaled vectors.
    """

    centre: Numbers
    spread: Numbers

    @classmethod
    def of(cls, vectors: Numbers) -> Evened:
        """Fit the scaling to unscaled `vectors` of shape (rows, dimension). Half a scaled vector has length 1 on
        average."""
        return cls(vectors.mean(axis=0), vectors.std(axis=0) * np.sqrt(WIDTH))

    def __call__(self, vectors: Numbers) -> Numbers:
        """Return the scaled vectors, in the same shape."""
        return (vectors - self.centre) / self.spread

    def folded(self, weights: Numbers, bias: Numbers) -> tuple[Numbers, Numbers]:
        """Return weights and bias for unscaled vectors, from those for scaled ones."""
        own = slice(features.WIDTH, features.WIDTH + len(self.centre))
        folded = weights.copy()
        folded[own] /= self.spread[:, None]
        return folded, bias - VECTOR_SCALE * self.centre @ folded[own]


def fit(inputs: Numbers, classes: Ints, weights: Numbers) -> tuple[Numbers, Numbers]:
    """Return weights of shape (features, classes) and bias of shape (classes,)."""
    model = LogisticRegression(C=FIT, max_iter=200, tol=1e-3)
    model.fit(inputs.astype(np.float32), classes, sample_weight=weights)
    return model.coef_.T.astype(np.float64), model.intercept_.astype(np.float64)


def weights_of(domains: Names) -> Numbers:
    """Return a row's weight: rows of talk with agents have more weight, in natural shares."""
    return np.where(np.char.startswith(domains, "talk-"), TALK, 1.0)


def left_out(inputs: Numbers, classes: Ints, domains: Names) -> Numbers:
    """Return the scores of every row by a model that was trained without its domain; `FOLDS` domains are left out at
    a time."""
    scores = np.zeros((len(classes), len(CLASSES)))
    names = sorted(set(domains.tolist()))
    for fold in range(FOLDS):
        away = np.isin(domains, names[fold::FOLDS])
        weights, bias = fit(inputs[~away], classes[~away], weights_of(domains[~away]))
        scores[away] = inputs[away] @ weights + bias
    return scores


def natural(classes: Ints) -> Numbers:
    """Return weights of rows that give the classes their shares in natural conversations."""
    shares = np.bincount(classes, minlength=len(CLASSES)) / len(classes)
    kinds = grouped(np.eye(len(CLASSES))[classes]).argmax(axis=1)
    held = grouped(shares[None])[0]
    weights: Numbers = (np.array(NATURAL) / held)[kinds]
    return weights


def best_temperature(scores: Numbers, classes: Ints) -> float:
    """Return the temperature that maximises the likelihood of the left-out labels, in steps of 0.01."""
    labels = grouped(np.eye(len(CLASSES))[classes]).argmax(axis=1)
    weights = natural(classes)

    def surprise(temperature: float) -> float:
        shares = grouped(probabilities(scores, temperature))
        return float(-(weights * np.log(shares[np.arange(len(labels)), labels] + 1e-12)).mean())

    return min((round(0.5 + step / 100, 2) for step in range(150)), key=surprise)


def announcing_points(
    scores: Numbers, classes: Ints, temperature: float, heard: npt.NDArray[np.bool_]
) -> tuple[float, float]:
    """Return the lowest probabilities, in steps of 0.01, at which left-out rejections and approvals are precise enough.

    Rejections are weighted to `PREVALENCE` of the messages, approvals are not weighted. A rejection that is not `heard`
    is never announced, so it counts as not predicted.
    """
    predicted = probabilities(scores, temperature)
    rejected = grouped(np.eye(len(CLASSES))[classes])[:, 0] > 0
    approved = classes == CLASSES.index("approval")
    return (
        _point(grouped(predicted)[:, 0] * heard, rejected, PREVALENCE, PRECISION),
        _point(predicted[:, CLASSES.index("approval")], approved, float(approved.mean()), APPROVED),
    )


def _point(predicted: Numbers, truth: npt.NDArray[np.bool_], prevalence: float, precision: float) -> float:
    for step in range(60, 99):
        called = predicted >= step / 100
        hit, false = float(called[truth].mean()), float(called[~truth].mean())
        if prevalence * hit >= precision * (prevalence * hit + (1 - prevalence) * false):
            return step / 100
    return 0.99


def grouped(shares: Numbers) -> Numbers:
    """Return the shares of rejected, accepted and neutral, from those of the six classes."""
    return np.stack([shares[:, :3].sum(axis=1), shares[:, 3:5].sum(axis=1), shares[:, 5]], axis=1)


def teach_intent(embedder: WordLlamaEmbedder) -> IntentModel:
    """Fit the intent model and write its weights."""
    pairs = read_rows(make.DATA / "pairs.jsonl")
    inputs = np.array([compare(_asked(p["a"], embedder), _asked(p["b"], embedder)) for p in pairs])
    # Composed pairs are harder and narrower than real ones, so only the scale is learned: all four features, scaled by
    # their spread, have equal weight.
    spread = inputs.std(axis=0)
    summed = (inputs / spread).sum(axis=1, keepdims=True)
    model = LogisticRegression(C=INTENT_FIT, max_iter=2000).fit(summed, [p["same"] for p in pairs])
    content = {
        "features": NAMES,
        "weights": np.round(model.coef_[0, 0] / spread, 4).tolist(),
        "bias": round(float(model.intercept_[0]), 4),
    }
    INTENT_WEIGHTS.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return IntentModel.load()


def teach_scale(encoder: Embedder) -> None:
    """Fit and write the scale of sentence cosines, with two digits, because other processors give other last digits."""
    pairs = read_rows(make.DATA / "pairs.jsonl")
    left, right = (encoder.embed([prepare(pair[side]).text for pair in pairs]) for side in "ab")
    cosines = np.einsum("ij,ij->i", left, right)[:, None]
    model = LogisticRegression(C=INTENT_FIT, max_iter=2000).fit(cosines, [p["same"] for p in pairs])
    content = {
        "encoder": encoder.name,
        "weight": round(float(model.coef_[0, 0]), 2),
        "bias": round(float(model.intercept_[0]), 2),
    }
    SCALE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _asked(text: str, embedder: WordLlamaEmbedder) -> Asked:
    words = distinct(prepare(text).words)
    rows = embedder.words.rows([words])[0]
    return Asked(words, embedder.words.matrix[rows])


def main() -> None:
    """Generate the rows, fit, write the weights, and print the results."""
    before = _weights()
    make.main()
    WEIGHTS.parent.mkdir(exist_ok=True)
    encoder = MiniLm(fetched(print))
    teach_scale(encoder)
    rows = read_rows(make.DATA / "exchanges.jsonl") + list(talk())
    embedder = WordLlamaEmbedder()
    read = Reader(embedder, teach_intent(embedder)).read(
        [Exchange.of(neighbourhood(r["request"], r["answer"], r["message"])) for r in rows]
    )
    known = features.matrix(read.evidence)
    heard = np.array([announceable(one) for one in read.evidence])
    teach(WEIGHTS, embedder.name, assemble(known, read.messages, read.answers), rows, heard)
    said = dict.fromkeys(one.message.said for one in read.evidence)
    vectors = dict(zip(said, encoder.early.embed(list(said)), strict=True))
    sentences = np.stack([vectors[one.message.said] for one in read.evidence])
    evened = Evened.of(sentences)
    inputs = assemble(known, evened(sentences), read.answers)
    teach(SENTENCE_WEIGHTS, encoder.early.name, inputs, rows, heard, evened)
    if _weights() != before:
        (HOME / DATE).write_text(f"{datetime.now(UTC).date()}\n", "ascii")


def _weights() -> list[bytes]:
    return [file.read_bytes() for file in sorted(WEIGHTS.parent.glob("*.json"))]


def teach(
    path: Path,
    embedder: str,
    inputs: Numbers,
    rows: list[dict[str, Any]],
    heard: npt.NDArray[np.bool_],
    evened: Evened | None = None,
) -> None:
    """Fit a layer and write its weights.

    `embedder` made the messages' vectors, scaled by `evened` if given; `heard`: see `announceable`.
    """
    classes = np.array([class_of(r) for r in rows])
    domains = np.array([r["domain"] for r in rows])
    scores = left_out(inputs, classes, domains)
    temperature = best_temperature(scores, classes)
    announce = announcing_points(scores, classes, temperature, heard)
    weights, bias = fit(inputs, classes, weights_of(domains))
    if evened:
        weights, bias = evened.folded(weights, bias)
    content = {
        "embedder": embedder,
        "classes": CLASSES,
        "features": features.names(),
        "temperature": temperature,
        "announce": announce,
        "bias": np.round(bias, 4).tolist(),
        "weights": np.round(weights, 4).tolist(),
    }
    path.write_text(_lines(content), encoding="utf-8")
    right = grouped(probabilities(scores, temperature)).argmax(axis=1) == grouped(np.eye(6)[classes]).argmax(axis=1)
    print(
        f"{path.name}: {len(rows)} rows; left-out accuracy {right.mean():.3f};"
        f" temperature {temperature}; announce from {announce}"
    )


def _lines(content: dict[str, Any]) -> str:
    """Return JSON with one row of weights per line, so that a diff is readable."""
    rows = ",\n".join(json.dumps([round(x, 4) + 0.0 for x in row]) for row in content.pop("weights"))
    return json.dumps(content)[:-1] + ', "weights": [\n' + rows + "\n]}\n"


if __name__ == "__main__":
    main()
