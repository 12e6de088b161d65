"""Rules that decide the verdict on a message.

The first row of `RULES` whose conditions all hold is applied. The learned layer may override its verdict
(`VerdictRule.override`). `agent-feedback explain --rules` prints the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from contracts.announcement_threshold import ANNOUNCEMENT_THRESHOLD
from detector import cues
from detector import vocabulary as v
from detector.caps import HELD, UNSURE, cap_of
from detector.evidence import Evidence
from detector.learned import Opinion
from detector.model import CorrectionType, DecidedBy, Feedback, GateCall

#: Confidences of rules, as given by the specification.
EXPLICIT: Final = 0.9
ABANDONED: Final = 0.85
CONTINUED: Final = 0.7
#: Confidences of rules about cues. They are below the announcement threshold.
LEANING: Final = 0.68
HINT: Final = 0.62
#: Probability of a rejection below which the learned layer overrides a rule's rejection.
CONTRADICTED: Final = 0.4
#: Probability of a rejection from which the learned layer overrides a rule's approval.
REFUSED: Final = 0.8


class RuleVerdict(NamedTuple):
    """Verdict of a row in the table `RULES`.

    If `confidence` is None, the similarity of the message to the previous request is used. See `Verdict` for
    `status_only`.
    """

    feedback: Feedback
    confidence: float | None
    correction_type: CorrectionType | None = None
    gate: GateCall = "neutral"
    status_only: bool = False


class Override(NamedTuple):
    """Condition under which the learned layer's opinion replaces a rule's verdict.

    Attributes:
        words: Description of the condition.
        overrides: The condition.
        certain: True if no language model is asked, so that only the learned layer can replace the verdict.
    """

    words: str
    overrides: Callable[[Opinion, Evidence], bool]
    certain: bool = True


class VerdictRule(NamedTuple):
    """Row of the table `RULES`: a verdict and the conditions for it, which must all hold.

    `detector/reasons.py` contains a description of each row, keyed by its name. `names` returns the reasons to report
    in the verdict; without it, the name of the row is reported.
    """

    name: str
    conditions: tuple[Callable[[Evidence], bool], ...]
    verdict: RuleVerdict
    override: Override
    names: Callable[[Evidence], tuple[str, ...]] | None = None


class Decision(NamedTuple):
    """Decision about a message, made before its target is determined.

    Attributes:
        rule: Name of the row that decided, or "learned".
        look_back: True if the message may be about an earlier answer.
        settled: See `Verdict`.
    """

    feedback: Feedback
    confidence: float
    correction_type: CorrectionType | None
    rules: tuple[str, ...]
    decided_by: DecidedBy
    gate: GateCall
    rule: str
    look_back: bool
    status_only: bool = False
    settled: bool = False


def _is_unsure(opinion: Opinion, _: Evidence) -> bool:
    feedback = opinion.feedback
    return feedback == "neutral" or (feedback == "rejected" and opinion.confidence < ANNOUNCEMENT_THRESHOLD)


def _rejects_without_complaint(opinion: Opinion, e: Evidence) -> bool:
    return opinion.feedback == "rejected" and v.COMPLAINT.isdisjoint(e.kinds)


NEVER: Final = Override("never", lambda opinion, e: False)
BY_DOUBT: Final = Override(f"rejection below {CONTRADICTED}", lambda opinion, e: opinion.rejected < CONTRADICTED)
BY_REJECTION: Final = Override(f"rejection from {REFUSED}", lambda opinion, e: opinion.rejected >= REFUSED)
ALWAYS: Final = Override("always", lambda opinion, e: True, certain=False)
UNLESS_UNSURE: Final = Override(
    "unless neutral or an unsure rejection", lambda opinion, e: not _is_unsure(opinion, e), certain=False
)
UNLESS_REJECTED: Final = Override(
    "unless a rejection without a complaint",
    lambda opinion, e: not _rejects_without_complaint(opinion, e),
    certain=False,
)

NEUTRAL: Final = RuleVerdict("neutral", UNSURE)
REJECTED: Final = RuleVerdict("rejected", EXPLICIT, "explicit", "not_ok")
REPHRASED: Final = RuleVerdict("rejected", None, "rephrased", "not_ok")
GIVEN_UP: Final = RuleVerdict("rejected", ABANDONED, "abandonment", "not_ok")
NOT_UNDERSTOOD: Final = RuleVerdict("rejected", HELD, "explicit", "not_ok")
STATUS_ONLY: Final = RuleVerdict("accepted", UNSURE, status_only=True)
ACCEPTED: Final = RuleVerdict("accepted", CONTINUED)
APPROVED: Final = RuleVerdict("accepted", CONTINUED, gate="ok")
LEANS_AGAINST: Final = RuleVerdict("rejected", LEANING, "explicit", "not_ok")
LEANS_FOR: Final = RuleVerdict("accepted", LEANING, gate="ok")
HINTS_FOR: Final = RuleVerdict("accepted", HINT, gate="ok")


def _none(e: Evidence) -> tuple[str, ...]:
    return ()


def _rejections_and_approvals(e: Evidence) -> tuple[str, ...]:
    return cues.rejections(e) + _approvals(e)


def _surrenders(e: Evidence) -> tuple[str, ...]:
    return cues.names(e, frozenset({"abandon"}))


def _approvals(e: Evidence) -> tuple[str, ...]:
    return cues.names(e, v.APPROVAL)


def _closing(e: Evidence) -> tuple[str, ...]:
    return ("rule.closes", *_approvals(e))


def _approving(e: Evidence) -> tuple[str, ...]:
    return _approvals(e) + (cues.names(e, frozenset({"follow"})) or (("rule.asks_on",) if cues.asks_on(e) else ()))


def _cues_against(e: Evidence) -> tuple[str, ...]:
    return cues.names(e, v.CUES_AGAINST)


def _cues_for(e: Evidence) -> tuple[str, ...]:
    return cues.names(e, v.CUES_FOR)


def _asks_openly(e: Evidence) -> bool:
    return e.asks_openly


RULES: Final = (
    VerdictRule("rule.machine_text", (cues.is_by_machine,), NEUTRAL, NEVER),
    VerdictRule("rule.nothing_to_judge", (cues.has_nothing_to_judge,), NEUTRAL, NEVER, _none),
    VerdictRule("rule.declines_offer", (cues.is_decline,), NEUTRAL, NEVER),
    VerdictRule("rule.outweighs", (cues.has_approval, cues.has_strong_rejection), REJECTED, ALWAYS, cues.rejections),
    VerdictRule(
        "rule.for_and_against", (cues.has_approval, cues.has_rejection), NEUTRAL, ALWAYS, _rejections_and_approvals
    ),
    VerdictRule("rule.rejects_finally", (cues.has_final_rejection,), REJECTED, NEVER, cues.rejections),
    VerdictRule("rule.rejects", (cues.has_rejection,), REJECTED, BY_DOUBT, cues.rejections),
    VerdictRule("rule.silence", (cues.is_after_silence,), NEUTRAL, NEVER),
    VerdictRule("rule.resent", (cues.is_resent,), NEUTRAL, NEVER),
    VerdictRule("abstained.language", (cues.is_in_unread_language,), NEUTRAL, ALWAYS),
    VerdictRule("rule.other_request", (cues.asks_for_something_else,), STATUS_ONLY, UNLESS_REJECTED),
    VerdictRule("rule.same_request", (cues.asks_again,), REPHRASED, BY_DOUBT),
    VerdictRule("rule.gives_up_politely", (cues.has_surrender, cues.has_approval), GIVEN_UP, ALWAYS, _surrenders),
    VerdictRule("rule.gives_up", (cues.has_surrender,), GIVEN_UP, BY_DOUBT, _surrenders),
    VerdictRule("rule.agrees", (cues.is_agreement,), ACCEPTED, NEVER),
    VerdictRule("rule.closes_with_thanks", (cues.is_closing, cues.has_approval), APPROVED, BY_REJECTION, _closing),
    VerdictRule("rule.closes", (cues.is_closing,), ACCEPTED, NEVER),
    VerdictRule("rule.puzzled", (cues.is_puzzled,), NOT_UNDERSTOOD, NEVER),
    VerdictRule("rule.asks_agent", (cues.asks_about_agent,), NEUTRAL, NEVER),
    VerdictRule("rule.acknowledges", (cues.is_acknowledgement,), NEUTRAL, NEVER),
    VerdictRule("rule.new_topic", (cues.is_new_topic,), STATUS_ONLY, UNLESS_UNSURE),
    VerdictRule("rule.praises_and_goes_on", (cues.praises_and_goes_on,), APPROVED, BY_REJECTION, _approving),
    VerdictRule("rule.thanks_in_answer", (cues.is_plain_approval, _asks_openly), ACCEPTED, NEVER, _approving),
    VerdictRule("rule.thanks", (cues.is_plain_approval,), APPROVED, BY_REJECTION, _approving),
    VerdictRule("rule.approves_in_answer", (cues.has_approval, _asks_openly), ACCEPTED, ALWAYS, _approving),
    VerdictRule("rule.approves", (cues.has_approval,), APPROVED, ALWAYS, _approving),
    VerdictRule("rule.follows", (cues.has_follow_up,), ACCEPTED, ALWAYS, _approving),
    VerdictRule("rule.leans_against", (cues.has_cues_against,), LEANS_AGAINST, ALWAYS, _cues_against),
    VerdictRule("rule.leans_for", (cues.has_cues_for,), LEANS_FOR, ALWAYS, _cues_for),
    VerdictRule("rule.hints_for", (cues.has_cue_for,), HINTS_FOR, ALWAYS, _cues_for),
    VerdictRule("rule.nothing", (), NEUTRAL, ALWAYS, _none),
)


def match(e: Evidence) -> VerdictRule:
    """Return the first rule whose conditions all hold. The last rule has no conditions."""
    for rule in RULES:
        for condition in rule.conditions:
            if not condition(e):
                break
        else:
            return rule
    raise AssertionError("the last rule has no condition")


def decide(e: Evidence, opinion: Opinion | None) -> Decision:
    """Return the decision of the first matching rule, or of the learned layer if it overrides that rule."""
    rule = match(e)
    if opinion is not None and rule.override.overrides(opinion, e):
        return _learned(e, opinion)
    feedback, stated, correction_type, gate, status_only = rule.verdict
    confidence = e.sameness.similarity if stated is None else stated
    names = (rule.name,) if rule.names is None else rule.names(e)
    if gate == "ok" and (cap := cap_of("approval", confidence, e, learned=False)):
        gate, names = "neutral", (cap.name, *names)
    return Decision(
        feedback,
        confidence,
        correction_type,
        names,
        "rules",
        gate,
        rule.name,
        look_back=correction_type != "rephrased",
        status_only=status_only,
        settled=rule.override.certain,
    )


def _learned(e: Evidence, opinion: Opinion) -> Decision:
    feedback, gate, confidence = opinion.feedback, opinion.gate, opinion.confidence
    correction_type = opinion.correction_type if feedback == "rejected" else None
    names = tuple(pattern.name for pattern in e.found)
    cap = None
    if feedback == "rejected" or (feedback == "accepted" and gate == "ok"):
        cap = cap_of(correction_type or "approval", confidence, e, learned=True)
    if cap is not None:
        names = (cap.name, *names)
        gate, confidence = ("neutral", confidence) if cap.cap is None else (gate, min(confidence, cap.cap))
    return Decision(
        feedback,
        round(confidence, 6),
        correction_type,
        names + opinion.reasons,
        "learned",
        gate,
        "learned",
        look_back=feedback != "neutral",
    )


def announceable(e: Evidence) -> bool:
    """Return True if a rejection with probability 1 would be announced, i.e. is not capped."""
    return cap_of("explicit", 1.0, e, learned=True) is None
