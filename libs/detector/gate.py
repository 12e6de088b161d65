"""Gate: decides if a message is feedback on the agent's work, with which reaction and confidence.

It is used if no correction rule matches. It is stricter than they are: a follow-up question is not feedback.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from detector.correction import ABANDONED, CONTINUED, EXPLICIT, UNSURE, RuleVerdict
from detector.evidence import Evidence
from detector.model import GateCall
from detector.patterns import Kind

#: Confidence of a single cue. Even two agreeing cues (`LEANING`) stay below the announcement threshold.
HINT: Final = 0.62
LEANING: Final = 0.68

_AGAINST: Final[frozenset[Kind]] = frozenset({"cue_taste", "cue_clarify", "cue_repeat", "cue_reject", "cue_other"})
_FOR: Final[frozenset[Kind]] = frozenset({"cue_praise", "cue_yes"})


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """The gate's reading of a message, with its confidence and rules."""

    call: GateCall
    confidence: float
    rules: tuple[str, ...] = ()


def of_correction(call: RuleVerdict) -> GateVerdict:
    """Return the gate's reading of a verdict by rules."""
    if call.feedback == "rejected":
        return GateVerdict("not_ok", ABANDONED if call.correction_type == "abandonment" else EXPLICIT, call.rules)
    if call.approves:
        return GateVerdict("ok", CONTINUED, call.rules)
    return GateVerdict("neutral", UNSURE, call.rules)


def gate(evidence: Evidence) -> GateVerdict:
    """Return the gate's reading of the cues in a message that no rule decides."""
    if not evidence.answered or evidence.message.empty:
        return GateVerdict("neutral", UNSURE)
    against = _AGAINST & evidence.kinds
    favour = _FOR & evidence.kinds
    asked = "agent_asks" in evidence.answer_kinds and "agent_confirms" not in evidence.answer_kinds
    if bool(against) == bool(favour):
        return GateVerdict("neutral", UNSURE)
    if against:
        needed = 3 if asked else 2
        if len(against) < needed:
            return GateVerdict("neutral", UNSURE)
        return GateVerdict("not_ok", LEANING, evidence.names(*sorted(against)))
    if asked:
        return GateVerdict("neutral", UNSURE)
    return GateVerdict("ok", LEANING if len(favour) > 1 else HINT, evidence.names(*sorted(favour)))
