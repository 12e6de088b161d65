"""English patterns for messages that give up on a request."""

from __future__ import annotations

from typing import Final

from detector.patterns.table import Pattern, table

PATTERNS: Final[tuple[Pattern, ...]] = table(
    "en",
    (
        "abandon",
        "never_mind",
        (
            r"\bnever ?mind\b|\bnvm\b|\b(?:just )?forget (?:about )?(?:it|this|that|the whole)\b(?! (?:was|is))"
            r"|^forget (?:about )?it"
        ),
    ),
    (
        "abandon",
        "rephrase",
        (
            r"^(?:no[,. ]+|ok(?:ay)?[,. ]+|hmm+[,. ]+|wait[,. ]+|sorry[,. ]+)?(?:let me (?:rephrase|reword|put it|ask"
            r" (?:it |that |this )?(?:differently|again|another way))|(?:let's |please )?start (?:over|again|from"
            r" scratch))\b"
        ),
    ),
    (
        "abandon",
        "give_up",
        (
            r"\b(?:i|we)(?:'ll| will|'m going to| am going to|'m| am)? ?(?:just )?(?:give|giving|gave) up\b"
            r"|\bthis is (?:pointless|hopeless|a waste)|\bwast(?:e|ing|ed) (?:of )?(?:my |our )?time\b"
            r"|\bi'?m done (?:with (?:this|you)|here|trying)\b|\b(?:there's|what's) no (?:point|use)\b|\bno point in\b"
        ),
    ),
    (
        "abandon",
        "elsewhere",
        (
            r"\b(?:look|go|try|ask|search|shop|book|find)(?:ing)? (?:it |one |this |for it |somebody |someone "
            r"|somewhere |some place |another |a different )?(?:elsewhere|somewhere else|someone else|somebody else"
            r"|another (?:agency|agent|company|place|site|assistant|service|store|shop|provider|tool)|other (?:agency"
            r"|agencies|companies|sites))\b|\b(?:to|another|different) (?:travel )?(?:agency)\b"
        ),
    ),
    (
        "abandon",
        "myself",
        (
            r"\b(?:i|we)(?:'ll| will|'d rather| would rather| can| guess i'll|'m going to|'ll have to)? (?:just "
            r"|probably |rather )?(?:do|figure|look|google|find|fix|search|write|handle|book|call|work"
            r"|check)(?: \w{1,10}){0,4} (?:myself|on my own|ourselves|by myself)\b"
        ),
    ),
    (
        "abandon",
        "leave_it",
        (
            r"\b(?:let's|lets|let us|just) (?:leave|drop|skip|scrap|cancel) (?:it|this|that)\b(?! (?:open|as|on|in"
            r"|there|off|at))|\bscrap that\b|\bdrop it\b|^cancel(?: (?:it|that|this|everything"
            r"|the whole thing))?[.! ]*$|^stop[.! ]*$"
        ),
    ),
    (
        "abandon",
        "forget_bot",
        (
            r"\b(?:connect|transfer|put|pass|get) me (?:to|through to|with)? ?(?:a |an )?(?:human|person|agent"
            r"|operator|manager|representative|someone)|\b(?:speak|talk) (?:to|with) (?:a |an )?(?:human|real person"
            r"|person|manager|representative|operator)\b"
        ),
    ),
)
