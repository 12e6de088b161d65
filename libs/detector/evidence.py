"""Evidence for the deciders: the judged message, the answer and request before it, and the patterns that match each."""

from __future__ import annotations

from dataclasses import dataclass

from detector.intent import Sameness
from detector.patterns import Kind, Pattern
from detector.text import Prepared
from detector.vocabulary import LESS, MORE, PLAIN_REJECTION, QUESTION_WORDS, REPHRASED_ABOVE, REPLY_WORDS, SAME_INTENT


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

    @property
    def is_readable(self) -> bool:
        """Return True if the learned layer reads the message: in English, with words, about an answer."""
        return self.answered and not self.message.empty and self.language == "en"

    @property
    def is_short(self) -> bool:
        """Return True for at most `REPLY_WORDS` words."""
        return len(self.message.words) <= REPLY_WORDS

    @property
    def asks_something(self) -> bool:
        """Return True if the agent asks a question: not for confirmation, and not "anything else?"."""
        return "agent_asks" in self.answer_kinds and not {"agent_confirms", "agent_closes"} & self.answer_kinds

    @property
    def asks_openly(self) -> bool:
        """Return True if the agent's question is not a suggestion: "no" to "How about this one?" rejects it."""
        return self.asks_something and "agent_suggests" not in self.answer_kinds

    @property
    def asks_only(self) -> bool:
        """Return True if the agent's message is little more than a question, so that the next message answers it."""
        return self.asks_something and len(self.answer.words) <= QUESTION_WORDS

    @property
    def is_answer_to_question(self) -> bool:
        """Return True if the message answers a bare question of the agent without an explicit rejection."""
        return self.asks_only and not PLAIN_REJECTION & self.kinds

    @property
    def is_alike(self) -> bool:
        """Return True if the message may be the previous request, by similarity and intent."""
        similarity, same_intent = self.sentences or (self.similarity, self.same_intent)
        return similarity > REPHRASED_ABOVE and same_intent >= SAME_INTENT

    @property
    def has_other_detail(self) -> bool:
        """Return True if the message asks the same about something else.

        Examples are another number, "under" for "over", and "Rome" for "Paris" if the answer was about Paris.
        """
        left_out = self.request.content - self.message.content
        return (
            self._has_other_number
            or self._has_opposite
            or (bool(left_out & self.answer.content) and self.has_swapped_words)
        )

    @property
    def has_swapped_words(self) -> bool:
        """Return True if the message has most words of the request, with one or two replaced."""
        asked, said = self.request.content, self.message.content
        fresh = said - asked
        return bool(fresh and asked - said and len(fresh) <= 2 and 2 * len(asked & said) >= len(asked))

    @property
    def takes_up_answer(self) -> bool:
        """Return True if the message has words of the answer that the request lacks: it builds on the answer."""
        return bool((self.message.content - self.request.content) & self.answer.content)

    @property
    def _has_other_number(self) -> bool:
        asked, said = self.request.numbers, self.message.numbers
        return bool(asked - said and said - asked)

    @property
    def _has_opposite(self) -> bool:
        """Return True if one side has a comparison or negation and the other its opposite."""
        asked, said = frozenset(self.request.words), frozenset(self.message.words)
        only_asked, only_said = asked - said, said - asked
        return bool((only_asked & LESS and only_said & MORE) or (only_asked & MORE and only_said & LESS))
