"""Composition of the detector: turns a batch of neighbourhoods into verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from contracts.announcement_threshold import ANNOUNCEMENT_THRESHOLD
from detector import features
from detector.encoders.embedder import Embedder, SentenceEncoder, WordLlamaEmbedder
from detector.evidence import Evidence
from detector.exchange import Exchange
from detector.intent import IntentModel
from detector.learned import SENTENCE_WEIGHTS, Layer, Opinion
from detector.location import TOP_K, likeness, locate, place_at
from detector.model import NEIGHBOURHOOD, Feedback, Neighbourhood, Reaction, Target, Verdict
from detector.reading import Read, Reader
from detector.referring import named_alone, names_in, points_back, restates, revises, topics_of
from detector.rewording import Rewordings, Scale
from detector.rules import Decision, decide
from detector.second_look import SecondLook
from detector.version import version

#: Maximum length of a message that a verdict quotes.
QUOTE: Final = 10_000

_REACTION: Final[dict[Feedback, Reaction | None]] = {"rejected": "not_ok", "accepted": "ok", "neutral": None}


class JudgedExchange(NamedTuple):
    """Exchange with its evidence, the learned layer's opinion and the decision."""

    exchange: Exchange
    evidence: Evidence
    opinion: Opinion | None
    decision: Decision


class Detector:
    """Judge of human messages. A pure function of its input: no clock, no randomness, no network.

    `layer`: None means rules and gate only. A layer needs vectors of the embedder that it was trained with, and reads
    English only. `rewordings` compares requests and `second` judges likely rejections by sentence vectors; None means
    word vectors. `version`: see `contracts.detectors`.
    """

    def __init__(
        self,
        embedder: Embedder,
        layer: Layer | None = None,
        intent: IntentModel | None = None,
        rewordings: Rewordings | None = None,
        second: SecondLook | None = None,
    ) -> None:
        if layer is not None and layer.embedder != embedder.name:
            raise ValueError(f"the learned layer was taught with {layer.embedder!r}, not with {embedder.name!r}")
        self._reader = Reader(embedder, intent)
        self._layer = layer
        self._rewordings = rewordings
        self._second = second
        self._encoder = rewordings.encoder_name if rewordings else None
        parts = (
            embedder.name,
            layer.embedder if layer else "",
            "second" if second else "",
            f"{ANNOUNCEMENT_THRESHOLD}",
        )
        self.version: str = version(parts, encoder=self._encoder)

    @property
    def embedder(self) -> Embedder:
        """Return the embedder, which caches the sentence vectors of judged messages."""
        return self._reader

    @classmethod
    def default(cls, encoder: SentenceEncoder | None = None) -> Detector:
        """Return a detector with WordLlama vectors and the committed weights. Loading takes about half a second.

        `encoder` compares requests. It also judges likely rejections again if the weights were trained with it.
        """
        if encoder is None:
            return cls(WordLlamaEmbedder(), Layer.load(), IntentModel.load())
        layer = Layer.load(SENTENCE_WEIGHTS)
        reader = encoder.early
        second = SecondLook(reader, layer) if reader and layer.embedder == reader.name else None
        return cls(WordLlamaEmbedder(), Layer.load(), IntentModel.load(), Rewordings(encoder, Scale.load()), second)

    @classmethod
    def rules_only(cls) -> Detector:
        """Return a detector without the learned layer."""
        return cls(WordLlamaEmbedder(), intent=IntentModel.load())

    def judge(self, items: Sequence[Neighbourhood]) -> list[Verdict]:
        """Return one verdict per item, in the same order."""
        judged = self._judge([Exchange.of(item) for item in items])
        older = self._older(judged)
        return [self._verdict(*older.get(row, (one, None))) for row, one in enumerate(judged)]

    def locate(self, item: Neighbourhood, top_k: int = TOP_K) -> tuple[Target, ...]:
        """Return the agent messages that a message is most probably about, best first, whatever its verdict."""
        x = Exchange.of(item)
        return self._ranked(x, self._reader.read([x]).evidence[0], top_k)

    def target(self, item: Neighbourhood, message_id: str | None = None) -> Target | None:
        """Return the agent message that feedback is about: `message_id`'s if given, else the most probable one."""
        [judged] = self._judge([Exchange.of(item)])
        if message_id is not None:
            ranked = self._ranked(judged.exchange, judged.evidence, NEIGHBOURHOOD)
            return next((one for one in ranked if one.message_id == message_id), None)
        named = self._named_alone(judged)
        return named[0] if named else _addressed(judged)

    def same_intent(self, left: str, right: str) -> float:
        """Return the probability in [0, 1] that two requests have the same intent."""
        return (self._rewordings or self._reader).same_intent(left, right)

    def _judge(self, exchanges: Sequence[Exchange]) -> list[JudgedExchange]:
        if not exchanges:
            return []
        read = self._reader.read(exchanges)
        if self._rewordings is not None:
            read = replace(read, evidence=self._rewordings.compared(read.evidence))
        opinions = self._opinions(read)
        return [
            JudgedExchange(x, evidence, opinion, decide(evidence, opinion))
            for x, evidence, opinion in zip(exchanges, read.evidence, opinions, strict=True)
        ]

    def _opinions(self, read: Read) -> list[Opinion | None]:
        """Return the learned layer's opinion of each exchange, None if it is in no language that the layer reads."""
        if self._layer is None:
            return [None] * len(read.evidence)
        known = features.matrix(read.evidence)
        found: list[Opinion] = self._layer.opinions(known, read.messages, read.answers)
        opinions = [o if _readable(e) else None for o, e in zip(found, read.evidence, strict=True)]
        return self._second.revised(read.evidence, opinions, known, read.answers) if self._second else opinions

    def _older(self, judged: Sequence[JudgedExchange]) -> dict[int, tuple[JudgedExchange, Target]]:
        """Judge messages that name an older answer against that answer; return verdicts and targets by row.

        Rows without such an answer, with other feedback on it, or settled before (`_settled_before`) are left out.
        """
        named = {
            row: found
            for row, one in enumerate(judged)
            if one.decision.look_back and one.decision.feedback != "neutral"
            if (found := self._named_alone(one)) is not None
        }
        if not named:
            return {}
        again = self._judge([judged[row].exchange.about(target.message_id) for row, (target, _) in named.items()])
        earlier = [one.exchange.next_word() for one in again]
        said = iter(self._judge([one for one in earlier if one is not None]))
        spoken = [next(said).decision if one is not None else None for one in earlier]
        return {
            row: (one if one.decision.feedback == "rejected" else judged[row], target)
            for (row, (target, names)), one, before in zip(named.items(), again, spoken, strict=True)
            if one.decision.feedback == judged[row].decision.feedback
            if not _settled_before(one.decision, before, names)
        }

    def _named_alone(self, one: JudgedExchange) -> tuple[Target, int] | None:
        """Return the older answer that a message names by words of that answer alone, and their number, or None."""
        x, evidence = one.exchange, one.evidence
        if x.answered is None or x.address.rule == "named" or restates(evidence.message, evidence.kinds):
            return None
        names = names_in(evidence.message, evidence.language)
        latest = topics_of((evidence.answer, evidence.request), evidence.language)
        back = points_back(evidence.message)
        counts: dict[str, int] = {}
        for answer, request in zip(x.candidates, x.requests, strict=True):
            texts = self._reader.prepared(answer.text), self._reader.prepared(request.text if request else "")
            if revises(evidence.answer, texts[0], evidence.language):
                continue
            if alone := named_alone(names, *texts, latest, points_back=back):
                counts[answer.message_id] = len(alone)
        if not counts:
            return None
        best = next(one for one in self._ranked(x, evidence, NEIGHBOURHOOD) if one.message_id in counts)
        return replace(best, rule="older_named"), counts[best.message_id]

    def _ranked(self, x: Exchange, evidence: Evidence, top_k: int) -> tuple[Target, ...]:
        """Return the candidates as targets, ranked by likeness and recency, best first."""
        texts = [self._reader.prepared(c.text) for c in x.candidates]
        vectors = self._reader.embed([x.message.text, *(c.text for c in x.candidates)])
        cosines = np.clip(vectors[1:] @ vectors[0], 0.0, 1.0).tolist()
        requests = [self._reader.prepared(request.text if request else "") for request in x.requests]
        return locate(x.candidates, likeness(evidence.message, texts, cosines, requests), x.message.at, top_k)

    def _verdict(self, one: JudgedExchange, target: Target | None) -> Verdict:
        decision = one.decision
        return Verdict(
            feedback=decision.feedback,
            reaction=_REACTION[decision.feedback] if not decision.status_only else None,
            confidence=decision.confidence,
            correction_type=decision.correction_type,
            user_said=one.exchange.message.text[:QUOTE],
            target=(target or _addressed(one)) if decision.feedback != "neutral" else None,
            rules=decision.rules,
            decided_by=decision.decided_by,
            gate=decision.gate,
            scores=_scores(one.evidence, one.opinion),
            status_only=decision.status_only,
            settled=decision.settled,
            encoder=self._encoder,
            rule=decision.rule,
        )


def _settled_before(said: Decision, before: Decision | None, names: int) -> bool:
    """Return True if the writer had rejected the answer before, unless two or more names approve of it now."""
    turned_down = before is not None and before.feedback == "rejected" and before.confidence >= ANNOUNCEMENT_THRESHOLD
    return turned_down and (said.feedback == "rejected" or names < 2)


def _addressed(one: JudgedExchange) -> Target | None:
    """Return the answer that a message is addressed to as a target, or None."""
    x = one.exchange
    if x.answered is None:
        return None
    place = x.candidates.index(x.answered)
    return place_at(x.candidates, place, one.evidence.answer_similarity, x.message.at, x.address.rule)


def _readable(evidence: Evidence) -> bool:
    return evidence.answered and not evidence.message.empty and evidence.language == "en"


def _scores(evidence: Evidence, opinion: Opinion | None) -> dict[str, float]:
    scores = {"similarity": evidence.similarity, "same_intent": evidence.same_intent}
    if evidence.sentences is not None:
        scores |= {"sentence_similarity": evidence.sentences.similarity, "same_intent": evidence.sentences.same_intent}
    if opinion is not None:
        scores |= {"rejected": opinion.rejected, "accepted": opinion.accepted, "neutral": opinion.neutral}
    return {name: round(value, 6) for name, value in scores.items()}
