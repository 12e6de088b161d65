"""Dialogue acts of a message: it answers the agent's question or offer, acknowledges, restates, or moves on."""

from __future__ import annotations

import re
from typing import Final

from detector.evidence import Evidence
from detector.patterns import Kind
from detector.text import Prepared

#: Below this likeness to the exchange before it, a request is a new topic.
UNRELATED: Final = 0.2
#: A message with fewer words names no topic of its own.
TOPIC_WORDS: Final = 2
#: A yes or no to the agent's question is said in so few words; what stands in more is something else.
REPLY_WORDS: Final = 8
#: A request typed again is that short; a longer one that comes back word for word was sent again.
TYPED_WORDS: Final = 6
#: An agent's message of so few words is its question; in a longer one the question is a courtesy at its end.
QUESTION_WORDS: Final = 40
#: A question with so many words before it and in it tells something first.
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


#: What stands for something in the request or the answer.
_TAKES_UP: Final = frozenset({"it", "they", "them", "he", "she", "him", "her"})
_YOU: Final = frozenset({"you", "your", "you're", "you've"})
_POINTS: Final = frozenset({"this", "that", "these", "those"})
#: What is sorry about the news.
_SORRY: Final = re.compile(
    r"^(?:(?:oh|ah|aw+|damn|well)[,.! ]+)*(?:too bad|oh no|no[,.!]+ i (?:hate|hated|wanted)|bummer"
    r"|(?:what|such|that's|that is)(?: a| so| really| too)* (?:pity|shame|bummer|sad|bad news))\b"
)
_ASIDE: Final = re.compile(r"\b(?:by the way|btw|fyi)\b")
#: What asks for something once more.
_ONCE_MORE: Final = frozenset({"again", "please", "once", "more"})
#: What asks for time: "no, let me check first" changes no detail of what is to be confirmed.
_WAITS: Final = re.compile(
    r"\b(?:let me (?:check|think|see|ask|look)|hold on|not yet|(?:a|one) (?:sec|second|moment|minute)\b"
    r"|(?:need|have|want) to (?:check|think|ask))\b"
)
#: How an order opens.
_ORDERS: Final = frozenset({("please",), ("feel",), ("go",), ("continue",), ("proceed",), ("let's",), ("lets",)})


def asked_openly(evidence: Evidence) -> bool:
    """The agent asks for something other than a confirmation, or whether there is anything else, and suggests nothing.

    "How about this one?" suggests: what is said against it turns it down.
    """
    return _asked(evidence) and "agent_suggests" not in evidence.answer_kinds


def question_alone(evidence: Evidence) -> bool:
    """The agent's message is little more than a question: what follows answers it, whatever it sounds like."""
    return _asked(evidence) and len(evidence.answer.words) <= QUESTION_WORDS


def _asked(evidence: Evidence) -> bool:
    kinds = evidence.answer_kinds
    return "agent_asks" in kinds and not {"agent_confirms", "agent_closes"} & kinds


def declines(evidence: Evidence) -> bool:
    """ "Not now", "no thanks" to something that the agent proposed to do: nothing is said about its work."""
    if "agent_proposes" not in evidence.answer_kinds or "agent_closes" in evidence.answer_kinds:
        return False
    short = len(evidence.message.words) <= REPLY_WORDS
    plain_no = "cue_no" in evidence.kinds and len(evidence.message.words) <= 2
    return short and (plain_no or "postpone" in evidence.kinds) and not _AGAINST & evidence.kinds


def agrees(evidence: Evidence) -> bool:
    """A short yes to what the agent proposed or wanted confirmed."""
    if not {"agent_proposes", "agent_confirms"} & evidence.answer_kinds or "agent_closes" in evidence.answer_kinds:
        return False
    short = len(evidence.message.words) <= REPLY_WORDS
    yes = {"cue_yes", "action", "thanks"} & evidence.kinds
    return bool(short and yes) and not ({"cue_no", "reject_stated"} | _AGAINST) & evidence.kinds


def closes(evidence: Evidence) -> bool:
    """A short "no, that's all" to an agent that asks whether there is anything else."""
    short = len(evidence.message.words) <= REPLY_WORDS
    done = {"cue_no", "postpone", "veto", "cue_bye"} & evidence.kinds
    return bool(short and done and "agent_closes" in evidence.answer_kinds) and not (
        ({"reject_stated", "cue_want"} | _AGAINST) & evidence.kinds
    )


def asks_on(evidence: Evidence) -> tuple[str, ...]:
    """A question after an answer, in a language that the learned layer doesn't read: it mostly builds on the answer."""
    foreign = evidence.language != "en" and "cue_ask" in evidence.kinds
    against = {"reject", "reject_stated", "abandon", "cue_clarify", "cue_repeat", "cue_no"} & evidence.kinds
    return ("rule.asks_on",) if foreign and not against and "agent_asks" not in evidence.answer_kinds else ()


def told_and_asked(evidence: Evidence) -> bool:
    """Something is told, and then a question asked: negative words in it are about the matter, not the answer."""
    said = evidence.message
    return said.text.endswith("?") and len(said.words) > TOLD_WORDS


def turned_by_no(evidence: Evidence) -> bool:
    """ "No, on Saturday" where the agent asked for a confirmation."""
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
    """ "No" to an answer that asks nothing."""
    return (
        "cue_no" in evidence.kinds
        and len(evidence.message.words) <= 2
        and not {"veto", "postpone", "thanks"} & evidence.kinds
        and not {"agent_asks", "agent_closes", "agent_proposes"} & evidence.answer_kinds
    )


def restated(evidence: Evidence) -> bool:
    """ "I want gaming laptops" after an answer on laptops: what was asked for, and something more."""
    if "restate" not in evidence.kinds or {"agent_asks", "agent_fails"} & evidence.answer_kinds:
        return False
    named = evidence.message.words[-1]
    fresh = evidence.message.content - evidence.request.content - {named}
    return named in evidence.request.content & evidence.answer.content and len(fresh) > 1


def meant_so(evidence: Evidence) -> bool:
    """ "I wanted to know when it ended" after an answer: the request again, as it was meant."""
    if "meant" not in evidence.kinds or "agent_asks" in evidence.answer_kinds:
        return False
    again = evidence.message.content & evidence.request.content
    return bool(again) or not _TAKES_UP.isdisjoint(evidence.message.words)


def judges_taste(evidence: Evidence) -> bool:
    """A dislike is about the answer where that recommends something, or where "it" takes it up; "my job" is talk."""
    recommended = {"agent_suggests", "agent_offers"} & evidence.answer_kinds
    return bool(recommended) or not (_TAKES_UP | _POINTS).isdisjoint(evidence.message.words)


def puzzled(evidence: Evidence) -> bool:
    """ "What are you talking about?" and nothing more: the answer was not understood. Measured in English alone."""
    short = len(evidence.message.words) <= REPLY_WORDS
    return evidence.language == "en" and short and "cue_clarify" in evidence.kinds and "thanks" not in evidence.kinds


def asks_agent(evidence: Evidence) -> bool:
    """A question about the agent itself: small talk, which says nothing about its answer."""
    asks = "ask_agent" in evidence.kinds and "agent_asks" not in evidence.answer_kinds
    return asks and not {"thanks", "cue_want"} & evidence.kinds


def orders_on(evidence: Evidence) -> bool:
    """An order without a complaint: the next step, more likely than a repair."""
    return evidence.message.words[:1] in _ORDERS


def regrets(evidence: Evidence) -> bool:
    """ "Too bad, I wanted to go out": sorry about what the answer tells, not about the answer, nor to the agent."""
    return bool(_SORRY.search(evidence.message.text)) and _YOU.isdisjoint(evidence.message.words)


def says_aside(evidence: Evidence) -> bool:
    """ "By the way, we eat no fish": told on the side, so not about the answer."""
    return bool(_ASIDE.search(evidence.message.text)) and _YOU.isdisjoint(evidence.message.words)


def acknowledges(evidence: Evidence) -> bool:
    """ "Ok", "hmm": read, and nothing more, where the agent asked nothing."""
    return "acknowledge" in evidence.kinds and not {"agent_asks", "agent_proposes"} & evidence.answer_kinds


def resent(evidence: Evidence) -> bool:
    """The request again word for word, as after a reply that was cut off, or with an "again": it turns nothing down.

    Except after an answer that failed, or of a few words that were typed again, without an "again", after a whole one.
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
    """A request of its own that has nothing to do with the exchange before it."""
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
    """A few words without a pronoun, as they are typed into a search box, or an order."""
    return len(evidence.message.words) <= REPLY_WORDS and not {"i", "it", "that", "this", "you", "they"} & set(
        evidence.message.words[:3]
    )
