"""The composition: neighbourhoods in, verdicts out, a batch at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from inference.correction import NEUTRAL, Call, correct
from inference.embed import Embedder, WordLlamaEmbedder
from inference.evidence import Evidence
from inference.gate import GateVerdict, gate, of_correction
from inference.location import locate
from inference.model import Feedback, Neighbourhood, Reaction, Target, Verdict
from inference.reading import Exchange, Read, Reader

#: The longest part of a message that a verdict quotes.
QUOTE: Final = 10_000

_REACTION: Final[dict[Feedback, Reaction | None]] = {"rejected": "not_ok", "accepted": "ok", "neutral": None}


class Detector:
    """Judges human messages. A pure function of its input: no clock, no randomness, no network."""

    def __init__(self, embedder: Embedder) -> None:
        self._reader = Reader(embedder)

    @classmethod
    def default(cls) -> Detector:
        """WordLlama vectors from its wheel; loads in about half a second."""
        return cls(WordLlamaEmbedder())

    def judge(self, items: Sequence[Neighbourhood]) -> list[Verdict]:
        """One verdict for each item, in the same order."""
        if not items:
            return []
        read = self._reader.read(items)
        return [self._verdict(row, x, e, read) for row, (x, e) in enumerate(zip(read.exchanges, read.evidence))]

    def _verdict(self, row: int, x: Exchange, evidence: Evidence, read: Read) -> Verdict:
        call = correct(evidence)
        abstained = call is NEUTRAL
        reading = gate(evidence) if abstained else of_correction(call, evidence)
        if abstained and reading.call != "neutral":
            call = _from_gate(reading)
            target = self._locate(row, x, read)
        else:
            target = _previous(x, evidence.answer_similarity)
        speaks = call.feedback != "neutral" and not call.status_only
        return Verdict(
            feedback=call.feedback,
            reaction=_REACTION[call.feedback] if speaks else None,
            confidence=call.confidence,
            correction_type=call.correction_type,
            user_said=x.message.text[:QUOTE],
            target=target if call.feedback != "neutral" else None,
            rules=call.rules,
            decided_by="rules",
            gate=reading.call,
            scores={"similarity": evidence.similarity, "same_intent": evidence.same_intent},
            status_only=call.status_only,
        )

    def _locate(self, row: int, x: Exchange, read: Read) -> Target | None:
        rows = [read.place[c.text] for c in x.candidates]
        alike = np.clip(read.vectors[rows] @ read.messages[row], 0.0, 1.0).tolist()
        found = locate(x.candidates, alike, x.message.at)
        return found[0] if found else None


def _previous(x: Exchange, similarity: float) -> Target | None:
    """The agent message just before, with the parts of its score."""
    if x.answered is None:
        return None
    found = locate([x.answered], [similarity], x.message.at)
    return found[0] if found else None


def _from_gate(reading: GateVerdict) -> Call:
    if reading.call == "not_ok":
        return Call("rejected", reading.confidence, "explicit", reading.rules)
    return Call("accepted", reading.confidence, None, reading.rules)
