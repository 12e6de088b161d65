"""English patterns for approvals: thanks, praise, accepted offers and follow-ups."""

from __future__ import annotations

from typing import Final

from detector.patterns.table import Pattern, table

PATTERNS: Final[tuple[Pattern, ...]] = table(
    "en",
    (
        "thanks",
        "fixed",
        r"^(?:[^.!?,]{0,20}[, ])?(?:that|this|it|which|you)(?:'ve| have| has| just| finally| really)?"
        r" (?:fixed|solved|resolved|cured|answered|cleared up)\b",
    ),
    (
        "thanks",
        "thanks",
        (
            r"\b(?:thank(?:s| you| u)|thx|tysm|thnx|tks|ty|cheers|much appreciated|appreciate (?:it|that|your|the"
            r"|you)|thankyou|you(?:'ve| have) been (?:very |so |really |most |super )?(?:helpful|a great help"
            r"|a big help)|kudos)\b"
        ),
    ),
    (
        "thanks",
        "that_works",
        (
            r"\b(?:that|this|it|which) (?:works?|worked|did it|did the trick|helps?|helped|fixed it|solved it"
            r"|solves it|does it|makes? (?:perfect |total |a lot of |much more |more |complete )?sense|will (?:do"
            r"|work)|would work|should work|would be (?:great|perfect|fine|good|ideal|lovely))\b(?! (?:if|for me if"
            r"|better))|\bworks? (?:now|perfectly|like a charm|great|fine|for me)\b|\bproblem solved\b"
            r"|\bworked (?:perfectly|great|like|fine|a treat)\b|\bgood to know\b|\bgot it (?:working|to work)\b"
        ),
    ),
    (
        "thanks",
        "is_right",
        (
            r"\b(?:that|this|it|which|all)(?:'s|s| is| was| are| looks?| sounds?| seems?|'re)(?: just| exactly"
            r"| absolutely| all| really| very| so| pretty| actually| quite| perfectly| totally)? (?:right|correct"
            r"|perfect|great|good|awesome|amazing|excellent|fantastic|wonderful|helpful|useful|brilliant|lovely|nice"
            r"|fine|cool|clear|superb|ideal|it|delicious|neat|beautiful|reasonable|interesting|fun|intriguing"
            r"|what i (?:want|wanted|need|needed|asked|asked for|was looking for|meant|'m looking for"
            r"|am looking for))(?:[.,!:; ]|$)(?! (?:but|enough|if|question))"
        ),
    ),
    (
        "thanks",
        "exclaimed",
        (
            r"^(?:oh |ah |ooh |wow[,!. ]* ?|yes[,!. ]+|yeah[,!. ]+|ok(?:ay)?[,!. ]+|all right[,!. ]+|alright[,!. ]+"
            r"|hmm[,!. ]+|very |so |that's |sounds |how )?(?:great|perfect|awesome|excellent|amazing|fantastic"
            r"|wonderful|brilliant|lovely|nice|cool|sweet|superb|exactly|precisely|good (?:job|work|one|answer|idea"
            r"|point|bot|choice|stuff)|well done|nailed it|love it|impressive|beautiful|neat|bingo|spot on"
            r"|sounds (?:good|great|perfect|fine|fun|interesting|nice|amazing|awesome|like a plan"
            r"|lovely))(?:[.,!:;) ]|$)(?! (?:but|if)\b)"
        ),
    ),
    (
        "action",
        "take_it",
        (
            r"\b(?:i|we)(?:'ll| will|'d like to|'m going to| am going to| would like to|'m gonna| think (?:i|we)'ll"
            r"| think (?:i|we) will| want to|'d love to|ll) (?:just |definitely |probably |then |also )?(?:take|go"
            r" (?:with|for|ahead with)|choose|pick|buy|order|try|use|watch|reserve|book|grab|stick with|rent|download)"
            r" (?:that|this|it|the \w{2,20}|both|one|them|those|these|option|your (?:advice|suggestion|recommendation)"
            r"|a (?:try|shot|look|go|watch)|out)\b(?! (?:myself|elsewhere|somewhere))"
        ),
    ),
    (
        "action",
        "book_it",
        (
            r"^(?:ok(?:ay)?[,. ]+|great[,.! ]+|yes[,.! ]+|yeah[,.! ]+|perfect[,.! ]+|good[,.! ]+|alright[,. ]+"
            r"|sure[,.! ]+|cool[,.! ]+|sounds good[,.! ]+|then |so |please )*(?:let's|lets|please|go ahead and"
            r"|now)? ?(?:book|buy|order|reserve|purchase|ship|merge|deploy) (?:it|that|this|them|me (?:that|this)"
            r"|that one|this one|both|the (?:first|second|third|last) one)\b(?! (?:again|over|instead|differently))"
            r"|\bsign me up\b|\bbook me\b|\b(?:booking|ordering|buying|trying|merging|shipping) (?:it |that |this"
            r" )?now\b"
        ),
    ),
    (
        "action",
        "will_check",
        (
            r"\b(?:i'?ll|i will|i'm going to|i am going to|gonna|i'll have to|i would like to|i'd like to)"
            r" (?:definitely |also |probably |certainly |have to )*(?:check|look|watch|give|see|read|listen|try)\b"
            r"(?:[^.!?]{0,30}\b(?:out|up|into|it|one|those|both|that|them|a (?:try|shot|look|watch|chance))\b)"
            r"(?! (?:tomorrow|later|first|myself))"
        ),
    ),
    (
        "follow",
        "what_about",
        (
            r"^(?:ok(?:ay)?[,.! ]+|great[,.! ]+|and |cool[,.! ]+|nice[,.! ]+|alright[,. ]+|good[,.! ]+|thanks[,.! ]+"
            r"|so |yes[,. ]+|interesting[,.! ]+|hmm+[,. ]+)*(?:(?:what|how) about\b|and (?:what|how|if|is|are|does|do"
            r"|can|where|when|who|which|the|for|in|also|could|would|will|why)\b|what if\b|also,? (?:can|could|do"
            r"|does|is|are|what|how|add|please|the|i|for|would|will|show|give|make)\b|can you also"
            r"|could you also|does (?:it|that|this|he|she|the)\b|do they\b|is (?:it|that|there|this)\b|are (?:they"
            r"|there|those|these)\b|tell me more|more (?:details?|info(?:rmation)?|about)|how (?:much|long|far|big"
            r"|many) (?:is|does|do|are|would|will|did|was)\b|which (?:one|of)\b|where is (?:it|that)|what(?:'s"
            r"| is) (?:it|the (?:price|cost|address|phone|rating|name|difference|director|brand|plot))\b|who(?:'s"
            r"| is) (?:in it|the)|what else\b|when (?:is|does|was) (?:it|that)\b"
            r"|(?:please )?(?:go on|keep going|carry on|continue)[.! ]*$)"
        ),
    ),
    (
        "follow",
        "detail",
        (
            r"\b(?:can|could|would) you (?:also |please |just )?(?:explain|elaborate|expand|go into"
            r"|give (?:me )?(?:an example|some examples|more)|tell me (?:more|its|the|their|about|what|if|how|where"
            r"|when|who)|show me (?:more|how|an|the)|compare|break (?:it|that|this) down)\b|\bmore (?:detail|details"
            r"|info|information|examples?)\b|\bfor (?:example|instance)\?|\bhow (?:does|do|would|did|will) (?:that|it"
            r"|this|they|those)\b|\bwhy (?:is|does|do|did|would) (?:that|it|this)\b|\bcompared? (?:to|with|the"
            r"|both|them|these|those)\b|^between (?:the|these|those)\b"
            r"|\bdifference between\b|\bwhat(?:'s| is| are) (?:it|its|their|that one)\b|\bwhat (?:is|are|was"
            r"|were) (?:its|their|that|it)\b"
        ),
    ),
)
