"""Learned layer: a linear model over patterns, relations between the texts, and vectors.

Of the models tried, a linear one generalised best to subjects outside of its training data
(docs/detector_operations.md). Its weights are a small file, and each of its decisions can be explained by features.
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
    """Output of the learned layer for one message: probabilities of the `CLASSES`, which sum to 1.

    `reasons` names the features that contribute most to the most probable class. `announce` has the probabilities from
    which a rejection and an approval are announced.
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
        """Probability that the message accepts the answer, or builds on it."""
        return sum(self.probabilities[_ACCEPTED])

    @property
    def neutral(self) -> float:
        """Probability that the message is not feedback on the answer."""
        return self.probabilities[5]

    @property
    def feedback(self) -> Feedback:
        """The most probable of rejected, accepted and neutral."""
        options: tuple[tuple[float, Feedback], ...] = (
            (self.neutral, "neutral"),
            (self.accepted, "accepted"),
            (self.rejected, "rejected"),
        )
        return max(options)[1]

    @property
    def correction_type(self) -> CorrectionType:
        """The most probable correction type."""
        return max(zip(self.probabilities[_REJECTED], _TYPES, strict=True))[1]

    @property
    def gate(self) -> GateCall:
        """The most probable of not_ok, ok and neutral. A follow-up question counts as neutral, not as accepted."""
        options: tuple[tuple[float, GateCall], ...] = (
            (self.neutral + self.probabilities[4], "neutral"),
            (self.probabilities[3], "ok"),
            (self.rejected, "not_ok"),
        )
        return max(options)[1]

    @property
    def confidence(self) -> float:
        """Confidence of the most probable feedback, rescaled so that all kinds share one announcement threshold."""
        if self.feedback == "rejected":
            return on_scale(self.rejected, self.announce[0])
        if self.feedback == "accepted" and self.gate == "ok":
            return on_scale(self.probabilities[3], self.announce[1])
        return self.of(self.feedback)

    def without_rejection(self) -> Opinion:
        """Return the opinion with the probability of a rejection moved to "no feedback"."""
        *_, approval, follow_up, none = self.probabilities
        return replace(self, probabilities=(0.0, 0.0, 0.0, approval, follow_up, none + self.rejected))

    def of(self, feedback: Feedback) -> float:
        """Return the probability of `feedback`."""
        return {"rejected": self.rejected, "accepted": self.accepted, "neutral": self.neutral}[feedback]


@dataclass(frozen=True)
class Layer:
    """Linear model with weights of shape (features + dimensions of message and answer, classes).

    `embedder` is the name of the embedder of messages. Answers always have WordLlama vectors with `answer_dimension`
    components. `temperature` calibrates the probabilities. `announce` has the probabilities from which rejections and
    approvals are announced. Both were fitted by cross-validation over domains.
    """

    embedder: str
    weights: Numbers
    bias: Numbers
    temperature: float
    announce: tuple[float, float]
    answer_dimension: int = 256

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> Layer:
        """Load the committed weights. Raises ValueError if they were trained for other features or classes."""
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
        """Weight of each input for each class minus the mean weight over all classes, shape (classes, inputs)."""
        return np.ascontiguousarray((self.weights - self.weights.mean(axis=1, keepdims=True)).T)

    def opinions(self, known: features.Matrix, messages: Vectors, answers: Vectors) -> list[Opinion]:
        """Return one opinion for each row of the features `known`. `messages` and `answers` are the rows' vectors."""
        inputs = assemble(known, messages, answers)
        # Rounded, so that the last bits of a matrix product do not depend on the rest of the batch.
        rounded = np.round(probabilities(self._scores(inputs), self.temperature), 6)
        reasons = self._reasons(inputs, rounded.argmax(axis=1))
        return [Opinion(tuple(row), why, self.announce) for row, why in zip(rounded.tolist(), reasons, strict=True)]

    def _scores(self, inputs: Numbers) -> Numbers:
        pieces = [inputs[first : first + AT_ONCE] @ self.weights for first in range(0, len(inputs), AT_ONCE)]
        return np.concatenate(pieces) + self.bias

    def _reasons(self, inputs: Numbers, winners: npt.NDArray[np.intp]) -> list[tuple[str, ...]]:
        """Return, for each row, the features that contribute most to the most probable class, at most `NAMED`."""
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
    """Build the model's inputs. A row has the features, the message's vector and the answer's vector."""
    return np.hstack((known, VECTOR_SCALE * messages, VECTOR_SCALE * answers), dtype=np.float64)


def probabilities(scores: Numbers, temperature: float) -> Numbers:
    """Return the softmax of each row of `scores * temperature`."""
    scaled = scores * temperature
    raised = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    shares: Numbers = raised / raised.sum(axis=1, keepdims=True)
    return shares


def on_scale(probability: float, announce: float) -> float:
    """Rescale a probability so that `announce` becomes the common announcement threshold.

    The scale is linear below and above `announce`.
    """
    if probability < announce:
        return probability / announce * ANNOUNCEMENT_THRESHOLD
    return ANNOUNCEMENT_THRESHOLD + (probability - announce) / (1 - announce) * (1 - ANNOUNCEMENT_THRESHOLD)
