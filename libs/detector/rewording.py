"""Detect rephrased requests by comparing the sentence vectors of a message and the request before it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from detector.cues import may_reword
from detector.encoders.embedder import Embedder, Vectors
from detector.evidence import Evidence
from detector.intent import Sameness
from detector.reading import WORTH_ALIGNING
from detector.text import prepare

WEIGHTS: Final = Path(__file__).parent / "weights" / "sentences.json"


@dataclass(frozen=True, slots=True)
class Scale:
    """Logistic function that converts a cosine of sentence vectors to the probability of the same intent.

    It was fitted on pairs of requests written for this project.
    """

    weight: float
    bias: float

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> Scale:
        """Load the committed parameters."""
        stored = json.loads(path.read_text(encoding="utf-8"))
        return cls(float(stored["weight"]), float(stored["bias"]))

    def sameness(self, cosine: float) -> Sameness:
        """Return the cosine, clamped to [0, 1], and the probability of the same intent.

        Both are rounded, so that they do not depend on other texts encoded in the same call.
        """
        similarity = round(min(1.0, max(0.0, cosine)), 4)
        return Sameness(similarity, round(1 / (1 + float(np.exp(-self.weight * similarity - self.bias))), 6))


class Rewordings:
    """Comparison of requests by their sentence vectors."""

    def __init__(self, encoder: Embedder, scale: Scale) -> None:
        self._encoder = encoder
        self._scale = scale

    @property
    def encoder_name(self) -> str:
        """Name of the sentence encoder."""
        return self._encoder.name

    def compared(self, evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
        """Compare messages with their requests, and return the evidence with the results in `Evidence.sentences`.

        Only messages that may be rephrased requests are compared. The encoder is called at most once.
        """
        rows = [row for row, one in enumerate(evidence) if _worth_comparing(one)]
        alike = self.alike([(evidence[row].message.text, evidence[row].request.text) for row in rows])
        compared = dict(zip(rows, alike, strict=True))
        return tuple(
            replace(one, sentences=compared[row]) if row in compared else one for row, one in enumerate(evidence)
        )

    def same_intent(self, left: str, right: str) -> float:
        """Return the probability in [0, 1] that two requests have the same intent."""
        [sameness] = self.alike([(prepare(left).text, prepare(right).text)])
        return sameness.same_intent

    def alike(self, pairs: Sequence[tuple[str, str]]) -> list[Sameness]:
        """Return the similarity of the two prepared texts in each pair, in order."""
        if not pairs:
            return []
        texts = {text: row for row, text in enumerate(dict.fromkeys(text for pair in pairs for text in pair))}
        vectors: Vectors = self._encoder.embed(list(texts))
        return [self._scale.sameness(float(vectors[texts[a]] @ vectors[texts[b]])) for a, b in pairs]


def _worth_comparing(evidence: Evidence) -> bool:
    return (
        evidence.similarity >= WORTH_ALIGNING
        and not {"reject", "reject_stated"} & evidence.kinds
        and may_reword(evidence)
    )
