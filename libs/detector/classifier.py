"""The classifier: one logistic regression that turns features into calibrated probabilities of the classes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from detector.encoders.exchange import CLASSES
from detector.features import NAMES, WORDS, Vector
from detector.model import CorrectionType, Feedback, GateCall

WEIGHTS: Final = Path(__file__).parent / "weights" / "classifier.json"
_TYPES: Final[tuple[CorrectionType, ...]] = ("explicit", "rephrased", "abandonment")


class Opinion(NamedTuple):
    """Probabilities of the classes of a message. They sum to 1."""

    explicit: float
    rephrased: float
    abandonment: float
    approval: float
    continuation: float
    none: float

    @property
    def rejected(self) -> float:
        """Probability that the message rejects the answer."""
        return self.explicit + self.rephrased + self.abandonment

    @property
    def kind(self) -> str:
        """The most probable class."""
        return max(zip(self, CLASSES, strict=True))[1]

    def without_rejection(self) -> Opinion:
        """Return a copy in which the probability of a rejection is added to that of "none"."""
        return Opinion(0.0, 0.0, 0.0, self.approval, self.continuation, self.none + self.rejected)

    @property
    def feedback(self) -> Feedback:
        """The most probable feedback."""
        options: tuple[tuple[float, Feedback], ...] = (
            (self.none, "neutral"),
            (self.approval + self.continuation, "accepted"),
            (self.rejected, "rejected"),
        )
        return max(options)[1]

    @property
    def gate(self) -> GateCall:
        """The most probable of not_ok, ok and neutral. A message that only continues counts as neutral."""
        options: tuple[tuple[float, GateCall], ...] = (
            (self.none + self.continuation, "neutral"),
            (self.approval, "ok"),
            (self.rejected, "not_ok"),
        )
        return max(options)[1]

    @property
    def correction_type(self) -> CorrectionType | None:
        """The most probable kind of rejection, or None if the message is not a rejection."""
        if self.feedback != "rejected":
            return None
        return max(zip((self.explicit, self.rephrased, self.abandonment), _TYPES, strict=True))[1]

    @property
    def confidence(self) -> float:
        """Probability of the most probable feedback, or of an approval if `gate` is ok."""
        match self.feedback:
            case "rejected":
                return self.rejected
            case "neutral":
                return self.none
            case _:
                return self.approval if self.gate == "ok" else self.approval + self.continuation


@dataclass(frozen=True)
class Classifier:
    """Weights of shape (features, classes) and bias of the classes."""

    weights: Vector
    bias: Vector

    @classmethod
    def load(cls, *, with_reader: bool, path: Path = WEIGHTS) -> Classifier:
        """Read the committed weights, for features with or without the reader's.

        Raises:
            ValueError: The weights belong to other features or classes.
        """
        content = json.loads(path.read_text("utf-8"))
        mode, names = ("reader", NAMES) if with_reader else ("words", WORDS)
        weights = content[mode]["weights"]
        if tuple(weights) != names or tuple(content["classes"]) != CLASSES:
            raise ValueError(f"{path} belongs to other features or classes")
        return cls(np.array(list(weights.values())), np.array(content[mode]["bias"]))

    def opinion(self, features: Vector) -> Opinion:
        """Return the probabilities of the classes of a message."""
        scores = features @ self.weights + self.bias
        shares = np.exp(scores - scores.max())
        return Opinion(*(shares / shares.sum()).tolist())
