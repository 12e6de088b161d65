"""Evidence on a message: its text, the answer and the request before it, and the patterns that match."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from detector.addressing import Exchange
from detector.encoders.embedder import Embedder
from detector.language import own_language
from detector.patterns import Kinds, Pattern, agent_kinds, human_hits
from detector.requests import asks_otherwise
from detector.text import Prepared, prepare
from detector.words import names_in

#: Similarity above which a message may repeat the request, as given by the specification.
REPHRASED_ABOVE: Final = 0.8
#: Maximum number of words of a short reply such as "yes, please".
REPLY_WORDS: Final = 8
#: Agreement with another person ("same here"), or a mention of the agent.
_JOINS: Final = re.compile(
    r"\b(?:same (?:here|for me|with me|problem)|me too|for me too|(?:is|are|'s) right[,. ]|i agree|agreed"
    r"|the (?:bot|assistant|agent|ai)|bei mir auch|der (?:bot|assistent)|moi aussi|le bot|a mí también|el bot)\b|\+1\b"
)
#: Pronouns that refer to the preceding message.
_THAT: Final = re.compile(r"\b(?:that|that's|thats|this|it|it's|its|das|dies|es|c'est|ça|cela|eso|esto|está)\b")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Facts about a person's message and the preceding answer.

    Attributes:
        matches: Patterns that match the message.
        kinds: Kinds of the patterns that match the message.
        answer_kinds: Kinds of the patterns that match the answer.
        similarity: Cosine of message and previous request, in [0, 1].
        answer_similarity: Cosine of message and answer, in [0, 1].
        silence: Microseconds between the answer and the message.
        language: Language of the message.
        answered: True if the message is addressed to an answer.
    """

    message: Prepared
    request: Prepared
    answer: Prepared
    matches: tuple[Pattern, ...]
    kinds: Kinds
    answer_kinds: Kinds
    similarity: float = 0.0
    answer_similarity: float = 0.0
    silence: int = 0
    language: str = "en"
    answered: bool = True

    @property
    def is_short(self) -> bool:
        """True if the message has at most `REPLY_WORDS` words."""
        return len(self.message.words) <= REPLY_WORDS

    @property
    def asks_openly(self) -> bool:
        """True if the agent asks a question without suggesting anything, so that a "no" is just an answer.

        A request for confirmation and "anything else?" do not count.
        """
        return "agent_asks" in self.answer_kinds and self.answer_kinds.isdisjoint(
            {"agent_confirms", "agent_closes", "agent_suggests"}
        )

    @property
    def repeats_request(self) -> bool:
        """True if the message asks for the same as the previous request, in the same or other words."""
        return self.similarity > REPHRASED_ABOVE and not self.asks_otherwise

    @property
    def asks_otherwise(self) -> bool:
        """True if the message asks for something other than the request, in similar words (see `requests`)."""
        return asks_otherwise(self.message, self.request, self.answer)

    @property
    def takes_up_answer(self) -> bool:
        """True if the message builds on the answer, i.e. contains words of the answer that are not in the request."""
        return bool((self.message.content - self.request.content) & self.answer.content)


def evidence_of(exchanges: list[Exchange], embedder: Embedder) -> list[Evidence]:
    """Return the evidence on each exchange, in order."""
    texts = list(dict.fromkeys(text for x in exchanges for text in (x.message.text, x.request, x.answer)))
    vectors = dict(zip(texts, embedder.embed(texts).astype(np.float64), strict=True))

    def cosine(left: str, right: str) -> float:
        return round(min(1.0, max(0.0, float(vectors[left] @ vectors[right]))), 6)

    evidence = []
    for x in exchanges:
        message, answer = prepare(x.message.text), prepare(x.answer)
        language = language_of(x)
        hits = human_hits(message, language)
        kinds = frozenset(pattern.kind for pattern in hits)
        evidence.append(
            Evidence(
                message,
                prepare(x.request),
                answer,
                hits,
                kinds,
                agent_kinds(answer, language),
                cosine(x.message.text, x.request),
                cosine(x.message.text, x.answer),
                x.silence,
                language,
                x.answered is not None and _is_for_agent(x, message, answer, kinds, language),
            )
        )
    return evidence


def language_of(x: Exchange) -> str:
    """Return the language of a message.

    If the message is too short to identify, the language of the answer is used, then that of the request, then English.
    """
    for text in (x.message.text, x.answer, x.request):
        prepared = prepare(text)
        if text and (language := own_language(prepared.text, prepared.words)):
            return language
    return "en"


def _is_for_agent(x: Exchange, message: Prepared, answer: Prepared, kinds: Kinds, language: str) -> bool:
    """Return True if the message is meant for the agent and not for another person.

    A message that may be meant for another person (see `Address.own` and `Address.aside`) must clearly refer to the
    answer. A question never does, because it asks for another answer.
    """
    if x.address.own and x.aside is None:
        return True
    if "cue_ask" in kinds:
        return False
    aside = prepare(x.aside).content if x.aside else frozenset[str]()
    if (names_in(message.content, language) & answer.content) - aside or _JOINS.search(message.text):
        return True
    return x.aside is None and "reject" in kinds and _THAT.search(message.text) is not None
