"""A second opinion on messages that may be rejections, by a sentence encoder's vector of what is said.

It takes ten times as long as the first, so it is asked where it can change what is said of the answer. A
rejection too unlikely to be looked at again is none, nor is a doubtful one in an answer to the agent's own question:
when in doubt, a verdict abstains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from detector.correction import correct
from detector.decide import answers_question
from detector.encoders.embedder import Embedder, Vectors
from detector.evidence import Evidence
from detector.features import Matrix
from detector.learned import Layer, Opinion

#: A rejection that is this likely to the first look is looked at again.
LIKELY: Final = 0.45
#: One that is likelier than this to the first look stands: the second takes away right ones with the wrong.
SURE: Final = 0.9
#: A rule that hears an approval is doubted from this likelihood of a rejection on; one that hears a rejection never.
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
        self, evidence: Sequence[Evidence], opinions: Sequence[Opinion | None], known: Matrix, answers: Vectors
    ) -> list[Opinion | None]:
        """The opinions, with the second in place of the first where one is taken.

        `known`: the features of the evidence; `answers`: the vectors of its answers. Row by row.
        """
        rows = [row for row, opinion in enumerate(opinions) if opinion and worth_a_look(evidence[row], opinion)]
        revised = [opinion and abstaining(one, opinion) for one, opinion in zip(evidence, opinions, strict=True)]
        if rows:
            messages = self.embed([evidence[row] for row in rows])
            seconds = self.layer.opinions(known[rows], messages, answers[rows])
            for row, second in zip(rows, seconds, strict=True):
                revised[row] = second
        return revised

    def embed(self, evidence: Sequence[Evidence]) -> Vectors:
        """Vectors of what the messages say, shape (len(evidence), dimension); each text is read once."""
        places = {text: place for place, text in enumerate(dict.fromkeys(one.message.said for one in evidence))}
        vectors = self.encoder.embed(list(places))
        return vectors[[places[one.message.said] for one in evidence]]


def worth_a_look(evidence: Evidence, opinion: Opinion) -> bool:
    """Return True if the second pass may change the verdict."""
    if not LIKELY <= opinion.rejected < SURE or not evidence.message.said:
        return False
    call = correct(evidence)
    if call.certain:
        return call.approves and opinion.rejected >= DOUBTFUL
    return not answers_question(evidence)


def abstaining(evidence: Evidence, opinion: Opinion) -> Opinion:
    """The opinion, unless what it finds likeliest is a rejection that is unlikely, or only a likely one in an answer to
    the agent's question: then it says nothing.
    """
    if opinion.feedback != "rejected" or opinion.rejected >= SURE:
        return opinion
    unsaid = opinion.rejected < LIKELY or (answers_question(evidence) and not correct(evidence).certain)
    return opinion.without_rejection() if unsaid else opinion
