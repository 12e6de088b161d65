"""English patterns for agents' messages.

They recognise, for example, that the agent asked a question. A "no" in reply to a question is an answer and not
feedback.
"""

from __future__ import annotations

from typing import Final

from detector.patterns.table import Pattern, table

PATTERNS: Final[tuple[Pattern, ...]] = table(
    "en",
    (
        "agent_asks",
        "agent_asks",
        (
            r"""\?[\"')\]* ]*$|\b(?:please (?:tell|give|provide|specify|enter|share)|let me know (?:what|which"""
            r"|when|where|how|your))\b"
        ),
    ),
    (
        "agent_asks",
        "agent_asks_for",
        (
            r"\b(?:what|which|when|where|who|how (?:many|much|long|far|old))\b[^.!?]{0,80}\b(?:would you|do you"
            r"|should|you|your|is it|are you|will you|did you)\b[^.!?]{0,80}\?"
        ),
    ),
    (
        "agent_asks",
        "agent_asks_unmarked",  # transcribed speech may lack question marks and full stops
        (
            r"(?:^|[.!,;] |\b(?:and|so|ok|okay|right|yeah|well|or|but|uh|um|erm) )(?!what do you think)"
            r"(?:(?:what|which|when|where|who|how)(?:'s| is| are| was| do| did| does| would| will| can)"
            r"|(?:is|was|are|were|do|did|does|has) (?:it|that|this|you|they|he|she|there)) [^.!?]{1,100}$"
            r"|\b(?:can|could|would|will) (?:you|i) (?:just |please |possibly )?(?:confirm|tell|give|spell|repeat|say"
            r"|have|take) [^.!?]{1,60}$"
            r"| (?:are|is|was|were|do|did|does|have|has|can|could|will|would)(?:n't)? (?:you|it|that|they|there)$"
        ),
    ),
    (
        "agent_proposes",
        "agent_proposes",
        (
            r"\b(?:would you like(?: me)? to|would you like (?:more|another|it|that|this|a|some)|shall (?:i|we)"
            r"|should i|do you want (?:me|it|to|another|more|a)|want me to|may i|would you care)\b[^?]{0,160}\?"
        ),
    ),
    (
        "agent_confirms",
        "agent_confirms",
        (
            r"\b(?:please confirm|can you confirm|confirm (?:that|the|if|this)"
            r"(?! (?:\w+ )?(?:name|address|postcode|number|spelling|date of birth)\b(?!:))"  # asks for a value
            r"|is (?:that|this) (?:right|correct|ok|okay|all right|alright|fine)|does (?:that|this) (?:sound|look|work)"
            r"|did i get|just to (?:confirm|clarify|be sure|check)|am i (?:right|correct)"
            r"|so you(?:'d| would)? (?:want|like|need|are|'re)|let(?:'s| me| us) (?:review|confirm|double|check|recap)"
            r"|you (?:want|would like|'d like)[^?]{0,120}\?$"
            r"|shall i (?:go|proceed|book)|should i (?:go|proceed|book)|confirmation details)"
            r"|^(?:ok(?:ay)?|so|alright|right)[, ]+(?=\w)(?!(?:who|what|when|where|which|why|how|do|does|did|is|are|can"
            r"|could|would|will|shall|should|have|any)\b)[^.?!]{3,100}\?$"
        ),
    ),
    (
        "agent_suggests",
        "agent_suggests",  # excludes "what about it did you like?" and "how about I book it?"
        (
            r"\b(?:(?:how|what) about(?! (?:i|if|we)\b)(?![^?]* (?:did|do|does)(?:n't)? you\b)"
            r"|have you (?:ever |already )?(?:seen|tried|read|considered|heard|watched|played|thought)"
            r"|did you (?:see|watch|read|try)|(?:might|may) (?:you )?(?:like|enjoy|interest)"
            r"|how (?:does|do|would) [^.?!]{1,80}(?:sound|suit)|how would you consider|can i interest"
            r"|what do you think (?:of|about))\b[^!?]{1,160}(?:\?|$)"
        ),
    ),
    (
        "agent_offers",
        "agent_offers",
        (
            r"\b(?:how about|what about|have you (?:seen|tried|read|considered|heard|been)|i (?:would |can |could "
            r"|'d )?(?:recommend|suggest)|you (?:might|could|may|should|would) (?:also |really |probably )?(?:like"
            r"|try|enjoy|want|consider|love)|there (?:is|are|'s)|i found|i have (?:found|a|an|two|\d)|check out"
            r"|option|do you like|would you like (?:me to|to|that|this|it)|shall i|should i|want me to|try"
            r"|interested in|maybe|here(?:'s| is| are)|https?:)"
        ),
    ),
    (
        "agent_fails",
        "agent_fails",
        (
            r"\b(?:sorry|unfortunately|apolog\w{1,5}|(?:could|can|did|do|was|am|is|are|were)(?:n't| not|not)|unable"
            r"|no (?:results?|matches|flights?|luck|information|available|options?|such)|not (?:available|able"
            r"|possible|found|sure)|failed|error|don't (?:have|know|understand)|cannot|nothing (?:available|matches"
            r"|found)|there (?:are|is) no|i'm afraid|try again later|as an ai)\b"
        ),
    ),
    (
        "agent_succeeds",
        "agent_succeeds",
        (
            r"\b(?:booked|reserved|confirmed|successful(?:ly)?|done|completed?|scheduled|all set"
            r"|has been (?:\w{1,12}ed|sent)|i(?:'ve| have) (?:\w{1,12}ed|set|made|sent|put)|is now|purchased"
            r"|congrat\w{0,10}|have a (?:great|good|nice|lovely|safe)|enjoy|you're welcome|reference number)\b"
        ),
    ),
    (
        "agent_closes",
        "agent_closes",
        (
            r"\b(?:anything else(?! about)|something else|any other|other questions?"
            r"|further (?:help|assistance|questions?)|assist you (?:with|further|in)"
            r"|help you with (?:anything|something)|good ?bye|bye|have a (?:great|good"
            r"|nice|lovely|safe)|welcome|glad (?:i|to)|my pleasure|happy to help)\b"
        ),
    ),
)
