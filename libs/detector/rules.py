"""Rules that turn patterns into verdicts, in the specification's order of precedence.

These rules decide for languages other than English. In English they are also evidence, which the classifier weighs
(see `classifier`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from detector.evidence import REPHRASED_ABOVE, Evidence
from detector.language import UNREAD
from detector.model import CorrectionType, Feedback, GateCall
from detector.patterns import Kinds
from detector.requests import swaps_word

#: Time after an answer, in microseconds, beyond which only an explicit rejection is feedback on the answer.
SESSION_TIMEOUT_US: Final = 30 * 60 * 1_000_000
#: Similarity to the previous exchange below which a message may be a new topic.
UNRELATED: Final = 0.2
#: Confidences given by the specification.
EXPLICIT: Final = 0.9
ABANDONED: Final = 0.85
CONTINUED: Final = 0.7
UNSURE: Final = 0.5
#: Confidence of a hint, which is not announced.
HINT: Final = 0.62
#: Minimum number of words of both the message and the request for a message to ask again.
REWORDED_WORDS: Final = 3

_OBJECTION: Final[Kinds] = frozenset({"reject", "abandon", "cue_but", "cue_ask", "cue_other", "cue_repeat"})
_APPROVAL: Final[Kinds] = frozenset({"thanks", "action"})
_COURTESY: Final[Kinds] = frozenset({"thanks", "action", "cue_yes", "cue_bye", "acknowledge", "postpone"})
_QUESTIONS: Final[Kinds] = frozenset({"agent_asks", "agent_closes", "agent_proposes"})
_AGAINST: Final[Kinds] = frozenset({"cue_taste", "cue_clarify", "cue_repeat", "cue_reject", "cue_other"})
_RESPONSE: Final[Kinds] = _APPROVAL | frozenset(
    {"reject", "abandon", "reject_stated", "restate", "cue_no", "cue_yes", "cue_clarify", "cue_repeat"}
)


class RuleVerdict(NamedTuple):
    """Verdict of a rule. If `confidence` is None, it is the similarity of the message to the previous request."""

    feedback: Feedback
    confidence: float | None
    correction_type: CorrectionType | None = None
    gate: GateCall = "neutral"
    is_new_topic: bool = False


class Rule(NamedTuple):
    """Row of the table `RULES`: the first row whose condition holds gives the verdict. `reasons` describes each row."""

    name: str
    condition: Callable[[Evidence], bool]
    verdict: RuleVerdict


NEUTRAL: Final = RuleVerdict("neutral", UNSURE)


def has_nothing_to_judge(e: Evidence) -> bool:
    """Return True if the message is not addressed to an answer, or contains no words."""
    return not e.answered or not e.message.words


def declines_offer(e: Evidence) -> bool:
    """Return True if the person declines an action that the agent proposed ("not now"), which is not feedback."""
    if "agent_proposes" not in e.answer_kinds or "agent_closes" in e.answer_kinds:
        return False
    plain_no = "cue_no" in e.kinds and len(e.message.words) <= 2
    return e.is_short and (plain_no or "postpone" in e.kinds) and not _OBJECTION & e.kinds


def approves(e: Evidence) -> bool:
    """Return True if the message contains thanks or praise, or accepts an offer."""
    return not _APPROVAL.isdisjoint(e.kinds)


def rejects(e: Evidence) -> bool:
    """Return True if the message contains an explicit rejection."""
    return bool(_rejections(e))


def approves_and_rejects(e: Evidence) -> bool:
    """Return True if the message contains an approval and one rejection, without a "but"."""
    return approves(e) and len(_rejections(e)) == 1 and not {"cue_but", "reject"} <= e.kinds


def _rejections(e: Evidence) -> list[str]:
    """Return the names of the patterns and rules by which the message rejects the answer explicitly.

    A veto cancels a single rejection. A stated rejection (`reject_stated`) does not count after an open question.
    """
    kinds: Kinds = frozenset({"reject", "abandon"} if e.asks_openly else {"reject", "reject_stated"})
    if e.asks_openly:
        kinds -= {"abandon"}
    names = [pattern.name for pattern in e.matches if pattern.kind in kinds]
    if "veto" in e.kinds and len(names) < 2:
        return []
    if "agent_suggests" in e.answer_kinds:
        # After "Have you seen it?", "No, I ..." is an answer. Only a rejection of the suggestion itself counts.
        names = [name for name in names if name != "en.no_correction"]
    repeats = "cue_no" in e.kinds and e.repeats_request
    if repeats or corrects_confirmation(e) or is_bare_no(e) or adds_detail(e):
        names.append("no")
    return names


def corrects_confirmation(e: Evidence) -> bool:
    """Return True if the message corrects a detail that the agent wanted confirmed ("No, on Saturday")."""
    confirms = "agent_confirms" in e.answer_kinds and "agent_closes" not in e.answer_kinds
    return confirms and "cue_no" in e.kinds and not {"veto", "postpone"} & e.kinds and len(e.message.words) > 2


def is_bare_no(e: Evidence) -> bool:
    """Return True if the message is just "no", in reply to an agent's message that asks nothing."""
    few = len(e.message.words) <= 2 and (e.language != "zh" or len(e.message.text) <= 4)
    bare = few and "cue_no" in e.kinds and not {"veto", "postpone", "thanks"} & e.kinds
    return bare and not _QUESTIONS & e.answer_kinds


def adds_detail(e: Evidence) -> bool:
    """Return True if the message repeats the request with an additional detail, as in "I want gaming laptops"."""
    if "restate" not in e.kinds or {"agent_asks", "agent_fails"} & e.answer_kinds:
        return False
    named = e.message.words[-1]
    fresh = e.message.content - e.request.content - {named}
    return named in e.request.content & e.answer.content and len(fresh) > 1


def is_after_silence(e: Evidence) -> bool:
    """Return True if the message was sent more than half an hour after the answer."""
    return e.silence > SESSION_TIMEOUT_US


def is_unread(e: Evidence) -> bool:
    """Return True if the detector has no patterns for the message's language."""
    return e.language == UNREAD


def asks_again(e: Evidence) -> bool:
    """Return True if the message repeats the previous request and uses no words that only the answer has."""
    return (
        min(len(e.message.words), len(e.request.words)) >= REWORDED_WORDS
        and e.repeats_request
        and not e.takes_up_answer
        and not _COURTESY & e.kinds
        and not {"agent_asks", "agent_confirms"} & e.answer_kinds
    )


def asks_other(e: Evidence) -> bool:
    """Return True if the message repeats the previous request with another detail ("laptops under $500")."""
    is_swapped = swaps_word(e.message, e.request, e.answer)
    return is_swapped or (e.similarity > REPHRASED_ABOVE and e.asks_otherwise)


def gives_up(e: Evidence) -> bool:
    """Return True if the person gives up on the previous request."""
    return "abandon" in e.kinds


def agrees(e: Evidence) -> bool:
    """Return True if the message is a short yes to a proposal or to a request for confirmation."""
    if not {"agent_proposes", "agent_confirms"} & e.answer_kinds or "agent_closes" in e.answer_kinds:
        return False
    yes = e.is_short and {"cue_yes", "action", "thanks"} & e.kinds
    return bool(yes) and not ({"cue_no", "reject_stated"} | _OBJECTION) & e.kinds


def closes(e: Evidence) -> bool:
    """Return True if the message is a short "no, that's all" in reply to "anything else?"."""
    done = "agent_closes" in e.answer_kinds and {"cue_no", "postpone", "veto", "cue_bye"} & e.kinds
    return bool(done) and e.is_short and not ({"reject_stated", "cue_want"} | _OBJECTION) & e.kinds


def closes_with_thanks(e: Evidence) -> bool:
    """Return True if the message closes the conversation (see `closes`) with thanks."""
    return closes(e) and approves(e)


def acknowledges(e: Evidence) -> bool:
    """Return True if the message merely acknowledges ("ok", "hmm") an answer that contains no question or proposal."""
    return "acknowledge" in e.kinds and not {"agent_asks", "agent_proposes"} & e.answer_kinds


def takes(e: Evidence) -> bool:
    """Return True if the message is a short decision for the answer ("I'll go with that one")."""
    return "action" in e.kinds and e.is_short and not _OBJECTION & e.kinds and not e.asks_openly


def begins_new_topic(e: Evidence) -> bool:
    """Return True if the message is a request unrelated to the previous request and its answer."""
    first = e.message.words[:3]
    return (
        max(e.similarity, e.answer_similarity) < UNRELATED
        and len(e.message.words) >= 2
        and not _RESPONSE & e.kinds
        and "agent_asks" not in e.answer_kinds
        # A few words without a pronoun are usually search words or an order.
        and (bool({"cue_topic", "cue_ask"} & e.kinds) or (e.is_short and _PRONOUNS.isdisjoint(first)))
        and e.message.content.isdisjoint(e.request.content | e.answer.content)
    )


_PRONOUNS: Final = frozenset({"i", "it", "that", "this", "you", "they"})


def approves_in_answer(e: Evidence) -> bool:
    """Return True if the message approves in reply to an open question of the agent."""
    return approves(e) and e.asks_openly


def builds_on_answer(e: Evidence) -> bool:
    """Return True for a follow-up, or a question that rejects nothing and follows no question of the agent."""
    if "follow" in e.kinds:
        return True
    asks = "cue_ask" in e.kinds and "agent_asks" not in e.answer_kinds
    return asks and e.kinds.isdisjoint({"reject", "reject_stated", "abandon", "cue_clarify", "cue_repeat", "cue_no"})


def hints_approval(e: Evidence) -> bool:
    """Return True if the message has a word of praise or a yes and nothing against the answer."""
    asks = "agent_asks" in e.answer_kinds and "agent_confirms" not in e.answer_kinds
    return bool({"cue_praise", "cue_yes"} & e.kinds) and _AGAINST.isdisjoint(e.kinds) and not asks


RULES: Final = (
    Rule("nothing_to_judge", has_nothing_to_judge, NEUTRAL),
    Rule("declines_offer", declines_offer, NEUTRAL),
    Rule("for_and_against", approves_and_rejects, NEUTRAL),
    Rule("rejects", rejects, RuleVerdict("rejected", EXPLICIT, "explicit", "not_ok")),
    Rule("silence", is_after_silence, NEUTRAL),
    Rule("language", is_unread, NEUTRAL),
    Rule("other_request", asks_other, RuleVerdict("accepted", UNSURE, is_new_topic=True)),
    Rule("same_request", asks_again, RuleVerdict("rejected", None, "rephrased", "not_ok")),
    Rule("gives_up", gives_up, RuleVerdict("rejected", ABANDONED, "abandonment", "not_ok")),
    Rule("agrees", agrees, RuleVerdict("accepted", CONTINUED)),
    Rule("closes_with_thanks", closes_with_thanks, RuleVerdict("accepted", CONTINUED, None, "ok")),
    Rule("closes", closes, RuleVerdict("accepted", CONTINUED)),
    Rule("acknowledges", acknowledges, NEUTRAL),
    Rule("takes", takes, RuleVerdict("accepted", CONTINUED, None, "ok")),
    Rule(
        "new_topic",
        begins_new_topic,
        RuleVerdict("accepted", UNSURE, is_new_topic=True),
    ),
    Rule("approves_in_answer", approves_in_answer, RuleVerdict("accepted", CONTINUED)),
    Rule("approves", approves, RuleVerdict("accepted", CONTINUED, None, "ok")),
    Rule("follows", builds_on_answer, RuleVerdict("accepted", CONTINUED)),
    Rule("hints", hints_approval, RuleVerdict("accepted", HINT, None, "ok")),
    Rule("nothing_said", lambda e: True, NEUTRAL),
)


def first_rule(e: Evidence) -> Rule:
    """Return the first rule whose condition holds. The last rule's condition always holds."""
    return next(rule for rule in RULES if rule.condition(e))
