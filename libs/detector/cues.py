"""Conditions used by the rules. Each function tests one property of a message in its context. No I/O.

`Evidence` describes the message and its context. `Evidence.kinds` contains the kinds of patterns that match the
person's message, and `Evidence.answer_kinds` those that match the preceding agent's message (`patterns/table.py`).
"""

from __future__ import annotations

from detector import vocabulary as v
from detector.evidence import Evidence
from detector.language import UNREAD
from detector.patterns import human_hits
from detector.text import prepare


def names(e: Evidence, kinds: v.Kinds) -> tuple[str, ...]:
    """Return the names of all patterns of the given kinds that match the message."""
    return tuple(p.name for p in e.found if p.kind in kinds)


def is_by_machine(e: Evidence) -> bool:
    """Return True if the message was written by a client program and not by the person."""
    return e.message.by_machine


def has_nothing_to_judge(e: Evidence) -> bool:
    """Return True if the message is not addressed to an answer, or contains neither words nor an error message."""
    return not e.answered or e.message.empty


def is_in_unread_language(e: Evidence) -> bool:
    """Return True if the detector has no patterns for the message's language."""
    return e.language == UNREAD


def is_after_silence(e: Evidence) -> bool:
    """Return True if the message was sent more than half an hour after the answer."""
    return e.silence > v.SESSION_TIMEOUT_US


def is_decline(e: Evidence) -> bool:
    """Return True if the person declines an action that the agent proposed ("not now"), which is not feedback."""
    if "agent_proposes" not in e.answer_kinds or "agent_closes" in e.answer_kinds:
        return False
    plain_no = "cue_no" in e.kinds and len(e.message.words) <= 2
    return e.is_short and (plain_no or "postpone" in e.kinds) and not v.OBJECTION & e.kinds


def is_agreement(e: Evidence) -> bool:
    """Return True if the message is a short yes to a proposal or to a request for confirmation."""
    if not {"agent_proposes", "agent_confirms"} & e.answer_kinds or "agent_closes" in e.answer_kinds:
        return False
    yes = e.is_short and {"cue_yes", "action", "thanks"} & e.kinds
    return bool(yes) and not ({"cue_no", "reject_stated"} | v.OBJECTION) & e.kinds


def is_closing(e: Evidence) -> bool:
    """Return True if the message is a short "no, that's all" in reply to "anything else?"."""
    done = "agent_closes" in e.answer_kinds and {"cue_no", "postpone", "veto", "cue_bye"} & e.kinds
    return bool(done) and e.is_short and not ({"reject_stated", "cue_want"} | v.OBJECTION) & e.kinds


def is_acknowledgement(e: Evidence) -> bool:
    """Return True if the message merely acknowledges ("ok", "hmm") an answer that contains no question or proposal."""
    return "acknowledge" in e.kinds and not {"agent_asks", "agent_proposes"} & e.answer_kinds


def is_puzzled(e: Evidence) -> bool:
    """Return True if the message is a short expression of confusion, such as "What are you talking about?".

    Works only for English, because the rule has not been measured on other languages.
    """
    return "cue_clarify" in e.kinds and e.language == "en" and e.is_short and "thanks" not in e.kinds


def asks_about_agent(e: Evidence) -> bool:
    """Return True if the message asks about the agent itself. Such small talk is not feedback."""
    return "ask_agent" in e.kinds and "agent_asks" not in e.answer_kinds and not {"thanks", "cue_want"} & e.kinds


def begins_with_task(text: str) -> bool:
    """Return True if a text begins with an instruction to do something, such as "ok, now add a map".

    A mere interruption such as "stop, it is the other one" does not count.
    """
    first = text.split(maxsplit=v.LEAD_WORDS + 1)[: v.LEAD_WORDS + 1]
    return next((word for word in first if word.rstrip(",.!:") not in v.LEADS), "") in v.TASKS


def praises_and_goes_on(e: Evidence) -> bool:
    """Return True if the message begins with praise and then continues with requests. English only.

    After the opening, each sentence must be praise or a request, and at least one must be a request.
    """
    if "thanks" not in e.kinds or e.language != "en" or e.asks_only or "cue_no" in e.kinds:
        return False
    praise, *rest = v.SENTENCE_END.split(e.message.text)
    opening = _praises(praise)
    if not opening or v.HEARSAY.search(praise):
        return False
    if len(praise.split()) < v.PRAISE_WORDS and v.SUCCESS.isdisjoint(opening):
        return False
    asked = [_asks_or_orders(sentence) for sentence in rest]
    return any(asked) and all(asks or _praises(one) for asks, one in zip(asked, rest, strict=True))


def _praises(sentence: str) -> tuple[str, ...]:
    """Return the names of the thanks and praise patterns that match a sentence."""
    return tuple(pattern.name for pattern in human_hits(prepare(sentence)) if pattern.kind == "thanks")


def _asks_or_orders(sentence: str) -> bool:
    """Return True if a sentence is a question, a wish, or an order that starts with its verb."""
    return sentence.endswith("?") or bool(v.REQUEST.search(sentence)) or begins_with_task(sentence)


def has_surrender(e: Evidence) -> bool:
    """Return True if the person gives up on the previous request."""
    return "abandon" in e.kinds


def has_approval(e: Evidence) -> bool:
    """Return True if the message contains thanks or praise, or accepts an offer."""
    return not v.APPROVAL.isdisjoint(e.kinds)


def is_plain_approval(e: Evidence) -> bool:
    """Return True if the message is a short approval with nothing that contradicts it.

    The approval in a longer message may refer to anything.
    """
    return has_approval(e) and len(e.message.words) <= v.APPROVAL_WORDS and not v.DOUBT & e.kinds


def has_follow_up(e: Evidence) -> bool:
    """Return True if the message builds on the answer, for example with a follow-up question."""
    return "follow" in e.kinds or asks_on(e)


def asks_on(e: Evidence) -> bool:
    """Return True if the message asks a question after an answer, in a language other than English.

    Such a question usually builds on the answer. English questions are left to the learned layer.
    """
    asks = e.language != "en" and "cue_ask" in e.kinds and "agent_asks" not in e.answer_kinds
    return asks and not v.NO_FOLLOW_UP & e.kinds


def has_rejection(e: Evidence) -> bool:
    """Return True if the message contains an explicit rejection."""
    return bool(rejections(e))


def has_strong_rejection(e: Evidence) -> bool:
    """Return True if the message contains a rejection that outweighs any approval in it.

    Either there are several rejections, or there is a plain rejection and the message also contains a "but".
    """
    found = rejections(e)
    return len(found) > 1 or bool(found and {"cue_but", "reject"} <= e.kinds)


def has_final_rejection(e: Evidence) -> bool:
    """Return True if the message rejects a suggestion, or expresses dislike without a "but".

    The learned layer misjudges both cases, so it cannot override the rule.
    """
    found = rejections(e)
    return bool(found) and ("agent_suggests" in e.answer_kinds or (v.TASTE in found and "cue_but" not in e.kinds))


def rejections(e: Evidence) -> tuple[str, ...]:
    """Return the names of the explicit rejections in the message.

    A single rejection is dropped if the message also matches a veto, i.e. a pattern that makes it harmless. Rejections
    that merely answer a question of the agent are dropped as well.
    """
    if v.REJECTING.isdisjoint(e.kinds):
        return ()
    found = names(e, v.REJECTION)
    if found and "veto" in e.kinds and len(found) < 2:
        return ()
    if e.asks_openly:
        found = names(e, v.PLAIN_REJECTION - {"abandon"})
    elif "agent_suggests" in e.answer_kinds:
        # After "Have you seen it?", "No, I ..." is an answer. Only a rejection of the suggestion itself counts.
        found = tuple(name for name in found if name != "en.no_correction")
    if v.TASTE in found and not is_taste_of_answer(e):
        found = tuple(name for name in found if name != v.TASTE)
    if is_correction_of_detail(e):
        found += ("rule.corrects_confirmation",)
    if "cue_no" in e.kinds and e.is_alike:
        found += ("rule.no_again",)
    if is_bare_no(e):
        found += ("rule.bare_no",)
    if has_request_with_addition(e):
        found += names(e, frozenset({"restate"}))
    if has_meant_request(e):
        found += names(e, frozenset({"meant"}))
    return found


def is_taste_of_answer(e: Evidence) -> bool:
    """Return True if a dislike in the message is about the answer.

    This requires an answer that recommends something, or a pronoun in the message that may refer to the answer.
    """
    recommended = {"agent_suggests", "agent_offers"} & e.answer_kinds
    pronouns = not (v.PRONOUNS | v.DEMONSTRATIVES).isdisjoint(e.message.words)
    return bool(recommended) or (pronouns and not v.OF_OTHERS.search(e.message.text))


def is_correction_of_detail(e: Evidence) -> bool:
    """Return True if the message corrects a detail that the agent wanted confirmed ("No, on Saturday")."""
    asked = "agent_confirms" in e.answer_kinds and "agent_closes" not in e.answer_kinds
    said = "cue_no" in e.kinds and not {"veto", "postpone"} & e.kinds and len(e.message.words) > 2
    return asked and said and not v.ASKS_FOR_TIME.search(e.message.text)


def is_bare_no(e: Evidence) -> bool:
    """Return True if the message is just "no", in reply to an agent's message that asks nothing."""
    few = len(e.message.words) <= 2 and (e.language not in {"zh", "ja"} or len(e.message.text) <= v.BARE_CHARACTERS)
    bare = few and "cue_no" in e.kinds and not {"veto", "postpone", "thanks"} & e.kinds
    return bare and not v.QUESTIONS & e.answer_kinds


def has_request_with_addition(e: Evidence) -> bool:
    """Return True if the message repeats the request with an additional detail.

    For example, "I want gaming laptops" after a request for laptops.
    """
    if "restate" not in e.kinds or {"agent_asks", "agent_fails"} & e.answer_kinds:
        return False
    named = e.message.words[-1]
    fresh = e.message.content - e.request.content - {named}
    return named in e.request.content & e.answer.content and len(fresh) > 1


def has_meant_request(e: Evidence) -> bool:
    """Return True if the message explains the original request, as in "I wanted to know when it ended"."""
    if "meant" not in e.kinds or "agent_asks" in e.answer_kinds:
        return False
    return not (e.message.content.isdisjoint(e.request.content) and v.PRONOUNS.isdisjoint(e.message.words))


def is_resent(e: Evidence) -> bool:
    """Return True if the message repeats the previous request word for word without rejecting the answer.

    This happens, for example, if the answer was truncated or if the person asks for it "again". However, a verbatim
    repetition counts as a rejection if the answer failed, or if the answer was complete and the request is short.
    """
    asked, said = e.request, e.message
    if "again" in said.words and "again" not in asked.words:
        fresh, known = ([word for word in one.words if word not in v.ONCE_MORE] for one in (said, asked))
        if fresh == known:
            return "agent_fails" not in e.answer_kinds
    if said.text != asked.text or not said.words:
        return False
    if "agent_asks" in e.answer_kinds:
        return True
    is_typed_again = e.answer.text[-1:] in v.SENTENCE_ENDS and len(said.words) <= v.TYPED_WORDS
    return "agent_fails" not in e.answer_kinds and not is_typed_again


def asks_for_something_else(e: Evidence) -> bool:
    """Return True if the message repeats the previous request with a different detail."""
    return e.is_alike and e.has_other_detail


def asks_again(e: Evidence) -> bool:
    """Return True if the message repeats the previous request in other words."""
    return e.is_alike and may_reword(e)


def may_reword(e: Evidence) -> bool:
    """Return True if the message may be a rephrased request, judging by its form. English only.

    The similarity of the message to the previous request is not tested.
    """
    return (
        e.language == "en"
        and not v.COURTESY & e.kinds
        and min(len(e.message.words), len(e.request.words)) >= v.REWORDED_WORDS
        and not e.has_other_detail
        and not e.takes_up_answer
        and not is_resent(e)
        and not {"agent_asks", "agent_confirms"} & e.answer_kinds
    )


def is_new_topic(e: Evidence) -> bool:
    """Return True if the message is a request unrelated to the previous request and its answer."""
    said, first = e.message.content, e.message.words[:3]
    return (
        e.relatedness < v.UNRELATED
        and len(e.message.words) >= v.TOPIC_WORDS
        and not v.RESPONSE & e.kinds
        and "agent_asks" not in e.answer_kinds
        # A few words without a pronoun are usually search words or an order.
        and (bool({"cue_topic", "cue_ask"} & e.kinds) or (e.is_short and v.SENTENCE_WORDS.isdisjoint(first)))
        and said.isdisjoint(e.request.content)
        and said.isdisjoint(e.answer.content)
    )


def has_cues_against(e: Evidence) -> bool:
    """Return True if the message has several kinds of cues against the answer and no cue in its favour.

    At least two kinds are needed, or three if the agent asked a question.
    """
    needed = 3 if _asks_for_answer(e) else 2
    return len(v.CUES_AGAINST & e.kinds) >= needed and v.CUES_FOR.isdisjoint(e.kinds)


def has_cue_for(e: Evidence) -> bool:
    """Return True if the message has a cue in favour of the answer and none against it.

    Always False if the agent asked a question.
    """
    return not v.CUES_FOR.isdisjoint(e.kinds) and v.CUES_AGAINST.isdisjoint(e.kinds) and not _asks_for_answer(e)


def has_cues_for(e: Evidence) -> bool:
    """Return True if the message contains both praise and a yes, and `has_cue_for` is True as well."""
    return e.kinds >= v.CUES_FOR and has_cue_for(e)


def _asks_for_answer(e: Evidence) -> bool:
    return "agent_asks" in e.answer_kinds and "agent_confirms" not in e.answer_kinds
