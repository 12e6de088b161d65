"""Correction detection: what a message says about the previous turn, by rules alone.

The order and the constants are the specification's: explicit rejection 0.9; the same request reworded, confidence =
similarity; abandonment 0.85; continuation, thanks or an action taken 0.7; else neutral 0.5. What answers the agent's
own question or offer is no feedback on its work.
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
#: The pattern of a dislike in the first person.
TASTE: Final = "en.not_my_taste"
#: Said of a rejection that is likely, and that something else speaks against announcing.
HELD: Final = ANNOUNCED_FROM - 0.01
#: The same request: how probable the same intent must be beside the similarity.
SAME_INTENT: Final = 0.7
#: Silence after which only an explicit rejection still speaks about the answer.
SESSION_TIMEOUT_US: Final = 30 * 60 * 1_000_000
#: Messages of so few words can't be a reworded request.
REWORDED_WORDS: Final = 3

#: A message of more words than that is not decided by a word of approval in it.
APPROVAL_WORDS: Final = 10
_OPPOSING: Final[frozenset[Kind]] = frozenset(
    {"cue_reject", "cue_no", "cue_but", "cue_taste", "cue_other", "cue_repeat", "cue_clarify", "cue_ask"}
)


#: What says thanks, yes or goodbye is no request, however often it is said.
_NO_REQUEST: Final[frozenset[Kind]] = frozenset({"thanks", "action", "cue_yes", "cue_bye", "acknowledge", "postpone"})


@dataclass(frozen=True, slots=True)
class Call:
    """A decision about the previous turn.

    `certain`: a rule alone decides, nothing speaks against it. `approves`: an acceptance that praises or takes the
    answer; one that only builds on it doesn't. `firm`: it stands whatever the learned layer makes of it, to which
    any question speaks against a rejection, and a taste is an answer.
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
NEUTRAL: Final = Call("neutral", UNSURE)


def correct(evidence: Evidence) -> Call:
    """The first rule that holds, in the order of the specification."""
    if not evidence.answered or evidence.message.empty:
        return NEUTRAL
    approvals = evidence.names("thanks", "action")
    if declines(evidence):
        return Call("neutral", UNSURE, None, ("rule.declines_offer",), certain=True)
    if rejections := _explicit(evidence):
        if approvals and not _outweighs(evidence, rejections):
            return Call("neutral", UNSURE, None, rejections + approvals)
        suggested = "agent_suggests" in evidence.answer_kinds
        firm = suggested or (TASTE in rejections and "cue_but" not in evidence.kinds)
        return Call("rejected", EXPLICIT, "explicit", rejections, certain=not approvals, firm=firm)
    if evidence.silence > SESSION_TIMEOUT_US:
        return Call("neutral", UNSURE, None, ("rule.silence",), certain=True)
    return _repeated(evidence) or _left(evidence) or _taken(evidence, approvals)


def _repeated(evidence: Evidence) -> Call | None:
    """The request before the answer again: in other words, word for word, or of something else."""
    if resent(evidence):
        return Call("neutral", UNSURE, None, ("rule.resent",), certain=True)
    if not _alike(evidence):
        return None
    if other_request(evidence):
        return Call("accepted", UNSURE, None, OTHER_REQUEST, status_only=True)
    if not may_reword(evidence):
        return None
    similarity = evidence.sameness.similarity
    return Call("rejected", similarity, "rephrased", ("rule.same_request",), certain=not evidence.names("thanks"))


def _left(evidence: Evidence) -> Call | None:
    """Giving up on the request."""
    abandoned = evidence.names("abandon")
    if not abandoned:
        return None
    return Call("rejected", ABANDONED, "abandonment", abandoned, certain=not evidence.names("thanks", "action"))


def _taken(evidence: Evidence, approvals: tuple[str, ...]) -> Call:
    """Agreement with what the agent asked, thanks, taking the answer, building on it, or a topic of its own."""
    if agrees(evidence):
        return Call("accepted", CONTINUED, None, ("rule.agrees",), certain=True)
    if closes(evidence):
        return Call("accepted", CONTINUED, None, ("rule.closes", *approvals), certain=True, approves=bool(approvals))
    if puzzled(evidence):
        return Call("rejected", HELD, "explicit", ("rule.puzzled",), certain=True, firm=True)
    if asks_agent(evidence):
        return Call("neutral", UNSURE, None, ("rule.asks_agent",), certain=True)
    if acknowledges(evidence):
        return Call("neutral", UNSURE, None, ("rule.acknowledges",), certain=True)
    if new_topic(evidence):
        return Call("accepted", UNSURE, None, ("rule.new_topic",), status_only=True)
    continued = evidence.names("follow") or asks_on(evidence)
    if approvals or continued:
        return Call(
            "accepted",
            CONTINUED,
            None,
            approvals + continued,
            certain=_unopposed(evidence, bool(approvals)),
            approves=bool(approvals) and not asked_openly(evidence),
        )
    return NEUTRAL


def reworded(evidence: Evidence) -> bool:
    """The request before the answer, asked again in other words: alike, of the same intent, and no mere reply."""
    return _alike(evidence) and may_reword(evidence)


def _alike(evidence: Evidence) -> bool:
    similarity, same_intent = evidence.sameness
    return similarity > REPHRASED_ABOVE and same_intent >= SAME_INTENT


def may_reword(evidence: Evidence) -> bool:
    """Return True if the message can reword the request, however alike the two are. Measured in English only."""
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
    """Names of the explicit rejections, without those that the message itself or the agent's question disarm."""
    names = evidence.names("reject", "reject_stated")
    if names and "veto" in evidence.kinds and len(names) < 2:
        return ()
    if asked_openly(evidence):
        names = evidence.names("reject")
    elif "agent_suggests" in evidence.answer_kinds:
        # "Have you seen it?" "No, I ..." tells: only what is said against the thing itself turns it down.
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
    """More than one rejection beats a polite word, and so does a plain one with a "but": "thanks, but that's wrong"."""
    return len(rejections) > 1 or {"cue_but", "reject"} <= evidence.kinds


def _unopposed(evidence: Evidence, approved: bool) -> bool:
    """A short word of approval with nothing against it; in a longer message it may be about anything."""
    return approved and len(evidence.message.words) <= APPROVAL_WORDS and not _OPPOSING & evidence.kinds
