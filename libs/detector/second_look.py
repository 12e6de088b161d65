"""A second opinion on messages that may be rejections, by a sentence encoder's vector of what is said.

It takes a millisecond where the first takes a tenth, so it is asked where it can change what is said of the answer. A
rejection too unlikely to be looked at again is none: when in doubt, a verdict abstains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from detector.correction import correct
from detector.encoders.embedder import Embedder, Vectors
from detector.evidence import Evidence
from detector.learned import Layer, Opinion

#: A rejection that is this likely to the first look is looked at again.
LIKELY: Final = 0.45
#: One that is likelier than this to the first look stands: the second takes away right ones with the wrong.
SURE: Final = 0.9
#: A rule that hears an approval is doubted from this likelihood of a rejection on, one that hears a rejection below it.
DOUBTFUL: Final = 0.7


@dataclass(frozen=True)
class SecondLook:
    """The encoder, and a layer that was taught with its vectors."""

    encoder: Embedder
    layer: Layer

    def __post_init__(self) -> None:
        if self.layer.embedder != self.encoder.name:
            raise ValueError(
                f"the second layer was taught with {self.layer.embedder!r}, not with {self.encoder.name!r}"
            )

    def revised(
        self, evidence: Sequence[Evidence], opinions: Sequence[Opinion | None], answers: Vectors
    ) -> list[Opinion | None]:
        """The opinions, with the second in place of the first where one is taken; `answers` row by row."""
        rows = [row for row, opinion in enumerate(opinions) if opinion and worth_a_look(evidence[row], opinion)]
        revised = [opinion and abstaining(opinion) for opinion in opinions]
        if rows:
            chosen = [evidence[row] for row in rows]
            seconds = self.layer.opinions(chosen, self.embed(chosen), np.ascontiguousarray(answers[rows]))
            for row, second in zip(rows, seconds, strict=True):
                revised[row] = second
        return revised

    def embed(self, evidence: Sequence[Evidence]) -> Vectors:
        """Vectors of what the messages say, shape (len(evidence), dimension); each text is read once."""
        places = {text: place for place, text in enumerate(dict.fromkeys(one.message.said for one in evidence))}
        vectors = self.encoder.embed(list(places))
        return vectors[[places[one.message.said] for one in evidence]]


def worth_a_look(evidence: Evidence, opinion: Opinion) -> bool:
    """Whether a second opinion may change what is said of the answer."""
    if not LIKELY <= opinion.rejected < SURE or not evidence.message.said:
        return False
    call = correct(evidence)
    if call.certain and call.feedback == "rejected":
        return opinion.rejected < DOUBTFUL
    return not call.certain or (call.approves and opinion.rejected >= DOUBTFUL)


def abstaining(opinion: Opinion) -> Opinion:
    """The opinion, unless it finds an unlikely rejection likelier than all else: then it says nothing."""
    return opinion if opinion.rejected >= LIKELY or opinion.feedback != "rejected" else opinion.without_rejection()
