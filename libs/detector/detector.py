"""The detector, which classifies people's messages as reactions to agents' answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from contracts.announcement_threshold import ANNOUNCEMENT_THRESHOLD
from detector import features
from detector.addressing import Exchange
from detector.calibration import ConfidenceCalibration
from detector.encoders.embedder import Embedder, SentenceEncoder, WordLlamaEmbedder
from detector.intent import IntentModel
from detector.learned import SENTENCE_WEIGHTS, Layer, Opinion
from detector.location import TOP_K, addressed_target, older_named, ranked
from detector.model import NEIGHBOURHOOD, Neighbourhood, Target, Verdict
from detector.reading import Reader
from detector.rewording import Rewordings, Scale
from detector.rules import Decision, decide
from detector.second_look import SecondLook
from detector.verdicts import JudgedExchange, VerdictBuilder
from detector.version import version


class Detector:
    """Classifier of people's reactions to agents' answers.

    The detector is pure: it uses no clock, no randomness and no network. Its version is described in
    `contracts.detectors`.

    Args:
        embedder: Encoder that provides the word vectors.
        layer: The learned layer, a linear model for English messages that was trained on vectors of `embedder`. Without
            it, only rules and caps decide.
        intent: Model that estimates the probability of two requests having the same intent, from word vectors.
        rewordings: Comparison of requests by sentence vectors. Without it, requests are compared by word vectors.
        second: Second judgement of likely rejections by sentence vectors. Without it, this step is skipped.
        target_precision: Kinds of verdicts whose published precision is clearly below this value are not announced.
        calibration: Conversion of scores to confidences. Without it, the score is used as the confidence.

    Raises:
        ValueError: `layer` was trained on another embedder.
    """

    def __init__(
        self,
        embedder: Embedder,
        layer: Layer | None = None,
        intent: IntentModel | None = None,
        rewordings: Rewordings | None = None,
        second: SecondLook | None = None,
        target_precision: float = ANNOUNCEMENT_THRESHOLD,
        calibration: ConfidenceCalibration | None = None,
    ) -> None:
        if layer is not None and layer.embedder != embedder.name:
            raise ValueError(f"the learned layer was taught with {layer.embedder!r}, not with {embedder.name!r}")
        self._reader = Reader(embedder, intent)
        self._layer = layer
        self._rewordings = rewordings
        self._second = second
        encoder = rewordings.encoder_name if rewordings else None
        self._verdicts = VerdictBuilder(calibration, target_precision, encoder)
        parts = (
            embedder.name,
            layer.embedder if layer else "",
            "second" if second else "",
            "calibration" if calibration else "",
            f"{target_precision}",
        )
        self.version: str = version(parts, encoder=encoder)

    @property
    def embedder(self) -> Embedder:
        """Word vector encoder that caches the vectors of judged texts."""
        return self._reader

    @classmethod
    def default(
        cls, encoder: SentenceEncoder | None = None, target_precision: float = ANNOUNCEMENT_THRESHOLD
    ) -> Detector:
        """Return a detector that uses WordLlama vectors and the committed weights. Loading takes about 0.5 s.

        Args:
            encoder: Sentence encoder used to compare requests. It is also used to judge likely rejections a second time
                if the committed weights were trained on it.
            target_precision: See the class.
        """
        calibration = ConfidenceCalibration.load()
        if encoder is None:
            layer, intent = Layer.load(), IntentModel.load()
            return cls(WordLlamaEmbedder(), layer, intent, None, None, target_precision, calibration)
        layer = Layer.load(SENTENCE_WEIGHTS)
        reader = encoder.early
        second = SecondLook(reader, layer) if reader and layer.embedder == reader.name else None
        rewordings = Rewordings(encoder, Scale.load())
        words, intent = Layer.load(), IntentModel.load()
        return cls(WordLlamaEmbedder(), words, intent, rewordings, second, target_precision, calibration)

    @classmethod
    def rules_only(cls) -> Detector:
        """Return a detector without the learned layer."""
        return cls(WordLlamaEmbedder(), intent=IntentModel.load())

    def judge(self, items: Sequence[Neighbourhood]) -> list[Verdict]:
        """Judge messages and return one verdict for each, in the same order."""
        judged = self._judge(Exchange.of(item) for item in items)
        named = {
            row: found
            for row, (x, evidence, _, decision) in enumerate(judged)
            if decision.look_back and decision.feedback != "neutral"
            if (found := older_named(x, evidence, self._reader)) is not None
        }
        older = self._older(judged, named) if named else {}
        verdicts = []
        for row, latest in enumerate(judged):
            one, target = older.get(row, (latest, None))
            if target is None and one.decision.feedback != "neutral":
                target = addressed_target(one.exchange, one.evidence)
            verdicts.append(self._verdicts.build(one, target))
        return verdicts

    def locate(self, item: Neighbourhood, top_k: int = TOP_K) -> tuple[Target, ...]:
        """Return the `top_k` agents' messages that a message is most likely about, best first.

        The verdict on the message is not taken into account.
        """
        x = Exchange.of(item)
        return ranked(x, self._reader.read([x]).evidence[0], self._reader, top_k)

    def target(self, item: Neighbourhood, message_id: str | None = None) -> Target | None:
        """Return the agent's message that the feedback is about, or None if there is none.

        Args:
            item: The message and its context.
            message_id: Id of the agent's message to return as the target. By default, the most probable one is chosen.
        """
        x = Exchange.of(item)
        [evidence] = self._reader.read([x]).evidence
        if message_id is not None:
            targets = ranked(x, evidence, self._reader, NEIGHBOURHOOD)
            return next((one for one in targets if one.message_id == message_id), None)
        named = older_named(x, evidence, self._reader)
        return named[0] if named else addressed_target(x, evidence)

    def same_intent(self, left: str, right: str) -> float:
        """Return the probability in [0, 1] that two requests have the same intent."""
        return (self._rewordings or self._reader).same_intent(left, right)

    def _judge(self, given: Iterable[Exchange]) -> list[JudgedExchange]:
        """Judge each message as a reaction to its answer, and return the results in order.

        The learned layer has no opinion on messages that it cannot read, for example because they are not in English.
        """
        exchanges = list(given)
        if not exchanges:
            return []
        read = self._reader.read(exchanges)
        if self._rewordings is not None:
            read = replace(read, evidence=self._rewordings.compared(read.evidence))
        opinions: list[Opinion | None] = [None] * len(exchanges)
        if self._layer is not None:
            known = features.matrix(read.evidence)
            found = self._layer.opinions(known, read.messages, read.answers)
            opinions = [o if e.is_readable else None for o, e in zip(found, read.evidence, strict=True)]
            if self._second is not None:
                opinions = self._second.revised(read.evidence, opinions, known, read.answers)
        return [
            JudgedExchange(x, evidence, opinion, decide(evidence, opinion))
            for x, evidence, opinion in zip(exchanges, read.evidence, opinions, strict=True)
        ]

    def _older(
        self, judged: Sequence[JudgedExchange], named: Mapping[int, tuple[Target, int]]
    ) -> dict[int, tuple[JudgedExchange, Target]]:
        """Repeat the judgement of messages that name an older answer, as reactions to that answer.

        A message is left out of the result if its new judgement has a different `feedback` from the one in `judged`, or
        if the author had already rejected the older answer (see `_settled_before`).

        Args:
            judged: The exchanges as reactions to their latest answers.
            named: For each row that names an older answer, the answer and the number of words in the message that name
                it.

        Returns:
            The judged exchange and the target of each remaining message, by row.
        """
        again = self._judge(judged[row].exchange.about(target.message_id) for row, (target, _) in named.items())
        earlier = [one.exchange.next_word() for one in again]
        said = iter(self._judge(one for one in earlier if one is not None))
        spoken = [next(said).decision if one is not None else None for one in earlier]
        return {
            row: (one if one.decision.feedback == "rejected" else judged[row], target)
            for (row, (target, names)), one, before in zip(named.items(), again, spoken, strict=True)
            if one.decision.feedback == judged[row].decision.feedback
            if not _settled_before(one.decision, before, names)
        }


def _settled_before(said: Decision, before: Decision | None, names: int) -> bool:
    """Return True if the author's first message after the older answer already rejected it.

    Only a rejection that was confident enough to be announced counts. The result is also False if at least two words of
    the current message name the older answer and the decision about that message, `said`, is not a rejection.
    """
    turned_down = before is not None and before.feedback == "rejected" and before.confidence >= ANNOUNCEMENT_THRESHOLD
    return turned_down and (said.feedback == "rejected" or names < 2)
