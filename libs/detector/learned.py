"""Learned layer of the detector: a linear model on patterns, relations between the texts, and text vectors.

Of the models tried, a linear one generalised best to subjects outside its training data (docs/detector_operations.md).
Its weights fit in a small file, and its features explain each decision.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from contracts.announcement_threshold import ANNOUNCEMENT_THRESHOLD
from detector import features
from detector.encoders.embedder import Vectors
from detector.model import CorrectionType, Feedback, GateCall

WEIGHTS: Final = Path(__file__).parent / "weights" / "exchange.json"
#: Weights of the layer that reads a sentence vector of the message instead of its word vector.
SENTENCE_WEIGHTS: Final = Path(__file__).parent / "weights" / "exchange_sentences.json"
#: Factor for vectors. They have length 1 and would otherwise weigh less than features of 0 or 1.
VECTOR_SCALE: Final = 3.0
#: Minimum contribution to the class for which a feature is named as a reason.
WORTH_NAMING: Final = 0.1
#: Rows per matrix product. With so few rows numpy starts no threads, which would take more time than they save.
AT_ONCE: Final = 32
#: Maximum number of features named as reasons.
NAMED: Final = 3

Numbers = npt.NDArray[np.float64]

#: Classes of messages: three kinds of rejection, two kinds of acceptance, and no feedback.
CLASSES: Final = ("explicit", "rephrased", "abandonment", "approval", "follow_up", "none")
_REJECTED, _ACCEPTED = slice(0, 3), slice(3, 5)
_TYPES: Final[tuple[CorrectionType, ...]] = ("explicit", "rephrased", "abandonment")


@dataclass(frozen=True, slots=True)
class Opinion:
    """Output of the learned layer for one message.

    Attributes:
        probabilities: Probabilities of the `CLASSES`, which sum to 1.
        reasons: Names of the features that contribute most to the most probable class.
        announce: Minimum probabilities at which a rejection and an approval are announced.
    """

    probabilities: tuple[float, ...]
    reasons: tuple[str, ...]
    announce: tuple[float, float] = (ANNOUNCEMENT_THRESHOLD, ANNOUNCEMENT_THRESHOLD)

    @property
    def rejected(self) -> float:
        """Probability that the message rejects the answer."""
        return sum(self.probabilities[_REJECTED])

    @property
    def accepted(self) -> float:
        """Probability that the message accepts the answer or builds on it."""
        return sum(self.probabilities[_ACCEPTED])

    @property
    def neutral(self) -> float:
        """Probability that the message is not feedback on the answer."""
        return self.probabilities[5]

    @property
    def feedback(self) -> Feedback:
        """The most probable feedback: rejected, accepted or neutral."""
        options: tuple[tuple[float, Feedback], ...] = (
            (self.neutral, "neutral"),
            (self.accepted, "accepted"),
            (self.rejected, "rejected"),
        )
        return max(options)[1]

    @property
    def correction_type(self) -> CorrectionType:
        """The most probable kind of rejection."""
        return max(zip(self.probabilities[_REJECTED], _TYPES, strict=True))[1]

    @property
    def gate(self) -> GateCall:
        """The stricter verdict: the most probable of not_ok, ok and neutral. A follow-up question counts as neutral."""
        options: tuple[tuple[float, GateCall], ...] = (
            (self.neutral + self.probabilities[4], "neutral"),
            (self.probabilities[3], "ok"),
            (self.rejected, "not_ok"),
        )
        return max(options)[1]

    @property
    def confidence(self) -> float:
        """Confidence in the most probable feedback.

        It is rescaled so that the same announcement threshold applies to all kinds of feedback.
        """
        if self.feedback == "rejected":
            return on_scale(self.rejected, self.announce[0])
        if self.feedback == "accepted" and self.gate == "ok":
            return on_scale(self.probabilities[3], self.announce[1])
        return self.of(self.feedback)

    def without_rejection(self) -> Opinion:
        """Return a copy in which the probability of a rejection is added to that of "no feedback"."""
        *_, approval, follow_up, none = self.probabilities
        return replace(self, probabilities=(0.0, 0.0, 0.0, approval, follow_up, none + self.rejected))

    def of(self, feedback: Feedback) -> float:
        """Return the probability of `feedback`."""
        return {"rejected": self.rejected, "accepted": self.accepted, "neutral": self.neutral}[feedback]


@dataclass(frozen=True)
class Layer:
    """Linear model that classifies messages.

    `temperature` and `announce` were fitted by cross-validation over domains.

    Attributes:
        embedder: Name of the encoder that provides the messages' vectors.
        weights: Array of shape (features + dimensions of the message and answer vectors, classes).
        bias: Bias of each class.
        temperature: Factor that calibrates the probabilities.
        announce: Minimum probabilities at which a rejection and an approval are announced.
        answer_dimension: Dimension of the answers' vectors, which always come from WordLlama.
    """

    embedder: str
    weights: Numbers
    bias: Numbers
    temperature: float
    announce: tuple[float, float]
    answer_dimension: int = 256

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> Layer:
        """Load the committed weights.

        Raises:
            ValueError: The weights were trained for other features or classes.
        """
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
        """Influence of each input on each class, as an array of shape (classes, inputs).

        The influence is the difference between the input's weight for the class and its mean weight over all classes.
        """
        return np.ascontiguousarray((self.weights - self.weights.mean(axis=1, keepdims=True)).T)

    def opinions(self, known: features.Matrix, messages: Vectors, answers: Vectors) -> list[Opinion]:
        """Return the opinion on each message.

        Args:
            known: The features, one row per message.
            messages: The vectors of the messages, one row each.
            answers: The vectors of their answers, one row each.
        """
        inputs = assemble(known, messages, answers)
        # Rounded, so that the last bits of a matrix product do not depend on the rest of the batch.
        rounded = np.round(probabilities(self._scores(inputs), self.temperature), 6)
        reasons = self._reasons(inputs, rounded.argmax(axis=1))
        return [Opinion(tuple(row), why, self.announce) for row, why in zip(rounded.tolist(), reasons, strict=True)]

    def _scores(self, inputs: Numbers) -> Numbers:
        pieces = [inputs[first : first + AT_ONCE] @ self.weights for first in range(0, len(inputs), AT_ONCE)]
        return np.concatenate(pieces) + self.bias

    def _reasons(self, inputs: Numbers, winners: npt.NDArray[np.intp]) -> list[tuple[str, ...]]:
        """Return the names of the features that contribute most to the most probable class, at most `NAMED` per row.

        Args:
            inputs: The inputs of the model, one row per message.
            winners: The index of the most probable class of each row.
        """
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
    """Build the input matrix of the model.

    Each row contains the features, the vector of the message and the vector of the answer.
    """
    return np.hstack((known, VECTOR_SCALE * messages, VECTOR_SCALE * answers), dtype=np.float64)


def probabilities(scores: Numbers, temperature: float) -> Numbers:
    """Return the softmax of each row of `scores * temperature`."""
    scaled = scores * temperature
    raised = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    shares: Numbers = raised / raised.sum(axis=1, keepdims=True)
    return shares


def on_scale(probability: float, announce: float) -> float:
    """Rescale a probability so that `announce` is mapped to the common announcement threshold.

    The mapping is piecewise linear, with a break at `announce`.
    """
    if probability < announce:
        return probability / announce * ANNOUNCEMENT_THRESHOLD
    return ANNOUNCEMENT_THRESHOLD + (probability - announce) / (1 - announce) * (1 - ANNOUNCEMENT_THRESHOLD)
