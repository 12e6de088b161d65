"""English patterns for weak cues and vetoes.

A weak cue counts only in combination with other evidence. A veto makes a rejection harmless.
"""

from __future__ import annotations

from typing import Final

from detector.patterns.table import Pattern, table

PATTERNS: Final[tuple[Pattern, ...]] = table(
    "en",
    (
        "acknowledge",
        "acknowledged",
        r"^<ack>(?:[.!, ]+<ack>){0,2}[.!, ]*$",
    ),
    (
        "postpone",
        "later",
        (
            r"^(?:no[,. ]+|nope[,. ]+|um+[,. ]+|sorry[,. ]+|thanks[,. ]+(?:but )?)?(?:not (?:right now|now|yet"
            r"|today|at the"
            r" moment|for now|necessary|needed)|maybe (?:later|another time|tomorrow|next time|some other time)|perhaps"
            r" later|later|another time|some other time|no need|i'?ll (?:think about it|pass|let you know|get"
            r" back to you)"
            r"|i'?m (?:still|just) (?:looking|browsing|thinking)|no thanks?(?: you)?|no,? thank you)\b"
        ),
    ),
    (
        "restate",
        "i_want",
        (
            r"^(?:i|we)(?: just| really| actually)? (?:want|need|wanted|needed|am looking for|'m looking for)"
            r" (?:\w+ ){0,3}\w+[.! ]*$"
        ),
    ),
    (
        "meant",
        "i_wanted_to_know",
        (
            r"^(?:no[,. ]+|but |well[, ]+|sorry[,. ]+(?:but )?|um+[, ]+|actually[, ]+)?(?:i|we)"
            r" (?:(?:just |only |really |actually |still )?(?:wanted|needed|was trying|were trying)"
            r"|(?:just|only|really|actually|still) (?:want|need)) to (?:know|find out)\b(?! more| if you)"
        ),
    ),
    (
        "ask_agent",
        "about_you",
        (
            r"(?:^|[.!,;] ?|\b(?:and|so|but) )(?:(?:do|did|are|were|have|where|what|how old|how long) |may i ask )"
            r"[^.?!]{0,24}\b(?:(?<!would )you (?:(?:really|also|still|ever|even|usually) )?(?:like|love|enjoy|live|work"
            r"|from|married|single|good at|do for (?:fun|a living|work)|have (?:any |a )?(?:kids?|children|pets?|dogs?"
            r"|cats?|family|hobbies|siblings|brothers?|sisters?|job))"
            r"|your (?:job|hobby|hobbies|family|name|occupation|favou?rite|age))\b[^?]{0,80}\?"
        ),
    ),
    (
        "cue_no",
        "leading_no",
        (
            r"^(?:well[, ]+|um+[, ]+|uh+[, ]+|oh[, ]+|hmm+[,. ]+)?(?:no|nope|nah|noo+|negative|no way|not really"
            r"|definitely not|absolutely not)\b"
        ),
    ),
    (
        "cue_yes",
        "leading_yes",
        (
            r"^(?:well[, ]+|um+[, ]+|oh[, ]+|hmm+[,. ]+)?(?:yes|yeah|yep|yup|sure|ok|okay|correct|right|exactly"
            r"|absolutely|definitely|of course|please do|certainly|indeed|true|alright|fine|i do|that is correct"
            r"|that(?:'s| is)? (?:right|correct|confirmed|it|fine)|sounds good|confirmed?|affirmative|agreed)\b"
        ),
    ),
    (
        "cue_reject",
        "leading_actually",
        (
            r"^(?:actually|sorry|wait|oops|hold on|hmm+|well|but|however|um+|uh+|ugh|wtf|omg|huh|damn|really\?"
            r"|seriously)\b"
        ),
    ),
    (
        "cue_reject",
        "instead",
        (
            r"\binstead\b|\brather than\b|\bnot the\b|\bnot in\b|\bshould(?:n't| not| have| be)\b|\bsupposed to\b"
            r"|\bnot \w{1,20}, (?:but )?"
        ),
    ),
    (
        "cue_reject",
        "negated",
        (
            r"\b(?:not|n't|never|no|none|neither|nothing|without|cannot|isnt|dont|doesnt|didnt|cant|wasnt|arent"
            r"|wont)\b|n't\b"
        ),
    ),
    (
        "cue_reject",
        "negative_word",
        (
            r"\b(?:wrong|incorrect|mistake|error|false|bad|worse|worst|terrible|awful|useless|horrible|hate|boring"
            r"|confus\w{0,4}|weird|stupid|dumb|ridiculous|annoying|frustrat\w{0,4}|disappoint\w{0,4}|unfortunately"
            r"|fail\w{0,3}|broken|problem|issue|missing|sucks?|lame|expensive|pricey|unhappy|sad|sorry|nonsense"
            r")\b"
        ),
    ),
    ("cue_but", "but", r"\b(?:but|however|although|though|except|yet)\b"),
    (
        "cue_clarify",
        "huh",
        (
            r"^(?:what|huh|pardon|excuse me|sorry|come again|wait what|eh|say (?:what|again))[?!. ]*$|^(?:what|huh)\?"
            r"|\bwhat (?:do|did|are|does) you (?:mean|talking|saying|even|trying)\b|\bwhat are you (?:talking"
            r"|on) about|\bi (?:don't|do not|dont|didn't) (?:understand|follow|get (?:it|what|that|this|you)|see how"
            r"|know what you)\b|\bwhat does that (?:even |have to )(?:mean|do)|\bi'?m (?:so |a bit "
            r"|really )?(?:confused|lost)\b|\bthat's (?:weird|odd|strange|random)\b|\bnot (?:making"
            r"|make) (?:any )?sense|\bwhat'?s that (?:got|supposed|mean)"
        ),
    ),
    (
        "cue_other",
        "something_else",
        (
            r"\b(?:something|anything|someone|somewhere|anyone|nothing|what) else\b|\b(?:any|some|other|another"
            r"|different|more) (?:other |different |more )?(?:options?|choices?|suggestions?|recommendations?|ideas?"
            r"|alternatives?|ones?|movies?|songs?|restaurants?|hotels?|places?|flights?|dates?|times?|shows?|events?"
            r"|one|kinds?|attractions?|cit(?:y|ies)|results?|style|brand|approach|solution|way|model|recipe|book"
            r"|film)\b|\balternatives?\b|\bothers\b|\belse\b|\bdo you have (?:any|other|something)|\bshow me (?:other"
            r"|more|another|different)"
        ),
    ),
    (
        "cue_repeat",
        "i_said",
        (
            r"\b(?:as|like) i (?:said|told|mentioned|wrote|asked)\b|\bi (?:already |just |clearly |did |specifically "
            r"|have already |'ve already )?(?:said|told you|asked|specified|mentioned|wrote|stated|requested)\b"
            r"|\b(?:my|the) (?:question|request) (?:was|is)\b|\bagain\b|\bi repeat\b|\blet me (?:rephrase|repeat"
            r"|clarify|be clear|try again|ask)\b|\bin other words\b|\bwhat i(?:'m| am| was)? (?:want|need|ask|looking"
            r"|mean|trying|meant|wanted|asked)|\bi still\b|\byou (?:still )?(?:haven't|didn't|did not) (?:answer|tell"
            r"|give|say)"
        ),
    ),
    (
        "cue_want",
        "wanted",
        (
            r"\bi (?:just |only |really |actually |still )?(?:wanted|meant|was (?:looking|thinking|hoping|asking"
            r"|wondering|after|referring|trying)|need(?:ed)?|prefer|would (?:prefer|rather|like)|'d (?:prefer|rather"
            r"|like)|want|am (?:looking|asking|after|talking|trying)|'m (?:looking|asking|after|talking|trying))\b"
            r"|\bi should have\b|\bi mean\b|\bi'?d (?:rather|prefer)"
        ),
    ),
    (
        "cue_taste",
        "dislike",
        (
            r"\b(?:don't|do not|dont|didn't|didnt|did not|never|wasn't|not|isn't) (?:really |actually |quite "
            r"|particularly |much |even |all that |too |very |exactly |so |a )?(?:like|liked|care|enjoy|love|fan|into"
            r"|interested|big|keen|sure|my (?:thing|style|type|taste|cup)|good|great|for me|convinced|want"
            r"|in the mood|that into|feeling|crazy)\b|\bhat(?:e|ed)\b|\bpass\b|\bmeh\b|\bnot for (?:me|us)\b"
            r"|\bover(?:rated|hyped)\b|\bover my budget\b|\bcan't afford\b|\bbeyond my budget"
        ),
    ),
    (
        "cue_taste",
        "seen_it",
        (
            r"\b(?:already|have|i've|ive|i) (?:already |just )?(?:seen|saw|watched|read|tried|been|own|have|did|heard"
            r"|done|know|knew) (?:that|it|this|those|them|all|both|one|there|the)?\b"
        ),
    ),
    (
        "cue_praise",
        "positive_word",
        (
            r"\b(?:good|great|perfect|awesome|excellent|amazing|nice|love|loved|cool|best|wonderful|fantastic"
            r"|brilliant|helpful|interesting|sounds?|fine|glad|happy|intriguing|classic|beautiful|favou?rite|yes"
            r"|lovely|sweet|fun|liked?|wow|ooh|enjoy(?:ed)?)\b"
        ),
    ),
    (
        "cue_bye",
        "bye",
        (
            r"\b(?:good ?bye|bye|see (?:you|ya)|good (?:night|day|evening)|have a (?:good|great|nice|lovely"
            r"|wonderful)|take care|farewell|that(?:'s| is|'ll be| will be| would be)? all\b|i'?m (?:good|all set"
            r"|done|fine)|nothing else|that'?s it)\b"
        ),
    ),
    (
        "cue_topic",
        "new_topic",
        (
            r"^(?:by the way|btw|on another (?:note|topic)|changing (?:the )?(?:subject|topic)|different (?:question"
            r"|topic|subject)|new (?:question|topic|task|subject)|unrelated|next (?:question|task|topic)"
            r"|another (?:question|thing|topic)|one more (?:thing|question)|moving on|ok(?:ay)? now|now[, ]"
            r"|separately|anyway|anyways|also[, ]|hi\b|hello\b|hey\b)"
        ),
    ),
    (
        "cue_edit",
        "edit",
        (
            r"^(?:please |now |just |you (?:should|need to|must|have to|can|forgot to) |it should |they should "
            r"|no[, ]+|in step \d[, ]*|for step \d[, ]*|and )?(?:change|replace|remove|delete|drop|swap|use|make|add"
            r"|set|rename|include|exclude|limit|filter|sort|order|group|count|only|shorten|rewrite|translate|convert"
            r"|switch|move|put|correct|update|ignore|omit|take out|leave out|get rid)\b"
        ),
    ),
    (
        "cue_ask",
        "question",
        (
            r"^(?:who|what|when|where|why|how|which|whose|is|are|do|does|did|can|could|would|will|was|were|has|have"
            r"|had|should|may)\b|\?"
        ),
    ),
    (
        "veto",
        "harmless_no",
        (
            r"\bno (?:problem|worries|need|rush|doubt|thanks?\b|thank you|preference|more|other|further|idea|big deal"
            r"|limit|budget|questions?|thats? (?:is |'s )?(?:all|it))|\bnot (?:bad|at all|a problem|only|yet|to worry"
            r"|sure if)\b"
            r"|\b(?<!does )(?<!did )nothing (?:wrong|else|more|at all)\b|\bcan'?t (?:wait|complain|go wrong|beat)\b"
            r"|\bdon'?t (?:worry|mind|need anything|need any (?:more|other|further)|think so|need to)"
            r"|\bno,? (?:that's|that is|that'll|that will|that would|thats|it's|i'm|im|i am) (?:all|it|fine|good|ok"
            r"|okay|everything|be all|perfect|great|set|done|be it)\b|\bwhat'?s wrong with\b"
            r"|\bwhy not\b|\bno complaints?\b|\bnever (?:knew|known|thought of)\b|\bdidn't know (?:that|this|it)\b"
            r"|\bif (?:it's|its|that's|it is) not (?:too|a)\b"
        ),
    ),
    pieces={
        "ack": (
            r"(?:ok(?:ay)?|k|kk|hm+|m{2,9}|mhm|uh huh|i see|right|alright|all right|got it|understood|noted|oh|ah"
            r"|fair enough|interesting|well|so)"
        )
    },
)
