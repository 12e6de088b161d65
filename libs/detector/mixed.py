"""Approvals that the same message contradicts: by a failure, a status code, a negation or irony."""

from __future__ import annotations

import re
from typing import Final

from detector.evidence import Evidence

#: Failures of a program, and harmful actions of an agent.
_HARM: Final = re.compile(
    r"\b(?:error\w*|errors?|fail(?:s|ed|ing|ures?)?|crash(?:es|ed|ing)?|exceptions?|broken?|breaks|breaking|bugs?"
    r"|traceback|timeouts?|wrong|missing|worse|useless|delet(?:ed|ing)|lost|losing|wip(?:ed|ing)|ruin(?:ed|ing)"
    r"|destroy(?:ed|ing)|ignor(?:ed|ing)|overwr(?:ote|iting|itten)|for(?:got|gotten|getting)|wast(?:ed|ing)|instead)\b"
)
_STATUS: Final = re.compile(r"\b(?:http |status |code |an? |returns? |gives? |gets? )[45]\d\d\b|\bexit(?:s|ed)? [1-9]")
_NEGATED: Final = re.compile(r"\b(?:not|never|nothing|nobody|cannot|\w+n't|dont|doesnt|didnt|isnt|cant|wont)\b")
#: Negations that are praise, and failures that have been repaired.
_HARMLESS: Final = re.compile(
    r"\b(?:not bad|not a problem|nothing else|never mind|can't (?:complain|thank)|couldn't (?:be|have|ask)|why not"
    r"|if not|(?:no|without|zero|0) (?:more |any |further )?(?:errors?|failures?|bugs?"
    r"|crash(?:es)?|exceptions?|problems?)"
    r"|(?:don't|doesn't|does not|do not) (?:fail|crash|break) (?:anymore|any more|now)"
    r"|(?:fixed|solved|resolved|found) (?:the |that |this |my |all |those )*(?:error|bug|failure|crash"
    r"|exception|problem)s?)\b"
)
_IRONY: Final = re.compile(
    r"\bthanks? (?:a lot )?for nothing\b|^(?:oh|wow|gee|well)[,.! ]+(?:great|wonderful|perfect|brilliant|fantastic"
    r"|lovely|super|nice|thanks)\b|\b(?:just|simply) (?:great|perfect|wonderful|brilliant|what i (?:needed|wanted))[.!]"
    r"|\b(?:slow clap|how (?:nice|lovely|helpful|convenient)|love how|what a surprise|bravo|genius|real(?:ly)? smart"
    r"|yet another|as (?:always|usual|expected))\b|(?:^|\s)/s\b|🙄|👏|🤡|🙃|😒"
)


def mixed(evidence: Evidence) -> bool:
    """Return True if the message may contradict its approval: it mentions a failure, negates, or is ironic."""
    said = _HARMLESS.sub(" ", evidence.message.text)
    if evidence.message.failed or _HARM.search(said) or _STATUS.search(said) or _IRONY.search(said):
        return True
    return "veto" not in evidence.kinds and _NEGATED.search(said) is not None
