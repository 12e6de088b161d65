"""Re-judging of likely rejections by a sentence encoder's vector of the message.

It takes ten times as long as the first judgement, so it is limited to messages whose verdict it may change. An
improbable rejection becomes neutral, and so does a doubtful one in an answer to the agent's own question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from detector.encoders.embedder import Embedder, Vectors
from detector.evidence import Evidence
from detector.features import Matrix
from detector.learned import Layer, Opinion
from detector.rules import match

#: Minimum probability of a rejection that is judged again.
LIKELY: Final = 0.45
#: Probability from which a rejection stands. Above it, the second judgement also removed correct ones.
SURE: Final = 0.9
#: Minimum probability of a rejection that questions a rule's approval. A rule's rejection is never questioned.
DOUBTFUL: Final = 0.7


@dataclass(frozen=True)
class SecondLook:
    """Sentence encoder, with the layer that was trained on its vectors."""

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
        """Return the opinions, replaced by the second layer's opinion for re-judged messages.

        `known` has the features of the evidence, `answers` the vectors of its answers, in the same order.
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
        """Return the messages' vectors, shape (len(evidence), dimension). Each distinct text is embedded once."""
        places = {text: place for place, text in enumerate(dict.fromkeys(one.message.said for one in evidence))}
        vectors = self.encoder.embed(list(places))
        return vectors[[places[one.message.said] for one in evidence]]


def worth_a_look(evidence: Evidence, opinion: Opinion) -> bool:
    """Return True if re-judging may change the verdict."""
    if not LIKELY <= opinion.rejected < SURE or not evidence.message.said:
        return False
    rule = match(evidence)
    if rule.override.certain:
        return rule.verdict.gate == "ok" and opinion.rejected >= DOUBTFUL
    return not evidence.is_answer_to_question


def abstaining(evidence: Evidence, opinion: Opinion) -> Opinion:
    """Return the opinion, with an improbable rejection converted to neutral.

    If the message answers a bare question of the agent, any rejection below SURE is converted.
    """
    if opinion.feedback != "rejected" or opinion.rejected >= SURE:
        return opinion
    unsaid = opinion.rejected < LIKELY or (evidence.is_answer_to_question and not match(evidence).override.certain)
    return opinion.without_rejection() if unsaid else opinion
