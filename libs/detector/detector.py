"""The composition: neighbourhoods in, verdicts out, a batch at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from detector import features
from detector.decide import Decision, decide
from detector.encoders.embedder import Embedder, SentenceEncoder, WordLlamaEmbedder
from detector.evidence import Evidence
from detector.intent import IntentModel
from detector.learned import SENTENCE_WEIGHTS, Layer, Opinion
from detector.location import TOP_K, likeness, locate, named
from detector.model import NEIGHBOURHOOD, Feedback, Neighbourhood, Reaction, Target, Verdict
from detector.reading import Read, Reader
from detector.rewording import Rewordings, Scale
from detector.second_look import SecondLook

#: The longest part of a message that a verdict quotes.
QUOTE: Final = 10_000

_REACTION: Final[dict[Feedback, Reaction | None]] = {"rejected": "not_ok", "accepted": "ok", "neutral": None}


class Detector:
    """Judges human messages. A pure function of its input: no clock, no randomness, no network.

    `layer` None means rules and gate alone. A layer only speaks about vectors of the embedder it was taught with, and
    about English, the language it was taught in. `rewordings` compares requests as sentences, `second` reads likely
    rejections as sentences; None: by words.
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

    @property
    def embedder(self) -> Embedder:
        """What makes its sentence vectors, and remembers those of what it has judged."""
        return self._reader

    @classmethod
    def default(cls, encoder: SentenceEncoder | None = None) -> Detector:
        """WordLlama vectors from its wheel and the committed weights; loads in about half a second.

        With a sentence encoder, that compares a message with the request before it, and looks again at what may be a
        rejection where its weights are for that encoder.
        """
        if encoder is None:
            return cls(WordLlamaEmbedder(), Layer.load(), IntentModel.load())
        layer = Layer.load(SENTENCE_WEIGHTS)
        reader = encoder.early
        second = SecondLook(reader, layer) if reader and layer.embedder == reader.name else None
        return cls(WordLlamaEmbedder(), Layer.load(), IntentModel.load(), Rewordings(encoder, Scale.load()), second)

    @classmethod
    def rules_only(cls) -> Detector:
        """Without the learned layer."""
        return cls(WordLlamaEmbedder(), intent=IntentModel.load())

    def judge(self, items: Sequence[Neighbourhood]) -> list[Verdict]:
        """One verdict for each item, in the same order."""
        if not items:
            return []
        read = self._reader.read(items)
        if self._rewordings is not None:
            read = replace(read, evidence=self._rewordings.compared(read.evidence))
        opinions = self._opinions(read)
        return [
            self._verdict(row, decide(evidence, opinion), opinion, read)
            for row, (evidence, opinion) in enumerate(zip(read.evidence, opinions, strict=True))
        ]

    def locate(self, item: Neighbourhood, top_k: int = TOP_K) -> tuple[Target, ...]:
        """The agent messages that a message is most likely about, best first, whatever it says about them."""
        return self._targets(0, self._reader.read([item]), top_k)

    def target(self, item: Neighbourhood, message_id: str | None = None) -> Target | None:
        """The agent message that feedback is about: that of `message_id` if given, else the likeliest."""
        read = self._reader.read([item])
        if message_id is None:
            return self._target(0, read, look_back=True)
        return next((one for one in self._targets(0, read, NEIGHBOURHOOD) if one.message_id == message_id), None)

    def same_intent(self, left: str, right: str) -> float:
        """Probability in [0, 1] that two requests want the same."""
        return (self._rewordings or self._reader).same_intent(left, right)

    def _opinions(self, read: Read) -> list[Opinion | None]:
        """The learned layer's opinions; none where it has nothing to go by."""
        if self._layer is None:
            return [None] * len(read.evidence)
        known = features.matrix(read.evidence)
        found: list[Opinion] = self._layer.opinions(known, read.messages, read.answers)
        opinions = [o if _readable(e) else None for o, e in zip(found, read.evidence, strict=True)]
        return self._second.revised(read.evidence, opinions, known, read.answers) if self._second else opinions

    def _verdict(self, row: int, decision: Decision, opinion: Opinion | None, read: Read) -> Verdict:
        x, evidence = read.exchanges[row], read.evidence[row]
        return Verdict(
            feedback=decision.feedback,
            reaction=_REACTION[decision.feedback] if not decision.status_only else None,
            confidence=decision.confidence,
            correction_type=decision.correction_type,
            user_said=x.message.text[:QUOTE],
            target=self._target(row, read, decision.look_back) if decision.feedback != "neutral" else None,
            rules=decision.rules,
            decided_by=decision.decided_by,
            gate=decision.gate,
            scores=_scores(evidence, opinion),
            status_only=decision.status_only,
            settled=decision.settled,
            encoder=self._encoder,
        )

    def _targets(self, row: int, read: Read, top_k: int) -> tuple[Target, ...]:
        x, evidence = read.exchanges[row], read.evidence[row]
        texts = [self._reader.prepared(c.text) for c in x.candidates]
        rows = [read.place[c.text] for c in x.candidates]
        cosines = np.clip(read.vectors[rows] @ read.messages[row], 0.0, 1.0).tolist()
        requests = [self._reader.prepared(text) for text in x.requests]
        return locate(x.candidates, likeness(evidence.message, texts, cosines, requests), x.message.at, top_k)

    def _target(self, row: int, read: Read, look_back: bool) -> Target | None:
        """A message that names nothing of any answer is about the latest one."""
        x, evidence = read.exchanges[row], read.evidence[row]
        said = named(evidence.message)
        texts = (*(c.text for c in x.candidates), *x.requests) if look_back else ()
        if any(said & self._reader.prepared(text).content for text in texts):
            found = self._targets(row, read, 1)
        elif x.answered is not None:
            found = locate([x.answered], [evidence.answer_similarity], x.message.at, 1)
        else:
            found = ()
        return found[0] if found else None


def _readable(evidence: Evidence) -> bool:
    return evidence.answered and not evidence.message.empty and evidence.language == "en"


def _scores(evidence: Evidence, opinion: Opinion | None) -> dict[str, float]:
    scores = {"similarity": evidence.similarity, "same_intent": evidence.same_intent}
    if evidence.sentences is not None:
        scores |= {"sentence_similarity": evidence.sentences.similarity, "same_intent": evidence.sentences.same_intent}
    if opinion is not None:
        scores |= {"rejected": opinion.rejected, "accepted": opinion.accepted, "neutral": opinion.neutral}
    return {name: round(value, 6) for name, value in scores.items()}
