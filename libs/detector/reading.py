"""Convert messages and their answers to evidence, the input of the rules.

Each text in a batch is prepared, matched and embedded only once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from detector.addressing import Exchange
from detector.encoders.embedder import Embedder, Vectors, WordLlamaEmbedder, WordVectors
from detector.evidence import Evidence
from detector.intent import Asked, IntentModel, distinct
from detector.language import own_language
from detector.patterns import Kind, Pattern, agent_hits, human_hits, kinds
from detector.text import Prepared, prepare
from detector.vocabulary import JUDGING, TOPICLESS

#: Limits of the cache, in texts and characters. It saves work because a conversation's messages recur in later batches.
REMEMBERED: Final = 16_384
REMEMBERED_LENGTH: Final = 8_000_000
#: Agreement with another person ("same here"), or a mention of the agent.
_JOINS: Final = re.compile(
    r"\b(?:same (?:here|for me|with me|problem)|me too|for me too|(?:is|are|'s) right[,. ]|i agree|agreed"
    r"|the (?:bot|assistant|agent|ai)|bei mir auch|der (?:bot|assistent)|moi aussi|le bot|a mí también|el bot)\b|\+1\b"
)
#: Pronouns that refer to the preceding message.
_THAT: Final = re.compile(r"\b(?:that|that's|thats|this|it|it's|its|das|dies|es|c'est|ça|cela|eso|esto|está)\b")
#: Minimum cosine of two requests with intents that are compared. Below it, the probability of the same intent is 0.
WORTH_ALIGNING: Final = 0.6


@dataclass(frozen=True, slots=True)
class Read:
    """Evidence and vectors for a batch of exchanges.

    `messages` and `answers` contain one vector per exchange. The vector of any text in the batch is
    `vectors[place[text]]`.
    """

    exchanges: tuple[Exchange, ...]
    evidence: tuple[Evidence, ...]
    messages: Vectors
    answers: Vectors
    place: dict[str, int]
    vectors: Vectors


class _Preparations(dict[str, Prepared]):
    """Cache of prepared texts that prepares a missing text on first access."""

    def __missing__(self, text: str) -> Prepared:
        known = self[text] = prepare(text)
        return known


class Reader:
    """Converter of exchanges to evidence that caches its results for each text.

    A full cache is emptied. The reader can also be used as a caching `Embedder`.
    """

    def __init__(self, embedder: Embedder, intent: IntentModel | None = None) -> None:
        self.embedder = embedder
        self._intent = intent
        self._prepared = _Preparations()
        self.prepared: Callable[[str], Prepared] = self._prepared.__getitem__
        self._found: dict[tuple[str, str], tuple[tuple[Pattern, ...], frozenset[Kind]]] = {}
        self._agent: dict[tuple[str, str], frozenset[Kind]] = {}
        self._languages: dict[str, str | None] = {}
        self._place: dict[str, int] = {}
        self._length = 0
        self._vectors: Vectors = np.zeros((0, embedder.dimension), dtype=np.float32)

    def read(self, exchanges: Sequence[Exchange]) -> Read:
        """Return the evidence for each exchange, in order. New texts are embedded in a single call."""
        texts = dict.fromkeys(text for x in exchanges for text in (x.message.text, x.request, x.answer))
        texts.update(dict.fromkeys(c.text for x in exchanges for c in x.candidates))
        self._learn(texts)
        place, vectors = self._place, self._vectors
        messages = vectors[[place[x.message.text] for x in exchanges]]
        requests = vectors[[place[x.request] for x in exchanges]]
        answers = vectors[[place[x.answer] for x in exchanges]]
        alike = np.stack([_cosine(messages, requests), _cosine(messages, answers), _cosine(requests, answers)], axis=1)
        evidence = tuple(self._evidence(x, row) for x, row in zip(exchanges, alike.tolist(), strict=True))
        return Read(tuple(exchanges), evidence, messages, answers, place, vectors)

    @property
    def name(self) -> str:
        """Name of the embedder."""
        return self.embedder.name

    @property
    def dimension(self) -> int:
        """Number of components of a vector."""
        return self.embedder.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of the texts as an array of shape (len(texts), dimension), using the cache."""
        self._learn(dict.fromkeys(texts))
        return self._vectors[[self._place[text] for text in texts]]

    def _learn(self, texts: Collection[str]) -> None:
        """Embed the texts that are not cached yet. The cache is emptied first if it would exceed its limits."""
        fresh = [text for text in texts if text not in self._place]
        length = sum(map(len, fresh))
        if len(self._place) + len(fresh) > REMEMBERED or self._length + length > REMEMBERED_LENGTH:
            for memory in (self._prepared, self._found, self._agent, self._languages, self._place):
                memory.clear()
            fresh, self._length = list(texts), 0
            length = sum(map(len, fresh))
        self._length += length
        count = len(self._place)
        if count + len(fresh) > len(self._vectors):
            grown = np.zeros((max(count + len(fresh), 2 * len(self._vectors)), self.embedder.dimension), np.float32)
            grown[:count] = self._vectors[:count]
            self._vectors = grown
        if fresh:
            self._vectors[count : count + len(fresh)] = self._embed(fresh)
            self._place.update(zip(fresh, range(count, count + len(fresh)), strict=True))

    def _embed(self, texts: list[str]) -> Vectors:
        if isinstance(self.embedder, WordLlamaEmbedder):
            return self.embedder.embed_words([self.prepared(t).words for t in texts])
        return self.embedder.embed(texts)

    def _evidence(self, x: Exchange, alike: list[float]) -> Evidence:
        language = self._language(x)
        found, found_kinds = self._hits(x.message.text, language)
        message, request = self.prepared(x.message.text), self.prepared(x.request)
        return Evidence(
            message=message,
            request=request,
            answer=self.prepared(x.answer),
            found=found,
            kinds=found_kinds,
            answer_kinds=self._agent_kinds(x.answer, language),
            similarity=alike[0],
            answer_similarity=alike[1],
            request_answer_similarity=alike[2],
            same_intent=self._same_intent(message, request, alike[0]),
            silence=x.silence,
            language=language,
            answered=x.answered is not None and self._meant(x, language, found_kinds),
        )

    def _meant(self, x: Exchange, language: str, found: frozenset[Kind]) -> bool:
        """Return True if the message is meant for the agent and not for another person.

        See `Address.own` and `Address.aside` for messages that may be meant for another person.
        """
        if x.address.own and x.aside is None:
            return True
        aside = None if x.aside is None else self.prepared(x.aside)
        return _speaks_of(self.prepared(x.message.text), language, found, self.prepared(x.answer), aside)

    def _same_intent(self, message: Prepared, request: Prepared, cosine: float) -> float:
        """Return the probability that the message and the request before it have the same intent.

        Falls back to `cosine` if there are no word vectors or no intent model.
        """
        if self._intent is None or not isinstance(self.embedder, WordLlamaEmbedder):
            return cosine
        return self._compared(message, request, self.embedder.words) if cosine >= WORTH_ALIGNING else 0.0

    def same_intent(self, left: str, right: str) -> float:
        """Return the probability in [0, 1] that two requests have the same intent.

        Falls back to the cosine of the requests if there are no word vectors or no intent model.
        """
        if self._intent is None or not isinstance(self.embedder, WordLlamaEmbedder):
            vectors = self.embedder.embed([left, right])
            return float(_cosine(vectors[:1], vectors[1:])[0])
        return self._compared(prepare(left), prepare(right), self.embedder.words)

    def _compared(self, left: Prepared, right: Prepared, words: WordVectors) -> float:
        assert self._intent is not None
        first, second = distinct(left.words), distinct(right.words)
        rows = words.rows([first, second])
        return self._intent.same(Asked(first, words.matrix[rows[0]]), Asked(second, words.matrix[rows[1]]))

    def _language(self, x: Exchange) -> str:
        """Return the language of the message.

        If the message is too short to identify, the language of the answer is used, then that of the request, then
        English.
        """
        for text in (x.message.text, x.answer, x.request):
            if text and (language := self._spoken(text)):
                return language
        return "en"

    def _spoken(self, text: str) -> str | None:
        if text not in self._languages:
            prepared = self.prepared(text)
            self._languages[text] = own_language(prepared.text, prepared.words)
        return self._languages[text]

    def _hits(self, text: str, language: str) -> tuple[tuple[Pattern, ...], frozenset[Kind]]:
        known = self._found.get((text, language))
        if known is None:
            found = human_hits(self.prepared(text), language)
            known = self._found[text, language] = (found, kinds(found))
        return known

    def _agent_kinds(self, text: str, language: str) -> frozenset[Kind]:
        known = self._agent.get((text, language))
        if known is None:
            known = self._agent[text, language] = kinds(agent_hits(self.prepared(text), language))
        return known


def _speaks_of(
    message: Prepared, language: str, kinds: frozenset[Kind], answer: Prepared, aside: Prepared | None
) -> bool:
    """Return True if a message that may be meant for another person clearly refers to `answer`.

    A question never does, because it asks for another answer.

    Args:
        message: The person's message.
        language: The language of the message.
        kinds: The kinds of patterns that match the message.
        answer: The agent's answer.
        aside: Another person's message after the answer, if any.
    """
    if "cue_ask" in kinds:
        return False
    shared = (message.content - TOPICLESS.get(language, JUDGING)) & answer.content
    if shared - (aside.content if aside else frozenset()) or _JOINS.search(message.text):
        return True
    return aside is None and "reject" in kinds and _THAT.search(message.text) is not None


def _cosine(left: Vectors, right: Vectors) -> Vectors:
    """Return the cosine of each pair of rows, clamped to [0, 1].

    Cosines are rounded, so that they do not depend on the other texts in the batch.
    """
    product = np.einsum("ij,ij->i", left, right, dtype=np.float64)
    rounded: Vectors = np.round(np.clip(product, 0.0, 1.0), 6)
    return rounded
