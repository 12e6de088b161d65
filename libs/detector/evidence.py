"""Input of the rules: a person's message, the answer and the request before it, and the patterns that match."""

from __future__ import annotations

from dataclasses import dataclass

from detector.intent import Sameness
from detector.patterns import Kind, Pattern
from detector.text import Prepared
from detector.vocabulary import (
    LESS,
    LONG_ANSWER,
    MORE,
    PLAIN_REJECTION,
    QUESTION_WORDS,
    REPHRASED_ABOVE,
    REPLY_WORDS,
    SAME_INTENT,
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Facts about a person's message and the preceding answer on which the verdict is based.

    Attributes:
        found: Patterns that match the message.
        kinds: Kinds of the patterns that match the message.
        answer_kinds: Kinds of the patterns that match the answer.
        similarity: Cosine of message and previous request, in [0, 1].
        answer_similarity: Cosine of message and answer, in [0, 1].
        request_answer_similarity: Cosine of request and answer, in [0, 1].
        same_intent: Probability that message and request have the same intent.
        silence: Microseconds between the answer and the message, or 0 if the clock went backwards.
        language: Language of the message.
        answered: True if the message is addressed to an answer.
        sentences: Comparison of message and request by sentence vectors, or None if they were not compared.
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
        """Similarity of the message to the previous request.

        Based on sentence vectors if available, otherwise on word vectors.
        """
        return self.sentences or Sameness(self.similarity, self.same_intent)

    @property
    def relatedness(self) -> float:
        """The higher of the similarities to the previous request and to the answer, in [0, 1]."""
        return max(self.similarity, self.answer_similarity)

    @property
    def is_readable(self) -> bool:
        """True if the learned layer can judge the message.

        The message must be in English, contain words or an error message, and be addressed to an answer.
        """
        return self.answered and not self.message.empty and self.language == "en"

    @property
    def is_short(self) -> bool:
        """True if the message has at most `REPLY_WORDS` words."""
        return len(self.message.words) <= REPLY_WORDS

    @property
    def has_long_answer(self) -> bool:
        """True if the answer contains a code block, or at least `LONG_ANSWER` words outside of code."""
        return self.answer.coded or len(self.answer.words) >= LONG_ANSWER

    @property
    def asks_something(self) -> bool:
        """True if the agent asks a question, other than a request for confirmation or "anything else?"."""
        return "agent_asks" in self.answer_kinds and not {"agent_confirms", "agent_closes"} & self.answer_kinds

    @property
    def asks_openly(self) -> bool:
        """True if the agent asks a question without suggesting anything, so that a "no" is just an answer.

        After a suggestion ("How about this one?"), a "no" is a rejection.
        """
        return self.asks_something and "agent_suggests" not in self.answer_kinds

    @property
    def asks_only(self) -> bool:
        """True if the agent's message is little more than a question, so that a reply is an answer to it."""
        return self.asks_something and len(self.answer.words) <= QUESTION_WORDS

    @property
    def is_answer_to_question(self) -> bool:
        """True if the message answers a short question of the agent and contains no explicit rejection."""
        return self.asks_only and not PLAIN_REJECTION & self.kinds

    @property
    def is_alike(self) -> bool:
        """True if the message is similar enough to the previous request to be a repetition of it.

        Its similarity must exceed REPHRASED_ABOVE, and the probability of the same intent must be at least SAME_INTENT.
        """
        similarity, same_intent = self.sentences or (self.similarity, self.same_intent)
        return similarity > REPHRASED_ABOVE and same_intent >= SAME_INTENT

    @property
    def has_other_detail(self) -> bool:
        """True if the message repeats the previous request with a different detail.

        The detail may be another number, "under" instead of "over", or "Rome" instead of "Paris" after an answer about
        Paris.
        """
        left_out = self.request.content - self.message.content
        return (
            self._has_other_number
            or self._has_opposite
            or (bool(left_out & self.answer.content) and self.has_swapped_words)
        )

    @property
    def has_swapped_words(self) -> bool:
        """True if the message replaces some content words of the request.

        It must keep at least half of them, drop at least one, and add one or two new ones.
        """
        asked, said = self.request.content, self.message.content
        fresh = said - asked
        return bool(fresh and asked - said and len(fresh) <= 2 and 2 * len(asked & said) >= len(asked))

    @property
    def takes_up_answer(self) -> bool:
        """True if the message builds on the answer, i.e. contains words of the answer that are not in the request."""
        return bool((self.message.content - self.request.content) & self.answer.content)

    @property
    def _has_other_number(self) -> bool:
        asked, said = self.request.numbers, self.message.numbers
        return bool(asked - said and said - asked)

    @property
    def _has_opposite(self) -> bool:
        """True if the request has a word that means "less" and the message one that means "more", or vice versa.

        Words that occur in both texts are ignored.
        """
        asked, said = frozenset(self.request.words), frozenset(self.message.words)
        only_asked, only_said = asked - said, said - asked
        return bool((only_asked & LESS and only_said & MORE) or (only_asked & MORE and only_said & LESS))
