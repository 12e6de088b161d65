"""The learned layer: a linear model over rules, relations and vectors, with calibrated probabilities.

A linear model generalised best to subjects outside of its training data (docs/detector_operations.md). Its weights
are a small file, and the features behind a decision can be named.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from contracts.announced_from import ANNOUNCED_FROM
from detector import features
from detector.encoders.embedder import Vectors
from detector.model import CorrectionType, Feedback, GateCall

WEIGHTS: Final = Path(__file__).parent / "weights" / "exchange.json"
#: The same with a sentence encoder's vector of the message in place of the sum of its words.
SENTENCE_WEIGHTS: Final = Path(__file__).parent / "weights" / "exchange_sentences.json"
#: Vectors have length 1, so one number in them is small beside a rule that is 0 or 1.
VECTOR_SCALE: Final = 3.0
#: A feature that lifts a class by less than this is no reason.
WORTH_NAMING: Final = 0.1
#: Rows multiplied at once: so few that no thread is woken to share the work, which costs more than it saves.
AT_ONCE: Final = 32
#: Features named as reasons, at most.
NAMED: Final = 3

Numbers = npt.NDArray[np.float64]

#: What a message can be. Three ways to reject, two to accept, and nothing.
CLASSES: Final = ("explicit", "rephrased", "abandonment", "approval", "follow_up", "none")
_REJECTED, _ACCEPTED = slice(0, 3), slice(3, 5)
_TYPES: Final[tuple[CorrectionType, ...]] = ("explicit", "rephrased", "abandonment")


@dataclass(frozen=True, slots=True)
class Opinion:
    """Probabilities of the `CLASSES`, summing to 1, and the features that spoke most for the likeliest reading.

    `announce`: the probabilities of a rejection and of an approval from which they are announced.
    """

    probabilities: tuple[float, ...]
    reasons: tuple[str, ...]
    announce: tuple[float, float] = (ANNOUNCED_FROM, ANNOUNCED_FROM)

    @property
    def rejected(self) -> float:
        """Probability that the answer is turned down."""
        return sum(self.probabilities[_REJECTED])

    @property
    def accepted(self) -> float:
        """Probability that the answer is taken or built on."""
        return sum(self.probabilities[_ACCEPTED])

    @property
    def neutral(self) -> float:
        """Probability that the message says nothing about the answer."""
        return self.probabilities[5]

    @property
    def feedback(self) -> Feedback:
        """The likeliest of the three."""
        options: tuple[tuple[float, Feedback], ...] = (
            (self.neutral, "neutral"),
            (self.accepted, "accepted"),
            (self.rejected, "rejected"),
        )
        return max(options)[1]

    @property
    def correction_type(self) -> CorrectionType:
        """The likeliest way of rejecting, if it is one."""
        return max(zip(self.probabilities[_REJECTED], _TYPES, strict=True))[1]

    @property
    def gate(self) -> GateCall:
        """The stricter reading: a follow-up question is no feedback."""
        options: tuple[tuple[float, GateCall], ...] = (
            (self.neutral + self.probabilities[4], "neutral"),
            (self.probabilities[3], "ok"),
            (self.rejected, "not_ok"),
        )
        return max(options)[1]

    @property
    def confidence(self) -> float:
        """Return the confidence of the most probable class, scaled to the fitted announcing threshold."""
        if self.feedback == "rejected":
            return on_scale(self.rejected, self.announce[0])
        if self.feedback == "accepted" and self.gate == "ok":
            return on_scale(self.probabilities[3], self.announce[1])
        return self.of(self.feedback)

    def without_rejection(self) -> Opinion:
        """The same, with the probability of a rejection counted as saying nothing."""
        *_, approval, follow_up, none = self.probabilities
        return replace(self, probabilities=(0.0, 0.0, 0.0, approval, follow_up, none + self.rejected))

    def of(self, feedback: Feedback) -> float:
        """Probability of one of the three."""
        return {"rejected": self.rejected, "accepted": self.accepted, "neutral": self.neutral}[feedback]


@dataclass(frozen=True)
class Layer:
    """The weights. `weights` has shape (features + dimensions of message and answer, classes).

    `embedder` made the vectors of messages; those of answers are WordLlama's, of `answer_dimension`.

    `temperature` and `announce` were fitted on domains left out of the training in turn: the former makes the
    probabilities calibrated; the latter are the probabilities from which rejections and approvals are announced.
    """

    embedder: str
    weights: Numbers
    bias: Numbers
    temperature: float
    announce: tuple[float, float]
    answer_dimension: int = 256

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> Layer:
        """Reads the committed weights; refuses those of other features."""
        stored = json.loads(path.read_text(encoding="utf-8"))
        if tuple(stored["features"]) != features.names() or tuple(stored["classes"]) != CLASSES:
            raise ValueError(f"{path} was made for other features or classes: run `make train`")
        return cls(
            stored["embedder"],
            np.asarray(stored["weights"], dtype=np.float64),
            np.asarray(stored["bias"], dtype=np.float64),
            float(stored["temperature"]),
            (float(stored["announce"][0]), float(stored["announce"][1])),
        )

    @cached_property
    def _names(self) -> tuple[str, ...]:
        shown = (*features.names(), "the words of the message", "the words of the answer")
        return tuple(f"learned.{name}" for name in shown)

    @cached_property
    def _lifts(self) -> Numbers:
        """Shape (classes, inputs): what an input lifts a class by over the average of all."""
        return np.ascontiguousarray((self.weights - self.weights.mean(axis=1, keepdims=True)).T)

    def opinions(self, known: features.Matrix, messages: Vectors, answers: Vectors) -> list[Opinion]:
        """One opinion for each row of features; the vectors are those of its message and its answer, row by row."""
        inputs = assemble(known, messages, answers)
        # Rounded, so that the last bits of a matrix product don't depend on what else is in the batch.
        rounded = np.round(probabilities(self._scores(inputs), self.temperature), 6)
        reasons = self._reasons(inputs, rounded.argmax(axis=1))
        return [Opinion(tuple(row), why, self.announce) for row, why in zip(rounded.tolist(), reasons, strict=True)]

    def _scores(self, inputs: Numbers) -> Numbers:
        pieces = [inputs[first : first + AT_ONCE] @ self.weights for first in range(0, len(inputs), AT_ONCE)]
        return np.concatenate(pieces) + self.bias

    def _reasons(self, inputs: Numbers, winners: npt.NDArray[np.intp]) -> list[tuple[str, ...]]:
        """For each row the `NAMED` features that lifted its likeliest class most over the average of all."""
        lift = inputs * self._lifts[winners]
        cut = features.WIDTH
        answer = lift.shape[1] - self.answer_dimension
        vectors = (lift[:, cut:answer].sum(axis=1), lift[:, answer:].sum(axis=1))
        parts = np.round(np.column_stack((lift[:, :cut], *vectors)), 6)
        rows = np.arange(len(parts))
        found: list[list[str]] = [[] for _ in rows]
        for _ in range(NAMED):
            best = parts.argmax(axis=1)
            lifted = parts[rows, best]
            for row in np.flatnonzero(lifted > WORTH_NAMING).tolist():
                found[row].append(self._names[best[row]])
            parts[rows, best] = -np.inf
        return [tuple(names) for names in found]


def assemble(known: features.Matrix, messages: Vectors | Numbers, answers: Vectors) -> Numbers:
    """The model's inputs, shape (rows, features + dimensions of messages and answers)."""
    return np.hstack((known, VECTOR_SCALE * messages, VECTOR_SCALE * answers), dtype=np.float64)


def probabilities(scores: Numbers, temperature: float) -> Numbers:
    """Softmax of scores times temperature, row by row."""
    scaled = scores * temperature
    raised = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    shares: Numbers = raised / raised.sum(axis=1, keepdims=True)
    return shares


def on_scale(probability: float, announce: float) -> float:
    """A probability bent, evenly on both sides, so that `announce` becomes the announcing threshold."""
    if probability < announce:
        return probability / announce * ANNOUNCED_FROM
    return ANNOUNCED_FROM + (probability - announce) / (1 - announce) * (1 - ANNOUNCED_FROM)
