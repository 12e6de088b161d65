"""Caps on the confidence of decisions about messages with a doubtful form.

The first row of `CAPS` that applies is used. Most rows keep a rejection by the learned layer below the announcement
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
    """Return True if the message answers a short question of the agent, without an explicit rejection."""
    return e.is_answer_to_question


def is_thankless_answer(e: Evidence) -> bool:
    """Return True if the message answers a short question of the agent, without thanks."""
    return e.asks_only and "thanks" not in e.kinds


def asks_for_other_detail(e: Evidence) -> bool:
    """Return True if the message makes the same request about something else, without a complaint.

    With a complaint, it may be a correction.
    """
    return e.has_other_detail and v.COMPLAINT.isdisjoint(e.kinds)


def is_order(e: Evidence) -> bool:
    """Return True for an order without a complaint. It is more often the next step than a correction."""
    if not v.ORDERS.isdisjoint(e.message.words[:1]) and v.COMPLAINT.isdisjoint(e.kinds):
        return True
    return cues.begins_with_task(e.message.said) and v.CORRECTING.isdisjoint(e.kinds)


def is_about_subject(e: Evidence) -> bool:
    """Return True for an aside, or for regret about the subject of the conversation ("Too bad, I wanted to go out")."""
    found = v.REGRET.search(e.message.text) or v.ASIDE.search(e.message.text)
    return found is not None and v.YOU.isdisjoint(e.message.words) and v.PLAIN_REJECTION.isdisjoint(e.kinds)


def is_about_code(e: Evidence) -> bool:
    """Return True if the answer has no words outside of code, and the message reports no program error.

    The learned layer is less reliable then, because it was trained on answers with words.
    """
    return not e.answer.words and not e.message.failed


def has_final_question(e: Evidence) -> bool:
    """Return True for a long message that ends with a question, without a complaint or a repeated request.

    The negative words of such a message are usually about its subject, not about the answer.
    """
    told = e.message.text.endswith("?") and len(e.message.words) > v.TOLD_WORDS
    return told and v.ASKED_AGAIN.isdisjoint(e.kinds)


def has_contradiction(e: Evidence) -> bool:
    """Return True if the message contains a failure, a negation or irony, which may contradict its approval."""
    said = v.HARMLESS.sub(" ", e.message.text)
    for veto in e.found:
        if veto.kind == "veto":
            said = veto.regex.sub(" ", said)
    if e.message.failed or v.HARM.search(said) or v.STATUS_CODE.search(said) or v.IRONY.search(said):
        return True
    return v.NEGATION.search(said) is not None


class Cap(NamedTuple):
    """Row of `CAPS`: a limit on the confidence of decisions of certain `kinds`, if `condition` holds.

    A row applies to decisions with a confidence of at least `at_least`. Decisions of rules are limited only if
    `rules_too`, those of the learned layer always. `cap` is the maximum confidence. If `cap` is None, the confidence is
    not changed, but the gate becomes neutral, so that an approval is not announced. `detector/reasons.py` describes
    each row by its name.
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

    `learned` is True if the learned layer made the decision.
    """
    for cap in _OF[kind]:
        if confidence >= cap.at_least and (learned or cap.rules_too) and cap.condition(e):
            return cap
    return None
