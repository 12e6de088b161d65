"""Selection of the decider: a rule alone, the learned layer, or the gate if there is no learned layer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from contracts.announced_from import ANNOUNCED_FROM
from detector.correction import HELD, NEUTRAL, OTHER_REQUEST, UNSURE, RuleVerdict, correct
from detector.dialogue import new_topic, orders_on, question_alone, regrets, says_aside, told_and_asked
from detector.evidence import Evidence
from detector.gate import GateVerdict, gate, of_correction
from detector.language import UNREAD
from detector.learned import Opinion
from detector.mixed import mixed
from detector.model import CorrectionType, DecidedBy, Feedback, GateCall
from detector.patterns import Kind
from detector.requests import other_request

#: Probability of a rejection below which the learned layer overrides a rule's rejection.
CONTRADICTED: Final = 0.4
#: Probability of a rejection from which the learned layer overrides a rule's approval.
REFUSED: Final = 0.8

_COMPLAINT: Final[frozenset[Kind]] = frozenset(
    {"reject", "reject_stated", "abandon", "cue_reject", "cue_no", "cue_repeat", "cue_other"}
)
_SAID: Final[frozenset[Kind]] = frozenset({"reject", "abandon"})
#: Kinds that make a question at the end of a message a repeated request or a complaint.
_AGAIN: Final[frozenset[Kind]] = _COMPLAINT - {"cue_reject"} | {"cue_but", "cue_clarify", "restate"}


@dataclass(frozen=True, slots=True)
class Decision:
    """Verdict without its target. `look_back`: the target may be an earlier turn and must be located.

    `settled`: see `Verdict`.
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


def decide(evidence: Evidence, opinion: Opinion | None) -> Decision:
    """Return the rules' decision if it is certain, else that of the learned layer, or of the gate without one.

    Text written by a client is neutral. The gate reads an approval with a contradiction in the same message as neutral.
    """
    if evidence.message.by_machine:
        return Decision("neutral", UNSURE, None, ("rule.machine_text",), "rules", "neutral", settled=True)
    decision = _decided(evidence, opinion)
    if decision.feedback == "accepted" and decision.gate == "ok" and mixed(evidence):
        return replace(decision, gate="neutral", rules=("rule.mixed", *decision.rules))
    return decision


def _decided(evidence: Evidence, opinion: Opinion | None) -> Decision:
    call = correct(evidence)
    contradicted = opinion is not None and _contradicts(opinion, call)
    if call.certain and not contradicted:
        return replace(_stated(call, of_correction(call)), settled=True)
    if not evidence.answered or evidence.message.empty:
        return replace(_by_rules(call, evidence), settled=True)
    if evidence.language == UNREAD:
        return Decision("neutral", UNSURE, None, ("abstained.language",), "rules", "neutral")
    return _by_rules(call, evidence) if opinion is None else _learned(call, evidence, opinion)


def answers_question(evidence: Evidence) -> bool:
    """Return True if a message answers a bare question of the agent without an explicit rejection."""
    return question_alone(evidence) and not _SAID & evidence.kinds


def announceable(evidence: Evidence) -> bool:
    """Return True if a rejection with the learned layer's highest probability would be announced."""
    return _held(evidence, Opinion((1.0, 0.0, 0.0, 0.0, 0.0, 0.0), ()), ())[0] >= ANNOUNCED_FROM


def _contradicts(opinion: Opinion, call: RuleVerdict) -> bool:
    """Return True if the learned layer overrides the rule. Overriding an approval needs a more probable rejection."""
    if call.firm:
        return False
    if call.approves:
        return opinion.rejected >= REFUSED
    return call.feedback == "rejected" and opinion.rejected < CONTRADICTED


def _by_rules(call: RuleVerdict, evidence: Evidence) -> Decision:
    if call is not NEUTRAL:
        return _stated(call, of_correction(call))
    reading = gate(evidence)
    if reading.call == "not_ok":
        return Decision("rejected", reading.confidence, "explicit", reading.rules, "rules", "not_ok", look_back=True)
    if reading.call == "ok":
        return Decision("accepted", reading.confidence, None, reading.rules, "rules", "ok", look_back=True)
    return _stated(call, reading)


def _stated(call: RuleVerdict, reading: GateVerdict) -> Decision:
    return Decision(
        call.feedback,
        call.confidence,
        call.correction_type,
        call.rules,
        "rules",
        reading.call,
        look_back=call.correction_type != "rephrased",
        status_only=call.status_only,
    )


def _learned(call: RuleVerdict, evidence: Evidence, opinion: Opinion) -> Decision:
    feedback = opinion.feedback
    if feedback == "rejected" and call.rules == OTHER_REQUEST and not _COMPLAINT & evidence.kinds:
        return _stated(call, of_correction(call))
    if (feedback == "neutral" or (feedback == "rejected" and opinion.confidence < ANNOUNCED_FROM)) and new_topic(
        evidence
    ):
        return Decision("accepted", UNSURE, None, ("rule.new_topic",), "rules", "neutral", True, status_only=True)
    fired = tuple(p.name for p in evidence.found)
    reading = opinion.gate
    sure = opinion.confidence
    if feedback == "rejected":
        sure, fired = _held(evidence, opinion, fired)
    elif feedback == "accepted" and reading == "ok" and question_alone(evidence) and "thanks" not in evidence.kinds:
        reading, fired = "neutral", ("rule.answers_question", *fired)
    return Decision(
        feedback,
        round(sure, 6),
        opinion.correction_type if feedback == "rejected" else None,
        fired + opinion.reasons,
        "learned",
        reading,
        look_back=feedback != "neutral",
    )


def _held(evidence: Evidence, opinion: Opinion, fired: tuple[str, ...]) -> tuple[float, tuple[str, ...]]:
    """Return the confidence and the rules of a rejection, held below the announcement threshold if the message may be a
    request or an answer.
    """
    sure = opinion.confidence
    if sure >= ANNOUNCED_FROM and answers_question(evidence):
        return HELD, ("rule.answers_question", *fired)
    if sure >= ANNOUNCED_FROM and other_request(evidence) and not _COMPLAINT & evidence.kinds:
        # The same question about something else is not a complaint; the same one with a changed detail may be.
        return HELD, ("rule.other_request", *fired)
    if sure >= ANNOUNCED_FROM and orders_on(evidence) and not _COMPLAINT & evidence.kinds:
        return HELD, ("rule.orders_on", *fired)
    if sure >= ANNOUNCED_FROM and (regrets(evidence) or says_aside(evidence)) and not _SAID & evidence.kinds:
        return HELD, ("rule.about_the_matter", *fired)
    if sure >= ANNOUNCED_FROM and not evidence.answer.words and not evidence.message.failed:
        # The layer was trained on answers in words and does not read code.
        return HELD, ("rule.nothing_said", *fired)
    asks = told_and_asked(evidence) and opinion.correction_type != "rephrased" and not _AGAIN & evidence.kinds
    return (min(sure, UNSURE), ("rule.asks_on", *fired)) if asks else (sure, fired)
