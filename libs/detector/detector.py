"""The detector, which classifies people's messages as reactions to agents' answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from detector import features
from detector.addressing import Exchange
from detector.classifier import Classifier, Opinion
from detector.encoders.embedder import Embedder, ExchangeNetwork, SentenceEncoder, WordLlamaEmbedder
from detector.evidence import Evidence, evidence_of
from detector.location import TOP_K, addressed_target, older_named, ranked
from detector.model import NEIGHBOURHOOD, Feedback, Neighbourhood, Reaction, Target, Verdict
from detector.rules import Rule, first_rule
from detector.version import version
from detector.word_layer import WordLayer

#: Maximum number of characters of the message that a verdict quotes.
QUOTE: Final = 10_000
#: Minimum probability of a rejection, by the reader, at which it does not contradict a rule's rejection.
NOT_CONTRADICTED: Final = 0.5
#: Maximum confidence of a `rephrased` rejection if the message asks for something other than the request.
NOT_ANNOUNCED: Final = 0.69

_REACTION: Final[dict[Feedback, Reaction | None]] = {"rejected": "not_ok", "accepted": "ok", "neutral": None}
#: Rules of the specification that decide even if there is a reader.
_CERTAIN: Final = frozenset(
    {"nothing_to_judge", "silence", "declines_offer", "other_request", "same_request", "agrees", "closes"}
    | {"closes_with_thanks", "acknowledges", "takes"}
)
#: Rules that leave the verdict to the classifier if there is no reader.
_OPEN: Final = frozenset({"for_and_against", "follows", "hints", "nothing_said"})
_ASKS: Final = frozenset({"agent_asks", "agent_suggests"})
#: Rules whose verdict a language model may replace, and the range of rejection probabilities in which it is asked.
_UNSETTLED: Final = _OPEN | {"language", "other_request", "new_topic", "approves_in_answer"}
DOUBTFUL: Final = (0.35, 0.85)


class Judgement(NamedTuple):
    """A message with the evidence on it, the first matching rule, and the classifier's opinion, if there is one."""

    exchange: Exchange
    evidence: Evidence
    rule: Rule
    opinion: Opinion | None

    def is_settled(self, *, with_reader: bool) -> bool:
        """Return True if no language model needs to be asked. Without a reader, this depends on the rule alone."""
        if self.opinion is None or not with_reader:
            return self.rule.name not in _UNSETTLED
        return not DOUBTFUL[0] <= self.opinion.rejected <= DOUBTFUL[1]

    @property
    def feedback(self) -> Feedback:
        """The feedback according to the classifier, or else according to the rule."""
        return self.opinion.feedback if self.opinion else self.rule.verdict.feedback


class Detector:
    """Classifier of people's reactions to agents' answers.

    The detector is pure: it uses no clock, no randomness and no network.

    Args:
        embedder: Encoder whose vectors show how similar texts are.
        network: Reader of English exchanges. Without it, the classifier sees only words and patterns.
    """

    def __init__(self, embedder: Embedder, network: ExchangeNetwork | None = None) -> None:
        self.embedder = embedder
        self._network = network
        self._classifier = Classifier.load(with_reader=network is not None)
        self._words = WordLayer.load()
        self.version = version(embedder.name, network.name if network else None)

    @classmethod
    def default(cls, encoder: SentenceEncoder | None = None) -> Detector:
        """Return a detector that uses WordLlama vectors and the network of `encoder`. Loading takes about 0.5 s."""
        return cls(WordLlamaEmbedder(), encoder.exchanges if encoder else None)

    def judge(self, items: Sequence[Neighbourhood]) -> list[Verdict]:
        """Judge messages and return one verdict for each, in the same order."""
        judgements = self._judge([Exchange.of(item) for item in items])
        named = {
            number: target
            for number, (x, evidence, _, opinion) in enumerate(judgements)
            if opinion is not None or judgements[number].feedback != "neutral"
            if (target := older_named(x, evidence, self.embedder)) is not None
        }
        others = self._judge([judgements[number].exchange.about(target.message_id) for number, target in named.items()])
        for number, other in zip(list(named), others, strict=True):
            if other.feedback in ("rejected", judgements[number].feedback):
                judgements[number] = other
            else:
                del named[number]
        return [self._verdict(judgement, named.get(number)) for number, judgement in enumerate(judgements)]

    def locate(self, item: Neighbourhood, top_k: int = TOP_K) -> tuple[Target, ...]:
        """Return the `top_k` agents' messages that a message is most likely about, best first.

        The verdict on the message is not taken into account.
        """
        x = Exchange.of(item)
        return ranked(x, evidence_of([x], self.embedder)[0], self.embedder, top_k)

    def target(self, item: Neighbourhood, message_id: str | None = None) -> Target | None:
        """Return the agent's message that the feedback is about, or None if there is none.

        Args:
            item: The message and its context.
            message_id: Id of the agent's message to return as the target. By default, the most probable one is chosen.
        """
        x = Exchange.of(item)
        [evidence] = evidence_of([x], self.embedder)
        if message_id is not None:
            targets = ranked(x, evidence, self.embedder, NEIGHBOURHOOD)
            return next((target for target in targets if target.message_id == message_id), None)
        return older_named(x, evidence, self.embedder) or addressed_target(x, evidence)

    def _judge(self, exchanges: list[Exchange]) -> list[Judgement]:
        return [
            Judgement(x, evidence, rule := first_rule(evidence), self._opinion(x, evidence, rule))
            for x, evidence in zip(exchanges, evidence_of(exchanges, self.embedder), strict=True)
        ]

    def _opinion(self, x: Exchange, evidence: Evidence, rule: Rule) -> Opinion | None:
        """Return the classifier's opinion, or None if the rule decides.

        The rule decides outside English, if it is in _CERTAIN, if a short message gives up, or if the reader does not
        contradict its rejection. Without a reader, it also decides unless it is in _OPEN, and always if the agent asked
        or suggested something.
        """
        is_reply, rejects = "agent_asks" in evidence.answer_kinds, rule.verdict.feedback == "rejected"
        gives_up = rule.name == "gives_up" and evidence.is_short
        if evidence.language != "en" or rule.name in _CERTAIN or gives_up:
            return None
        if self._network is None and (rule.name not in _OPEN or not _ASKS.isdisjoint(evidence.answer_kinds)):
            return None
        logits = self._network.read(x.message.text, x.answer, x.request) if self._network else None
        if logits is not None and rejects and Opinion(*features.shares(logits)).rejected >= NOT_CONTRADICTED:
            return None
        opinion = self._classifier.opinion(features.vector(evidence, self._words, logits))
        return opinion.without_rejection() if is_reply and not rejects else opinion

    def _verdict(self, judgement: Judgement, named: Target | None) -> Verdict:
        """Return the verdict. Unless it is neutral, its target is `named`, or else the addressed answer."""
        evidence, rule, opinion = judgement.evidence, judgement.rule, judgement.opinion
        scores = {"similarity": evidence.similarity}
        feedback, confidence, correction_type, gate, is_new_topic = rule.verdict
        if opinion is not None:
            feedback, correction_type, gate = opinion.feedback, opinion.correction_type, opinion.gate
            confidence, is_new_topic = opinion.confidence, False
            if correction_type == "rephrased" and evidence.asks_otherwise:
                confidence = min(confidence, NOT_ANNOUNCED)
            scores |= {"rejected": opinion.rejected, "approval": opinion.approval, "neutral": opinion.none}
        elif confidence is None:
            confidence = evidence.similarity
        return Verdict(
            feedback=feedback,
            reaction=None if is_new_topic else _REACTION[feedback],
            confidence=round(confidence, 6),
            correction_type=correction_type,
            user_said=judgement.exchange.message.text[:QUOTE],
            target=None if feedback == "neutral" else named or addressed_target(judgement.exchange, evidence),
            rules=(
                f"{'reader' if self._network else 'words'}.{opinion.kind}" if opinion else f"rule.{rule.name}",
                *(pattern.name for pattern in evidence.matches if not pattern.kind.startswith("cue_")),
            ),
            decided_by="learned" if opinion else "rules",
            gate=gate,
            scores={name: round(value, 6) for name, value in scores.items()},
            status_only=is_new_topic,
            settled=judgement.is_settled(with_reader=self._network is not None),
            encoder=self._network.name if self._network else None,
            rule="learned" if opinion else f"rule.{rule.name}",
        )
