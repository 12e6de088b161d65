"""Caps on the confidence of decisions about ambiguous messages.

The first row of `CAPS` that matches is applied. Most rows keep a rejection by the learned layer below the announcement
threshold. `agent-feedback explain --rules` prints the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from contracts.announcement_threshold import ANNOUNCEMENT_THRESHOLD
from detector import cues
from detector import vocabulary as v
from detector.evidence import Evidence
from detector.model import CorrectionType

#: Maximum confidence of a probable rejection that must not be announced.
HELD: Final = ANNOUNCEMENT_THRESHOLD - 0.01
UNSURE: Final = 0.5

Capped = CorrectionType | Literal["approval"]
_REJECTIONS: Final[tuple[Capped, ...]] = ("explicit", "rephrased", "abandonment")


def is_answer_to_question(e: Evidence) -> bool:
    """Return True if the message answers a short question of the agent and contains no explicit rejection."""
    return e.is_answer_to_question


def is_thankless_answer(e: Evidence) -> bool:
    """Return True if the message answers a short question of the agent without thanking it."""
    return e.asks_only and "thanks" not in e.kinds


def asks_for_other_detail(e: Evidence) -> bool:
    """Return True if the message repeats the previous request with a different detail and does not complain.

    If it also complains, it may be correcting the answer.
    """
    return e.has_other_detail and v.COMPLAINT.isdisjoint(e.kinds)


def is_order(e: Evidence) -> bool:
    """Return True if the message is an instruction without a complaint.

    Such a message usually asks for the next step and does not correct the answer.
    """
    if not v.ORDERS.isdisjoint(e.message.words[:1]) and v.COMPLAINT.isdisjoint(e.kinds):
        return True
    return cues.begins_with_task(e.message.said) and v.CORRECTING.isdisjoint(e.kinds)


def is_about_subject(e: Evidence) -> bool:
    """Return True if the message is a side remark or regrets something ("Too bad, I wanted to go out")."""
    found = v.REGRET.search(e.message.text) or v.ASIDE.search(e.message.text)
    return found is not None and v.YOU.isdisjoint(e.message.words) and v.PLAIN_REJECTION.isdisjoint(e.kinds)


def is_about_code(e: Evidence) -> bool:
    """Return True if the answer consists only of code and the message does not report a program error.

    The learned layer was trained on answers that contain prose and is less reliable otherwise.
    """
    return not e.answer.words and not e.message.failed


def has_final_question(e: Evidence) -> bool:
    """Return True if a long message ends with a question, without complaining or repeating the request.

    Negative words in such a message usually refer to its subject and not to the answer.
    """
    told = e.message.text.endswith("?") and len(e.message.words) > v.TOLD_WORDS
    return told and v.ASKED_AGAIN.isdisjoint(e.kinds)


def has_contradiction(e: Evidence) -> bool:
    """Return True if the message mentions a failure, contains a negation, or sounds ironic.

    Any of these may contradict an approval in the same message.
    """
    said = v.HARMLESS.sub(" ", e.message.text)
    for veto in e.found:
        if veto.kind == "veto":
            said = veto.regex.sub(" ", said)
    if e.message.failed or v.HARM.search(said) or v.STATUS_CODE.search(said) or v.IRONY.search(said):
        return True
    return v.NEGATION.search(said) is not None


class Cap(NamedTuple):
    """Row of the table `CAPS`, which limits the confidence of certain decisions.

    `detector/reasons.py` contains a description of each row, keyed by its name.

    Attributes:
        condition: The condition under which the row applies.
        cap: The maximum confidence. If it is None, the confidence is unchanged, but the gate (the stricter verdict)
            becomes neutral, so that an approval is not announced.
        kinds: The kinds of decisions that the row applies to.
        at_least: The minimum confidence of decisions that the row applies to.
        rules_too: True if the row applies to decisions of rules as well as to those of the learned layer.
    """

    name: str
    condition: Callable[[Evidence], bool]
    cap: float | None
    kinds: tuple[Capped, ...] = _REJECTIONS
    at_least: float = ANNOUNCEMENT_THRESHOLD
    rules_too: bool = False


CAPS: Final = (
    Cap("rule.answers_question", is_answer_to_question, HELD),
    Cap("rule.other_request", asks_for_other_detail, HELD),
    Cap("rule.orders_on", is_order, HELD),
    Cap("rule.about_the_matter", is_about_subject, HELD),
    Cap("rule.nothing_said", is_about_code, HELD),
    Cap("rule.asks_on", has_final_question, UNSURE, ("explicit", "abandonment"), at_least=0.0),
    Cap("rule.answers_question", is_thankless_answer, None, ("approval",), at_least=0.0),
    Cap("rule.mixed", has_contradiction, None, ("approval",), at_least=0.0, rules_too=True),
)
_OF: Final = {kind: tuple(cap for cap in CAPS if kind in cap.kinds) for kind in (*_REJECTIONS, "approval")}


def cap_of(kind: Capped, confidence: float, e: Evidence, *, learned: bool) -> Cap | None:
    """Return the first cap that applies to a decision of this kind and confidence, or None.

    `learned` must be True if the learned layer made the decision.
    """
    for cap in _OF[kind]:
        if confidence >= cap.at_least and (learned or cap.rules_too) and cap.condition(e):
            return cap
    return None
