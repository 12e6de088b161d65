"""Correction rules: the verdict of a message on the previous turn, by patterns alone.

The order and the constants come from the specification: explicit rejection 0.9; rephrased request, confidence =
similarity; abandonment 0.85; continuation, thanks or action 0.7; otherwise neutral 0.5. A response to the agent's own
question or offer is not feedback on its work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from contracts.announced_from import ANNOUNCED_FROM
from detector.dialogue import (
    acknowledges,
    agrees,
    asked_openly,
    asks_agent,
    asks_on,
    bare_no,
    closes,
    declines,
    judges_taste,
    meant_so,
    new_topic,
    puzzled,
    resent,
    restated,
    turned_by_no,
)
from detector.evidence import Evidence
from detector.model import CorrectionType, Feedback
from detector.patterns import Kind
from detector.requests import other_request, takes_up

EXPLICIT: Final = 0.9
REPHRASED_ABOVE: Final = 0.8
ABANDONED: Final = 0.85
CONTINUED: Final = 0.7
UNSURE: Final = 0.5
#: Name of the pattern for a dislike in the first person.
TASTE: Final = "en.not_my_taste"
#: Confidence of a probable rejection that must not be announced.
HELD: Final = ANNOUNCED_FROM - 0.01
#: Minimum probability of the same intent, in addition to the similarity, for a rephrased request.
SAME_INTENT: Final = 0.7
#: Silence after which only an explicit rejection is feedback on the answer, in microseconds.
SESSION_TIMEOUT_US: Final = 30 * 60 * 1_000_000
#: Minimum number of words of a rephrased request.
REWORDED_WORDS: Final = 3

#: Maximum number of words of a message that an approval decides alone.
APPROVAL_WORDS: Final = 10
_OPPOSING: Final[frozenset[Kind]] = frozenset(
    {"cue_reject", "cue_no", "cue_but", "cue_taste", "cue_other", "cue_repeat", "cue_clarify", "cue_ask"}
)


#: Kinds of thanks, agreement and farewell: a message with one of them is not a rephrased request.
_NO_REQUEST: Final[frozenset[Kind]] = frozenset({"thanks", "action", "cue_yes", "cue_bye", "acknowledge", "postpone"})


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """Verdict of the rules on the previous turn.

    `certain`: a rule decides alone, and nothing contradicts it. `approves`: the acceptance praises or takes the answer,
    instead of only building on it. `firm`: the learned layer may not override it, because it does not recognise
    rejections in questions and statements of taste.
    """

    feedback: Feedback
    confidence: float
    correction_type: CorrectionType | None = None
    rules: tuple[str, ...] = ()
    certain: bool = False
    status_only: bool = False
    approves: bool = False
    firm: bool = False


OTHER_REQUEST: Final = ("rule.other_request",)
NEUTRAL: Final = RuleVerdict("neutral", UNSURE)


def correct(evidence: Evidence) -> RuleVerdict:
    """Return the verdict of the first matching rule, in the order of the specification."""
    if not evidence.answered or evidence.message.empty:
        return NEUTRAL
    approvals = evidence.names("thanks", "action")
    if declines(evidence):
        return RuleVerdict("neutral", UNSURE, None, ("rule.declines_offer",), certain=True)
    if rejections := _explicit(evidence):
        if approvals and not _outweighs(evidence, rejections):
            return RuleVerdict("neutral", UNSURE, None, rejections + approvals)
        suggested = "agent_suggests" in evidence.answer_kinds
        firm = suggested or (TASTE in rejections and "cue_but" not in evidence.kinds)
        return RuleVerdict("rejected", EXPLICIT, "explicit", rejections, certain=not approvals, firm=firm)
    if evidence.silence > SESSION_TIMEOUT_US:
        return RuleVerdict("neutral", UNSURE, None, ("rule.silence",), certain=True)
    return _repeated(evidence) or _left(evidence) or _taken(evidence, approvals)


def _repeated(evidence: Evidence) -> RuleVerdict | None:
    """Return the verdict on a repeated request: rephrased, word for word, or about something else."""
    if resent(evidence):
        return RuleVerdict("neutral", UNSURE, None, ("rule.resent",), certain=True)
    if not _alike(evidence):
        return None
    if other_request(evidence):
        return RuleVerdict("accepted", UNSURE, None, OTHER_REQUEST, status_only=True)
    if not may_reword(evidence):
        return None
    similarity = evidence.sameness.similarity
    return RuleVerdict(
        "rejected", similarity, "rephrased", ("rule.same_request",), certain=not evidence.names("thanks")
    )


def _left(evidence: Evidence) -> RuleVerdict | None:
    """Return a rejection if the person gives up."""
    abandoned = evidence.names("abandon")
    if not abandoned:
        return None
    return RuleVerdict("rejected", ABANDONED, "abandonment", abandoned, certain=not evidence.names("thanks", "action"))


def _taken(evidence: Evidence, approvals: tuple[str, ...]) -> RuleVerdict:
    """Return the verdict on an acceptance: agreement, thanks, an accepted offer, a follow-up, or a new topic."""
    if agrees(evidence):
        return RuleVerdict("accepted", CONTINUED, None, ("rule.agrees",), certain=True)
    if closes(evidence):
        return RuleVerdict(
            "accepted", CONTINUED, None, ("rule.closes", *approvals), certain=True, approves=bool(approvals)
        )
    if puzzled(evidence):
        return RuleVerdict("rejected", HELD, "explicit", ("rule.puzzled",), certain=True, firm=True)
    if asks_agent(evidence):
        return RuleVerdict("neutral", UNSURE, None, ("rule.asks_agent",), certain=True)
    if acknowledges(evidence):
        return RuleVerdict("neutral", UNSURE, None, ("rule.acknowledges",), certain=True)
    if new_topic(evidence):
        return RuleVerdict("accepted", UNSURE, None, ("rule.new_topic",), status_only=True)
    continued = evidence.names("follow") or asks_on(evidence)
    if approvals or continued:
        return RuleVerdict(
            "accepted",
            CONTINUED,
            None,
            approvals + continued,
            certain=_unopposed(evidence, bool(approvals)),
            approves=bool(approvals) and not asked_openly(evidence),
        )
    return NEUTRAL


def reworded(evidence: Evidence) -> bool:
    """Return True if the message asks the previous request again in other words."""
    return _alike(evidence) and may_reword(evidence)


def _alike(evidence: Evidence) -> bool:
    similarity, same_intent = evidence.sameness
    return similarity > REPHRASED_ABOVE and same_intent >= SAME_INTENT


def may_reword(evidence: Evidence) -> bool:
    """Return True if the message may rephrase the request, whatever their similarity. English only."""
    return (
        evidence.language == "en"
        and not _NO_REQUEST & evidence.kinds
        and len(evidence.message.words) >= REWORDED_WORDS
        and len(evidence.request.words) >= REWORDED_WORDS
        and not other_request(evidence)
        and not takes_up(evidence)
        and not resent(evidence)
        and not {"agent_asks", "agent_confirms"} & evidence.answer_kinds
    )


def _explicit(evidence: Evidence) -> tuple[str, ...]:
    """Return the names of explicit rejections, without those that a veto or the agent's question disarms."""
    names = evidence.names("reject", "reject_stated")
    if names and "veto" in evidence.kinds and len(names) < 2:
        return ()
    if asked_openly(evidence):
        names = evidence.names("reject")
    elif "agent_suggests" in evidence.answer_kinds:
        # After "Have you seen it?", "No, I ..." is an answer. Only a rejection of the suggestion itself counts.
        names = tuple(name for name in names if name != "en.no_correction")
    if not judges_taste(evidence):
        names = tuple(name for name in names if name != TASTE)
    if turned_by_no(evidence):
        names += ("rule.corrects_confirmation",)
    if "cue_no" in evidence.kinds and _alike(evidence):
        names += ("rule.no_again",)
    if bare_no(evidence):
        names += ("rule.bare_no",)
    if restated(evidence):
        names += evidence.names("restate")
    if meant_so(evidence):
        names += evidence.names("meant")
    return names


def _outweighs(evidence: Evidence, rejections: tuple[str, ...]) -> bool:
    """Return True if rejections outweigh an approval: two of them, or a plain one with a "but"."""
    return len(rejections) > 1 or {"cue_but", "reject"} <= evidence.kinds


def _unopposed(evidence: Evidence, approved: bool) -> bool:
    """Return True for a short approval without contradiction. In a longer message it may be about anything."""
    return approved and len(evidence.message.words) <= APPROVAL_WORDS and not _OPPOSING & evidence.kinds
