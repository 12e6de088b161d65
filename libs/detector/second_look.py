"""Judge likely rejections a second time, using sentence vectors.

The second judgement takes ten times as long as the first, so it is limited to messages whose verdict it may change.
Afterwards, an improbable rejection becomes neutral. A doubtful one also becomes neutral if the message answers the
agent's question.
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
    """Second judgement by a learned layer that was trained on vectors of a sentence encoder.

    Raises:
        ValueError: The layer was trained on another encoder.
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
        """Return the opinions on all messages after judging some of the messages a second time.

        All arguments have one entry or row per message.

        Args:
            evidence: The evidence.
            opinions: The first opinions, or None for messages without one.
            known: The features.
            answers: The vectors of the answers.
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
        """Return the vectors of the messages, as an array of shape (len(evidence), dimension).

        Messages with the same text are embedded only once.
        """
        places = {text: place for place, text in enumerate(dict.fromkeys(one.message.said for one in evidence))}
        vectors = self.encoder.embed(list(places))
        return vectors[[places[one.message.said] for one in evidence]]


def worth_a_look(evidence: Evidence, opinion: Opinion) -> bool:
    """Return True if judging the message a second time may change its verdict."""
    if not LIKELY <= opinion.rejected < SURE or not evidence.message.said:
        return False
    rule = match(evidence)
    if rule.override.certain:
        return rule.verdict.gate == "ok" and opinion.rejected >= DOUBTFUL
    return not evidence.is_answer_to_question


def abstaining(evidence: Evidence, opinion: Opinion) -> Opinion:
    """Return the opinion, with an improbable rejection replaced by "no feedback".

    A rejection is improbable if its probability is below LIKELY. The limit is SURE if the message answers a short
    question of the agent and no rule decides alone.
    """
    if opinion.feedback != "rejected" or opinion.rejected >= SURE:
        return opinion
    unsaid = opinion.rejected < LIKELY or (evidence.is_answer_to_question and not match(evidence).override.certain)
    return opinion.without_rejection() if unsaid else opinion
