"""Plain-English descriptions of rules. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

#: Name of a rule, class of the reader, or reason of a language model -> end of the sentence "The message ...".
WORDS: Final[Mapping[str, str]] = {
    "rule.nothing_to_judge": "is addressed to no answer, or has no words",
    "rule.declines_offer": "declines what the agent offered to do",
    "rule.for_and_against": "approves and rejects",
    "rule.rejects": "rejects the answer",
    "rule.silence": "comes after half an hour",
    "rule.language": "is in a language that the detector does not read",
    "rule.other_request": "asks the same about something else",
    "rule.same_request": "asks the same again",
    "rule.gives_up": "gives up",
    "rule.agrees": "agrees to what the agent asked",
    "rule.closes_with_thanks": "needs nothing else",
    "rule.closes": "needs nothing else",
    "rule.acknowledges": "says only that the answer was read",
    "rule.takes": "takes what the agent answered",
    "rule.new_topic": "asks about an unrelated topic",
    "rule.approves_in_answer": "approves in an answer",
    "rule.approves": "thanks, praises or takes the answer",
    "rule.follows": "builds on the answer",
    "rule.hints": "has a word of praise",
    "rule.nothing_said": "says nothing about the answer",
    **{
        f"{reader}.{name}": f"is read as {meaning}"
        for reader in ("reader", "words")
        for name, meaning in (
            ("explicit", "a rejection of the answer"),
            ("rephrased", "the same request again"),
            ("abandonment", "giving up"),
            ("approval", "an approval of the answer"),
            ("continuation", "going on from the answer"),
            ("none", "saying nothing about the answer"),
        )
    },
    "llm.explicit": "says that the answer is wrong or not what was asked for",
    "llm.rephrased": "asks for the same again in other words",
    "llm.abandonment": "gives up on the request",
    "llm.thanks": "thanks, praises, agrees or acts on the answer",
    "llm.continuation": "goes on from the answer",
    "llm.none": "says nothing about an answer",
}


def reason_in_words(names: Iterable[str]) -> tuple[str, ...]:
    """Return the descriptions of the given rules. Names of patterns have none."""
    return tuple(WORDS[name] for name in names if name in WORDS)
