"""Who decides: a rule alone, the learned layer, or, without one, the gate agent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from inference.correction import NEUTRAL, Call, correct, new_topic, other_request
from inference.evidence import Evidence
from inference.gate import GateVerdict, gate, of_correction
from inference.learned import HELD, Opinion, confidence
from inference.model import CorrectionType, DecidedBy, Feedback, GateCall
from inference.patterns import Kind

#: A rule decides alone unless the learned layer finds its reading less likely than this.
CONTRADICTED: Final = 0.4

_COMPLAINT: Final[frozenset[Kind]] = frozenset({"reject", "abandon", "cue_reject", "cue_no", "cue_repeat", "cue_other"})


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict without its target. `look_back`: the target must be located, it needn't be the previous turn.

    `settled` as in `Verdict`.
    """

    feedback: Feedback
    confidence: float
    correction_type: CorrectionType | None
    rules: tuple[str, ...]
    decided_by: DecidedBy
    gate: GateCall
    look_back: bool = False
    status_only: bool = False
    settled: bool = False


def decide(evidence: Evidence, opinion: Opinion | None, announce: float) -> Decision:
    """The decision of the rules where they are certain, else that of the learned layer, or of the gate without one."""
    call = correct(evidence)
    contradicted = opinion is not None and call.feedback != "neutral" and opinion.of(call.feedback) < CONTRADICTED
    if call.certain and not contradicted:
        return replace(_stated(call, of_correction(call, evidence)), settled=True)
    if not evidence.answered or evidence.message.empty:
        return replace(_by_rules(call, evidence), settled=True)
    return _by_rules(call, evidence) if opinion is None else _learned(evidence, opinion, announce)


def _by_rules(call: Call, evidence: Evidence) -> Decision:
    if call is not NEUTRAL:
        return _stated(call, of_correction(call, evidence))
    reading = gate(evidence)
    if reading.call == "not_ok":
        return Decision("rejected", reading.confidence, "explicit", reading.rules, "rules", "not_ok", look_back=True)
    if reading.call == "ok":
        return Decision("accepted", reading.confidence, None, reading.rules, "rules", "ok", look_back=True)
    return _stated(call, reading)


def _stated(call: Call, reading: GateVerdict) -> Decision:
    return Decision(
        call.feedback,
        call.confidence,
        call.correction_type,
        call.rules,
        "rules",
        reading.call,
        status_only=call.status_only,
    )


def _learned(evidence: Evidence, opinion: Opinion, announce: float) -> Decision:
    feedback = opinion.feedback
    fired = tuple(p.name for p in evidence.found)
    sure = confidence(opinion, feedback, announce)
    if feedback == "rejected" and other_request(evidence) and not _COMPLAINT & evidence.kinds:
        # Asking the same of something else is no complaint; asking again with a detail changed may be one.
        sure, fired = min(sure, HELD), ("rule.other_request", *fired)
    if feedback == "neutral" and new_topic(evidence):
        return Decision("accepted", 0.5, None, ("rule.new_topic",), "rules", "neutral", status_only=True)
    return Decision(
        feedback,
        round(sure, 6),
        opinion.correction_type if feedback == "rejected" else None,
        fired + opinion.reasons,
        "learned",
        opinion.gate,
        look_back=feedback != "neutral",
    )
