"""Evidence for the deciders: the judged message, the answer and request before it, and the patterns that match each."""

from __future__ import annotations

from dataclasses import dataclass

from detector.intent import Sameness
from detector.patterns import Kind, Pattern
from detector.text import Prepared


@dataclass(frozen=True, slots=True)
class Evidence:
    """Input of a decision.

    `similarity` is the cosine of message and previous request in [0, 1]; the other similarities are those of message
    and answer, and of request and answer. `same_intent` is the probability that message and request have the same
    intent. `silence` is the time since the agent's message in microseconds, 0 if the clock went backwards. `sentences`
    compares message and request by sentence vectors, if they were compared. `language` is the message's. `answered` is
    False if the message is not addressed to an answer.
    """

    message: Prepared
    request: Prepared
    answer: Prepared
    found: tuple[Pattern, ...]
    kinds: frozenset[Kind]
    answer_kinds: frozenset[Kind]
    similarity: float = 0.0
    answer_similarity: float = 0.0
    request_answer_similarity: float = 0.0
    same_intent: float = 0.0
    silence: int = 0
    language: str = "en"
    answered: bool = True
    sentences: Sameness | None = None

    @property
    def sameness(self) -> Sameness:
        """Return the similarity of message and previous request, by sentence vectors if available, else by words."""
        return self.sentences or Sameness(self.similarity, self.same_intent)

    @property
    def relatedness(self) -> float:
        """Return the similarity of the message to the exchange before it, in [0, 1]."""
        return max(self.similarity, self.answer_similarity)

    def names(self, *wanted: Kind) -> tuple[str, ...]:
        """Return the names of the message's patterns of the given kinds."""
        return tuple(p.name for p in self.found if p.kind in wanted)
