"""Correction detection: what a message says about the previous turn, by rules alone.

The order and the constants are the specification's: explicit rejection 0.9; the same request reworded, confidence =
similarity; abandonment 0.85; continuation, thanks or an action taken 0.7; else neutral 0.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from inference.evidence import Evidence
from inference.model import CorrectionType, Feedback
from inference.patterns import Kind

EXPLICIT: Final = 0.9
REPHRASED_ABOVE: Final = 0.8
ABANDONED: Final = 0.85
CONTINUED: Final = 0.7
UNSURE: Final = 0.5
#: The same request: how probable the same intent must be beside the similarity.
SAME_INTENT: Final = 0.7
#: Below this likeness to the exchange before it, a new request is a new topic.
UNRELATED: Final = 0.2
#: Silence after which only an explicit rejection still speaks about the answer.
SESSION_TIMEOUT_US: Final = 30 * 60 * 1_000_000
#: Messages of so few words can't be a reworded request.
REWORDED_WORDS: Final = 3

#: A message of more words than that is not decided by a word of approval in it.
APPROVAL_WORDS: Final = 10
_OPPOSING: Final[frozenset[Kind]] = frozenset(
    {"cue_reject", "cue_no", "cue_but", "cue_taste", "cue_other", "cue_repeat", "cue_clarify", "cue_ask"}
)

#: A "no, ..." turns an answer down only where the agent didn't ask something open, to which "no" is the reply.
_NEEDS_STATEMENT: Final = frozenset({"no_correction", "turn_down", "too_much"})


@dataclass(frozen=True, slots=True)
class Call:
    """A decision about the previous turn. `certain`: a rule alone decides, nothing speaks against it."""

    feedback: Feedback
    confidence: float
    correction_type: CorrectionType | None = None
    rules: tuple[str, ...] = ()
    certain: bool = False
    status_only: bool = False


NEUTRAL: Final = Call("neutral", UNSURE)


def correct(evidence: Evidence) -> Call:
    """The first rule that holds, in the order of the specification."""
    if not evidence.answered or evidence.message.empty:
        return NEUTRAL
    rejections = _explicit(evidence)
    approvals = evidence.names("thanks", "action")
    if rejections:
        if approvals and not _outweighs(rejections):
            return Call("neutral", UNSURE, None, rejections + approvals)
        return Call("rejected", EXPLICIT, "explicit", rejections, certain=not approvals)
    if evidence.silence > SESSION_TIMEOUT_US:
        return Call("neutral", UNSURE, None, ("rule.silence",), certain=True)
    if reworded(evidence):
        similarity = evidence.sameness.similarity
        return Call("rejected", similarity, "rephrased", ("rule.same_request",), certain=not approvals)
    abandoned = evidence.names("abandon")
    if abandoned:
        return Call("rejected", ABANDONED, "abandonment", abandoned, certain=not approvals)
    continued = evidence.names("follow")
    if approvals or continued:
        return Call("accepted", CONTINUED, None, approvals + continued, certain=_unopposed(evidence, bool(approvals)))
    if new_topic(evidence):
        return Call("accepted", UNSURE, None, ("rule.new_topic",), status_only=True)
    return NEUTRAL


def reworded(evidence: Evidence) -> bool:
    """The request before the answer, asked again in other words: alike, of the same intent, and no mere reply."""
    similarity, same_intent = evidence.sameness
    return similarity > REPHRASED_ABOVE and same_intent >= SAME_INTENT and may_reword(evidence)


def may_reword(evidence: Evidence) -> bool:
    """Whether the message can be the request again at all, however alike the two are."""
    return (
        len(evidence.message.words) >= REWORDED_WORDS
        and len(evidence.request.words) >= REWORDED_WORDS
        and not other_request(evidence)
        and not ("agent_asks" in evidence.answer_kinds and "cue_ask" not in evidence.kinds)
    )


def swapped(evidence: Evidence) -> bool:
    """Most words of the request again, with one or two others in place of some."""
    asked, said = evidence.request.content, evidence.message.content
    fresh = said - asked
    return bool(fresh and asked - said and len(fresh) <= 2 and 2 * len(asked & said) >= len(asked))


def other_request(evidence: Evidence) -> bool:
    """The same asked of something else: "Rome" where "Paris" stood, and the answer had dealt with Paris."""
    left_out = evidence.request.content - evidence.message.content
    return bool(left_out & evidence.answer.content) and swapped(evidence)


def _explicit(evidence: Evidence) -> tuple[str, ...]:
    """Names of the explicit rejections, without those that the message itself or the agent's question disarm."""
    names = evidence.names("reject")
    if not names:
        return ()
    if "veto" in evidence.kinds and len(names) < 2:
        return ()
    if "agent_asks" in evidence.answer_kinds and "agent_confirms" not in evidence.answer_kinds:
        return tuple(n for n in names if n.partition(".")[2] not in _NEEDS_STATEMENT)
    return names


def _outweighs(rejections: tuple[str, ...]) -> bool:
    """More than one rejection beats a polite word."""
    return len(rejections) > 1


def _unopposed(evidence: Evidence, approved: bool) -> bool:
    """A short word of approval with nothing against it; in a longer message it may be about anything."""
    return approved and len(evidence.message.words) <= APPROVAL_WORDS and not _OPPOSING & evidence.kinds


def new_topic(evidence: Evidence) -> bool:
    """A request of its own that has nothing to do with the exchange before it."""
    return (
        evidence.relatedness < UNRELATED
        and len(evidence.message.words) >= REWORDED_WORDS
        and bool({"cue_topic", "cue_ask"} & evidence.kinds)
        and "agent_asks" not in evidence.answer_kinds
    )
