"""The gate agent: is a message feedback on the agent's work at all, which reaction, how sure.

Asked where correction detection abstains; stricter than it: a plain follow-up question is no feedback.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from detector.correction import ABANDONED, CONTINUED, EXPLICIT, UNSURE, Call
from detector.evidence import Evidence
from detector.model import GateCall
from detector.patterns import Kind

#: One cue alone is a hint, two agreeing cues are a leaning; neither is sure enough to be announced.
HINT: Final = 0.62
LEANING: Final = 0.68

_AGAINST: Final[frozenset[Kind]] = frozenset({"cue_taste", "cue_clarify", "cue_repeat", "cue_reject", "cue_other"})
_FOR: Final[frozenset[Kind]] = frozenset({"cue_praise", "cue_yes"})


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """The gate's reading of a message, with the confidence in it and the rules behind it."""

    call: GateCall
    confidence: float
    rules: tuple[str, ...] = ()


def of_correction(call: Call) -> GateVerdict:
    """The gate's reading where correction detection has spoken."""
    if call.feedback == "rejected":
        return GateVerdict("not_ok", ABANDONED if call.correction_type == "abandonment" else EXPLICIT, call.rules)
    if call.approves:
        return GateVerdict("ok", CONTINUED, call.rules)
    return GateVerdict("neutral", UNSURE, call.rules)


def gate(evidence: Evidence) -> GateVerdict:
    """The gate's own reading, from cues that say too little about the previous turn."""
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
