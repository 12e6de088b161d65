"""Input of the rules: the judged message, the answer and request before it, and the patterns that match them."""

from __future__ import annotations

from dataclasses import dataclass

from detector.intent import Sameness
from detector.patterns import Kind, Pattern
from detector.text import Prepared
from detector.vocabulary import LESS, MORE, PLAIN_REJECTION, QUESTION_WORDS, REPHRASED_ABOVE, REPLY_WORDS, SAME_INTENT


@dataclass(frozen=True, slots=True)
class Evidence:
    """Facts about one exchange that decide its verdict.

    - `found`: patterns that match the message; `kinds`: their kinds; `answer_kinds`: kinds that match the answer.
    - `similarity`: cosine of message and previous request; `answer_similarity`: of message and answer;
      `request_answer_similarity`: of request and answer. Each is in [0, 1].
    - `same_intent`: probability that message and request have the same intent.
    - `sentences`: comparison of message and request by sentence vectors; None if they were not compared.
    - `silence`: microseconds from the answer to the message; 0 if the clock went backwards.
    - `language`: language of the message.
    - `answered`: True if the message is addressed to an answer.
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
        """Similarity of message and previous request, by sentence vectors if available, otherwise by word vectors."""
        return self.sentences or Sameness(self.similarity, self.same_intent)

    @property
    def relatedness(self) -> float:
        """Similarity of the message to the previous request or to the answer, whichever is higher, in [0, 1]."""
        return max(self.similarity, self.answer_similarity)

    @property
    def is_readable(self) -> bool:
        """True if the learned layer can read the message: it is in English, has words, and is about an answer."""
        return self.answered and not self.message.empty and self.language == "en"

    @property
    def is_short(self) -> bool:
        """True if the message has at most `REPLY_WORDS` words."""
        return len(self.message.words) <= REPLY_WORDS

    @property
    def asks_something(self) -> bool:
        """True if the agent asks a question, other than for a confirmation or "anything else?"."""
        return "agent_asks" in self.answer_kinds and not {"agent_confirms", "agent_closes"} & self.answer_kinds

    @property
    def asks_openly(self) -> bool:
        """True if the agent asks a question that makes no suggestion.

        A "no" to a suggestion ("How about this one?") would be a rejection.
        """
        return self.asks_something and "agent_suggests" not in self.answer_kinds

    @property
    def asks_only(self) -> bool:
        """True if the agent's message is short and asks a question, so that the next message answers it."""
        return self.asks_something and len(self.answer.words) <= QUESTION_WORDS

    @property
    def is_answer_to_question(self) -> bool:
        """True if the message answers a short question of the agent and contains no explicit rejection."""
        return self.asks_only and not PLAIN_REJECTION & self.kinds

    @property
    def is_alike(self) -> bool:
        """True if the message is similar enough to the previous request to be a repetition of it.

        Both the similarity and the probability of the same intent must exceed their limits.
        """
        similarity, same_intent = self.sentences or (self.similarity, self.same_intent)
        return similarity > REPHRASED_ABOVE and same_intent >= SAME_INTENT

    @property
    def has_other_detail(self) -> bool:
        """True if the message makes the same request about something else.

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
        """True if the message has most words of the request, and replaces the others by one or two different words."""
        asked, said = self.request.content, self.message.content
        fresh = said - asked
        return bool(fresh and asked - said and len(fresh) <= 2 and 2 * len(asked & said) >= len(asked))

    @property
    def takes_up_answer(self) -> bool:
        """True if the message contains words of the answer that are not in the request.

        Such a message builds on the answer.
        """
        return bool((self.message.content - self.request.content) & self.answer.content)

    @property
    def _has_other_number(self) -> bool:
        asked, said = self.request.numbers, self.message.numbers
        return bool(asked - said and said - asked)

    @property
    def _has_opposite(self) -> bool:
        """True if the request has a word for less and the message a word for more, or the other way round.

        Words that are in both texts do not count.
        """
        asked, said = frozenset(self.request.words), frozenset(self.message.words)
        only_asked, only_said = asked - said, said - asked
        return bool((only_asked & LESS and only_said & MORE) or (only_asked & MORE and only_said & LESS))
