"""Second judgement of likely rejections, with a sentence vector of the message.

It takes ten times as long as the first judgement, so it is limited to messages with a verdict that it may change.
Rejections that are not judged again become neutral if they are improbable, or if they are doubtful and the message
answers the agent's question.
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
#: Probability from which a rejection is not judged again. Above it, the second judgement also removed correct ones.
SURE: Final = 0.9
#: Minimum probability of a rejection that causes a rule's approval to be judged again.
DOUBTFUL: Final = 0.7


@dataclass(frozen=True)
class SecondLook:
    """Sentence encoder and the learned layer that was trained on its vectors.

    Raises ValueError if the layer was trained with another encoder.
    """

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
        """Return the opinions, with the second layer's opinion for messages that were judged again.

        Rows of `evidence`, `opinions`, `known` and `answers` correspond. `known` has the features, `answers` the
        vectors of the answers.
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
        """Return the vectors of the messages, shape (len(evidence), dimension). Each distinct text is embedded once."""
        places = {text: place for place, text in enumerate(dict.fromkeys(one.message.said for one in evidence))}
        vectors = self.encoder.embed(list(places))
        return vectors[[places[one.message.said] for one in evidence]]


def worth_a_look(evidence: Evidence, opinion: Opinion) -> bool:
    """Return True if a second judgement may change the verdict on the message."""
    if not LIKELY <= opinion.rejected < SURE or not evidence.message.said:
        return False
    rule = match(evidence)
    if rule.override.certain:
        return rule.verdict.gate == "ok" and opinion.rejected >= DOUBTFUL
    return not evidence.is_answer_to_question


def abstaining(evidence: Evidence, opinion: Opinion) -> Opinion:
    """Return the opinion, changed to neutral if its rejection is improbable (below LIKELY).

    If the message answers a short question of the agent and no rule decides alone, a rejection below SURE is changed to
    neutral, too.
    """
    if opinion.feedback != "rejected" or opinion.rejected >= SURE:
        return opinion
    unsaid = opinion.rejected < LIKELY or (evidence.is_answer_to_question and not match(evidence).override.certain)
    return opinion.without_rejection() if unsaid else opinion
