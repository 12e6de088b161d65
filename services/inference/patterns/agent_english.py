"""English: what the agent's message does, which decides how an answer to it reads ("no" after a question is no verdict)."""

from __future__ import annotations

from typing import Final

from inference.patterns.table import Pattern, table

PATTERNS: Final[tuple[Pattern, ...]] = table(
    "en",
    ("agent_asks", "agent_asks", r"\?[\"')\]* ]*$|\b(?:please (?:tell|let|give|provide|specify|enter|share)|let me know (?:what|which|if|when|where|how|your))\b"),
    ("agent_asks", "agent_asks_for", r"\b(?:what|which|when|where|who|how (?:many|much|long|far|old))\b[^.!?]{0,80}\b(?:would you|do you|should|you|your|is it|are you|will you|did you)\b[^.!?]{0,80}\?"),
    ("agent_confirms", "agent_confirms", r"\b(?:please confirm|can you confirm|confirm (?:that|the|if|this)|is (?:that|this) (?:right|correct|ok|okay|all right|alright|fine)|does (?:that|this) (?:sound|look|work)|did i get|just to (?:confirm|clarify|be sure|check)|am i (?:right|correct)|so you(?:'d| would)? (?:want|like|need|are|'re)|let(?:'s| me| us) (?:review|confirm|double|check|recap)|you (?:want|would like|'d like)[^?]{0,120}\?$|shall i (?:go|proceed|book)|should i (?:go|proceed|book))"),
    ("agent_offers", "agent_offers", r"\b(?:how about|what about|have you (?:seen|tried|read|considered|heard|been)|i (?:would |can |could |'d )?(?:recommend|suggest)|you (?:might|could|may|should|would) (?:also |really |probably )?(?:like|try|enjoy|want|consider|love)|there (?:is|are|'s)|i found|i have (?:found|a|an|two|\d)|check out|option|do you like|would you like (?:me to|to|that|this|it)|shall i|should i|want me to|try|interested in|maybe|here(?:'s| is| are)|https?:)"),
    ("agent_fails", "agent_fails", r"\b(?:sorry|unfortunately|apolog\w{1,5}|(?:could|can|did|do|was|am|is|are|were)(?:n't| not|not)|unable|no (?:results?|matches|flights?|luck|information|available|options?|such)|not (?:available|able|possible|found|sure)|failed|error|don't (?:have|know|understand)|cannot|nothing (?:available|matches|found)|there (?:are|is) no|i'm afraid|try again later|as an ai)\b"),
    ("agent_succeeds", "agent_succeeds", r"\b(?:booked|reserved|confirmed|successful(?:ly)?|done|completed?|scheduled|all set|has been (?:\w{1,12}ed|sent)|i(?:'ve| have) (?:\w{1,12}ed|set|made|sent|put)|is now|purchased|congrat\w{0,10}|have a (?:great|good|nice|lovely|safe)|enjoy|you're welcome|reference number)\b"),
    ("agent_closes", "agent_closes", r"\b(?:anything else|something else|any other|other questions?|further (?:help|assistance|questions?)|assist you (?:with|further|in)|help you with (?:anything|something)|good ?bye|bye|have a (?:great|good|nice|lovely|safe)|welcome|glad (?:i|to)|my pleasure|happy to help)\b"),
)
