"""Dialogue acts of a message: it answers the agent's question or offer, acknowledges, restates, or moves on."""

from __future__ import annotations

import re
from typing import Final

from detector.evidence import Evidence
from detector.patterns import Kind
from detector.text import Prepared

#: Similarity to the previous exchange below which a request is a new topic.
UNRELATED: Final = 0.2
#: Minimum number of words of a message with a topic.
TOPIC_WORDS: Final = 2
#: Maximum number of words of a yes or no to the agent's question.
REPLY_WORDS: Final = 8
#: Maximum number of words of a request that was typed again; a longer identical one was sent again.
TYPED_WORDS: Final = 6
#: Maximum number of words of an agent's message that is its question. A longer one ends with a courtesy.
QUESTION_WORDS: Final = 40
#: Minimum number of words of a message that tells something and then asks.
TOLD_WORDS: Final = 15

_AGAINST: Final[frozenset[Kind]] = frozenset({"reject", "abandon", "cue_but", "cue_ask", "cue_other", "cue_repeat"})
_SPEAKS: Final[frozenset[Kind]] = frozenset(
    {
        "reject",
        "reject_stated",
        "abandon",
        "thanks",
        "action",
        "restate",
        "cue_no",
        "cue_yes",
        "cue_clarify",
        "cue_repeat",
    }
)


#: Pronouns for something in the request or the answer.
_TAKES_UP: Final = frozenset({"it", "they", "them", "he", "she", "him", "her"})
_YOU: Final = frozenset({"you", "your", "you're", "you've"})
_POINTS: Final = frozenset({"this", "that", "these", "those"})
#: Expressions of regret about the answer's content.
_SORRY: Final = re.compile(
    r"^(?:(?:oh|ah|aw+|damn|well)[,.! ]+)*(?:too bad|oh no|no[,.!]+ i (?:hate|hated|wanted)|bummer"
    r"|(?:what|such|that's|that is)(?: a| so| really| too)* (?:pity|shame|bummer|sad|bad news))\b"
)
_ASIDE: Final = re.compile(r"\b(?:by the way|btw|fyi)\b")
#: Words that ask to repeat something.
_ONCE_MORE: Final = frozenset({"again", "please", "once", "more"})
#: Expressions that ask for time ("no, let me check first"). They change no detail of a confirmation.
_WAITS: Final = re.compile(
    r"\b(?:let me (?:check|think|see|ask|look)|hold on|not yet|(?:a|one) (?:sec|second|moment|minute)\b"
    r"|(?:need|have|want) to (?:check|think|ask))\b"
)
#: First words of an order.
_ORDERS: Final = frozenset({("please",), ("feel",), ("go",), ("continue",), ("proceed",), ("let's",), ("lets",)})


def asked_openly(evidence: Evidence) -> bool:
    """Return True if the agent asks an open question: not for confirmation, not "anything else?", not a suggestion.

    A negative reply to a suggestion ("How about this one?") rejects it.
    """
    return _asked(evidence) and "agent_suggests" not in evidence.answer_kinds


def question_alone(evidence: Evidence) -> bool:
    """Return True if the agent's message is little more than a question, so that the next message answers it."""
    return _asked(evidence) and len(evidence.answer.words) <= QUESTION_WORDS


def _asked(evidence: Evidence) -> bool:
    kinds = evidence.answer_kinds
    return "agent_asks" in kinds and not {"agent_confirms", "agent_closes"} & kinds


def declines(evidence: Evidence) -> bool:
    """Return True if the person declines an action that the agent proposed ("not now"), which is not feedback."""
    if "agent_proposes" not in evidence.answer_kinds or "agent_closes" in evidence.answer_kinds:
        return False
    short = len(evidence.message.words) <= REPLY_WORDS
    plain_no = "cue_no" in evidence.kinds and len(evidence.message.words) <= 2
    return short and (plain_no or "postpone" in evidence.kinds) and not _AGAINST & evidence.kinds


def agrees(evidence: Evidence) -> bool:
    """Return True for a short yes to a proposal or a request for confirmation."""
    if not {"agent_proposes", "agent_confirms"} & evidence.answer_kinds or "agent_closes" in evidence.answer_kinds:
        return False
    short = len(evidence.message.words) <= REPLY_WORDS
    yes = {"cue_yes", "action", "thanks"} & evidence.kinds
    return bool(short and yes) and not ({"cue_no", "reject_stated"} | _AGAINST) & evidence.kinds


def closes(evidence: Evidence) -> bool:
    """Return True for a short "no, that's all" to an agent that asks for further requests."""
    short = len(evidence.message.words) <= REPLY_WORDS
    done = {"cue_no", "postpone", "veto", "cue_bye"} & evidence.kinds
    return bool(short and done and "agent_closes" in evidence.answer_kinds) and not (
        ({"reject_stated", "cue_want"} | _AGAINST) & evidence.kinds
    )


def asks_on(evidence: Evidence) -> tuple[str, ...]:
    """Return the patterns of a question after an answer, which mostly builds on it. For languages without a learned
    layer.
    """
    foreign = evidence.language != "en" and "cue_ask" in evidence.kinds
    against = {"reject", "reject_stated", "abandon", "cue_clarify", "cue_repeat", "cue_no"} & evidence.kinds
    return ("rule.asks_on",) if foreign and not against and "agent_asks" not in evidence.answer_kinds else ()


def told_and_asked(evidence: Evidence) -> bool:
    """Return True if the message tells something and ends with a question. Its negative words concern the topic, not
    the answer.
    """
    said = evidence.message
    return said.text.endswith("?") and len(said.words) > TOLD_WORDS


def turned_by_no(evidence: Evidence) -> bool:
    """Return True if the person corrects a detail to be confirmed: "No, on Saturday"."""
    return (
        "agent_confirms" in evidence.answer_kinds
        and "cue_no" in evidence.kinds
        and "veto" not in evidence.kinds
        and "postpone" not in evidence.kinds
        and not _WAITS.search(evidence.message.text)
        and len(evidence.message.words) > 2
        and "agent_closes" not in evidence.answer_kinds
    )


def bare_no(evidence: Evidence) -> bool:
    """Return True for a "no" to an answer without a question."""
    return (
        "cue_no" in evidence.kinds
        and len(evidence.message.words) <= 2
        and not {"veto", "postpone", "thanks"} & evidence.kinds
        and not {"agent_asks", "agent_closes", "agent_proposes"} & evidence.answer_kinds
    )


def restated(evidence: Evidence) -> bool:
    """Return True if the message repeats the request with an addition: "I want gaming laptops" after laptops."""
    if "restate" not in evidence.kinds or {"agent_asks", "agent_fails"} & evidence.answer_kinds:
        return False
    named = evidence.message.words[-1]
    fresh = evidence.message.content - evidence.request.content - {named}
    return named in evidence.request.content & evidence.answer.content and len(fresh) > 1


def meant_so(evidence: Evidence) -> bool:
    """Return True if the message states the intended request again: "I wanted to know when it ended"."""
    if "meant" not in evidence.kinds or "agent_asks" in evidence.answer_kinds:
        return False
    again = evidence.message.content & evidence.request.content
    return bool(again) or not _TAKES_UP.isdisjoint(evidence.message.words)


def judges_taste(evidence: Evidence) -> bool:
    """Return True if a dislike concerns the answer: the answer recommends something, or a pronoun refers to it."""
    recommended = {"agent_suggests", "agent_offers"} & evidence.answer_kinds
    return bool(recommended) or not (_TAKES_UP | _POINTS).isdisjoint(evidence.message.words)


def puzzled(evidence: Evidence) -> bool:
    """Return True for "What are you talking about?" and nothing else. Measured in English only."""
    short = len(evidence.message.words) <= REPLY_WORDS
    return evidence.language == "en" and short and "cue_clarify" in evidence.kinds and "thanks" not in evidence.kinds


def asks_agent(evidence: Evidence) -> bool:
    """Return True for a question about the agent itself. Such small talk is not feedback."""
    asks = "ask_agent" in evidence.kinds and "agent_asks" not in evidence.answer_kinds
    return asks and not {"thanks", "cue_want"} & evidence.kinds


def orders_on(evidence: Evidence) -> bool:
    """Return True for an order without a complaint: probably the next step, not a correction."""
    return evidence.message.words[:1] in _ORDERS


def regrets(evidence: Evidence) -> bool:
    """Return True for regret about the answer's content, not about the answer: "Too bad, I wanted to go out"."""
    return bool(_SORRY.search(evidence.message.text)) and _YOU.isdisjoint(evidence.message.words)


def says_aside(evidence: Evidence) -> bool:
    """Return True for an aside, which is not about the answer: "By the way, we eat no fish"."""
    return bool(_ASIDE.search(evidence.message.text)) and _YOU.isdisjoint(evidence.message.words)


def acknowledges(evidence: Evidence) -> bool:
    """Return True for an acknowledgement ("ok", "hmm") of a message without a question."""
    return "acknowledge" in evidence.kinds and not {"agent_asks", "agent_proposes"} & evidence.answer_kinds


def resent(evidence: Evidence) -> bool:
    """Return True if the message repeats the request word for word without rejecting the answer.

    Examples are a request sent again after a truncated answer, or with the word "again". A short request repeated after
    a complete answer, or any request repeated after a failed answer, is a rejection.
    """
    asked, said = evidence.request, evidence.message
    more = "again" in said.words and "again" not in asked.words
    if more and _without(said, _ONCE_MORE) == _without(asked, _ONCE_MORE):
        return "agent_fails" not in evidence.answer_kinds
    if said.text != asked.text or not said.words:
        return False
    if "agent_asks" in evidence.answer_kinds:
        return True
    whole = evidence.answer.text[-1:] in {".", "!", "?", "。", "！", "？", ")", '"'}
    return "agent_fails" not in evidence.answer_kinds and not (whole and len(said.words) <= TYPED_WORDS)


def _without(text: Prepared, words: frozenset[str]) -> list[str]:
    return [word for word in text.words if word not in words]


def new_topic(evidence: Evidence) -> bool:
    """Return True for a request that is unrelated to the exchange before it."""
    said = evidence.message.content
    return (
        evidence.relatedness < UNRELATED
        and len(evidence.message.words) >= TOPIC_WORDS
        and not _SPEAKS & evidence.kinds
        and "agent_asks" not in evidence.answer_kinds
        and (bool({"cue_topic", "cue_ask"} & evidence.kinds) or _bare_request(evidence))
        and not (said & evidence.request.content)
        and not (said & evidence.answer.content)
    )


def _bare_request(evidence: Evidence) -> bool:
    """Return True for a few words without a pronoun, as in a search box, or an order."""
    return len(evidence.message.words) <= REPLY_WORDS and not {"i", "it", "that", "this", "you", "they"} & set(
        evidence.message.words[:3]
    )
