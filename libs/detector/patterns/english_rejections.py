"""English patterns for messages that reject an answer."""

from __future__ import annotations

from typing import Final

from detector.patterns.table import Pattern, table

#: Parts of expressions that several patterns share. A pattern includes one as `<name>`.
_PIECES: Final = {
    "it": (
        r"(?:that|this|it|these|those|which|your (?:answer|response|reply|code|solution|suggestion|result"
        r"|output|last one))"
    ),
    "is_not": (
        r"(?: is not|'s not| isn't| isnt| was not| wasn't| wasnt| are not| aren't| arent|'s still not"
        r"| still isn't| is still not| isn't really| is not really|'s not really| doesn't seem| does not seem)"
    ),
    "does_not": (
        r"(?: doesn't| does not| didn't| did not| doesnt| didnt| don't| do not| dont| won't| will not"
        r"| still doesn't)"
    ),
    "adverb": (
        r"(?:really|particularly|actually|much|quite|even|that|too|very|ever|exactly|personally|honestly|a|an|big|huge"
        r"|so|super|overly|especially|all|just|at all)"
    ),
    "main": r"\b(?<!because )(?<!who )(?<!that )(?<!which )",  # excludes "a man who I don't like"
    "affirmed": (
        r"(?<!not )(?<!n't )(?<!nothing )(?<!never )(?<!not go )(?<!n't go )(?<!not be )(?<!n't be )"
        r"(?<!not that )(?<!n't that )"
    ),
    "end": r"(?: at all| though| anymore| either| now| thanks| sorry)?(?:[.!,;:]|$| -| \()",
}

PATTERNS: Final[tuple[Pattern, ...]] = table(
    "en",
    (
        "reject",
        "dont_think",
        r"\bi (?:really )?(?:don't|do not|dont|doubt) (?:think |believe )?(?:that|this|it|you)(?:'s|'re| is| are| was)?"
        r" (?:right|correct|true|accurate|working|the case|what i|how (?:it|that|this))\b",
    ),
    (
        "reject",
        "is_wrong",
        (
            r"(?<!with )(?<!of )(?<!for )(?<!in )(?<!about )"  # excludes "the cable that came with it was wrong"
            r"<it>(?:'s| is| are| was| were| looks?| seems?| sounds?| can't be| cannot be)(?: just| still| all| also"
            r"| totally| completely| absolutely| clearly| simply| very| quite| plain| obviously| actually| factually"
            r"| partly| so)? (?:wrong|incorrect|false|inaccurate|untrue|nonsense|rubbish|garbage|bs|useless"
            r"|(?:terrible|awful|horrible)(?! \w)|unacceptable|unhelpful|irrelevant|outdated|not true|not correct"
            r"|not right|not accurate"
            r"|not helpful|not useful|a mistake|an error)\b"
        ),
    ),
    (
        "reject",
        "bare_wrong",
        (
            r"^(?:no[,.! ]+|nope[,.! ]+|sorry[,. ]+(?:but )?|um+[,. ]+|actually[,. ]+|hmm+[,. ]+)?(?:wrong|incorrect"
            r"|false|not true|not correct|not right(?! (?:now|away))|not quite(?: right)?|inaccurate|completely"
            r" wrong|totally wrong"
            r"|wrong again|still wrong|that'?s wrong)(?:[.,!:; ]|$)"
        ),
    ),
    (
        "reject",
        "is_not_right",
        (
            r"<it><is_not>(?: quite| really| even| exactly| at all| entirely| actually)? (?:right|correct|true"
            r"|accurate|helpful|useful|relevant|working|acceptable|it\b|how it works|the case)"
        ),
    ),
    (
        "reject",
        "not_what_i_asked",
        (
            r"not (?:really |quite |exactly |at all )?(?:what|the \w{1,20}|who|where|the one)(?: that)? (?:i|we)(?:'m"
            r"| am| was|'ve| have|'d| had)? ?(?:asked|ask|asking|wanted|want|meant|mean|said|need|needed|requested"
            r"|looking|after|had in mind|thinking|expecting|expected|interested|talking|ordered)\b"
        ),
    ),
    (
        "reject",
        "didnt_ask",
        (
            r"\b(?:i|we) (?:didn't|did not|didnt|never|wasn't|was not) (?:ask(?:ed|ing)?|want(?:ed)?|mean|meant|say"
            r"|said|request(?:ed)?|order(?:ed)?|talking about)\b(?! (?:to know )?if)"
        ),
    ),
    (
        "reject",
        "i_meant",
        (
            r"^(?:no|nope|nah|sorry|wait|but|oops|actually|oh)?[,.!? -]{0,3}(?:but )?(?:what )?i (?:actually "
            r"|really )?(?:meant\b(?! to (?!ask|say|write|type|search))|was (?:asking|talking|looking) (?:about|for|if"
            r"|who|what|when|where|how|why|which)\b|asked (?:for|about|you|who|what|when|where|how|why|which|if)\b)"
            r"|\bbut (?:what )?i (?:actually |really )?meant (?!to (?!ask|say|write|type|search)|well\b)"
        ),
    ),
    (
        "reject",
        "misunderstood",
        (
            r"\b(?<!once )(?<!when )(?<!if )(?<!after )(?:you(?:'ve| have)? (?:\w{1,10} )?(?:misunderst(?:ood"
            r"|and)|misread|misheard|confused (?:me|the|it"
            r"|this|that|my)|mixed (?:up|it|them)|missed (?:the point|my|what|a |an |one|some|part|it)|forgot (?:to"
            r"|the|my|a|about|that)|ignored|got (?:it|that|this|the \w{1,20}) (?:all )?wrong|didn't (?:answer|listen"
            r"|read|understand|get|include|address|do|follow|give|mention)|did not (?:answer|listen|read|understand"
            r"|get|include|address|do|follow|give)|(?:are|were) (?:not |never )?(?:wrong|mistaken|lying|confused"
            r"|not listening|not answering|missing the point|making (?:things|this|that|stuff) up|hallucinating"
            r"|contradicting)|'re (?:wrong|mistaken|lying|confused|missing the point|not listening|not answering"
            r"|making (?:things|this|that|stuff) up|not making (?:any )?sense|hallucinating)|made (?:that|this|it) up"
            r"|just (?:repeated|made|changed|copied|gave)|keep (?:\w{1,12}ing)|haven't (?:answered|addressed|fixed"
            r"|changed)|aren't (?:listening|making|answering|understanding|getting)|misinterpreted|hallucinated"
            r"|made a mistake|broke (?:it|the|my|everything)))"
            r"|\b(?:did|do|didn't|don't|can't) you (?:not |even )*(?:understand|read|listen to|hear) (?:me|my|what i)\b"
        ),
    ),
    (
        "reject",
        "no_sense",
        (
            r"<it>? ?(?:\w{1,12} )?(?:makes no|doesn't make(?: any)?|does not make(?: any)?|doesnt make(?: any)?"
            r"|don't make(?: any)?|didn't make(?: any)?|not making(?: any)?|made no|make no) sense"
        ),
    ),
    (
        "reject",
        "does_not_work",
        (
            r"(?:^|\b(?:it|this|that|code|solution|command|script|link|answer|one|still|which|fix))(?: just| also"
            r"| simply)?<does_not> ?(?:even |really |actually |quite |seem to )?(?:work|compile|run|help|answer|fix"
            r"|solve|address|match|look right|seem right|sound right|add up|exist|cut it|change anything|do (?:it"
            r"|that|what|anything)|parse|load|make it)\b|\bnot working\b|\bstill (?:broken|failing|fails|wrong"
            r"|getting|the same|crash(?:es|ing)|not|no|slow|throws|an error)\b|\b(?:same|another|different) (?:error"
            r"|problem|issue|result) (?:again|as before|still)\b|\bstill (?:persists?|remains?|happens|occurs)\b"
            r"|\b(?:error|problem|issue|bug|warning)s? (?:persist|remain)s?\b"
        ),
    ),
    (
        "reject",
        "didnt_help",
        (
            r"\b(?:not|isn't|wasn't|hardly|no|of no|zero) (?:very |really |at all |that |much |any )?(?:helpful|help"
            r"|useful|use)<end>"
        ),
    ),
    (
        "reject",
        "try_again",
        (
            r"^(?:no[,. ]+|ugh[,. ]+|please )?(?:try (?:it )?again|redo (?:it|this|that)|do (?:it|that) (?:over"
            r"|again)|fix (?:it|this|that)|check (?:it |that |this )?again|double.?check(?: that| this"
            r"| it)?|one more try|again)[.! ]*(?:please)?[.!]*$"
        ),
    ),
    (
        "reject",
        "bad_answer",
        (
            r"\b(?:bad|terrible|awful|horrible|useless|wrong|incorrect|poor|stupid|ridiculous|worst|lazy|vague"
            r"|generic) (?:answer|response|reply|advice|suggestion|recommendation|information|info|result|results"
            r"|idea|bot|number|date|place|city|year|file|person|one|way|language|format|address|name|time|day|movie"
            r"|song|model|version)\b"
        ),
    ),
    (
        "reject",
        "not_satisfied",
        (
            r"\b(?:i'm|im|i am|we're|we are) (?:not|very|really|so|extremely|quite) (?:happy with|satisfied|impressed"
            r"|convinced|disappointed|unhappy|frustrated|annoyed|dissatisfied)|\bunsatisfactory\b|\b(?:i disagree"
            r"|disappointing|not good enough|unacceptable)\b"
        ),
    ),
    (
        "reject_stated",
        "turn_down",
        (
            r"\b(?<!because )i (?:really |just |definitely |absolutely |actually |personally )?(?:don't|do not"
            r"|dont|didn't|did not"
            r"|didnt|can't stand|hate|hated|dislike|disliked|would not|wouldn't|wont|won't) ?(?:really |particularly "
            r"|even |actually |quite )?(?:(?:like|liked|want|care for|care much for|enjoy|love|need|recommend|accept"
            r"|agree with|trust|believe|buy) )?(?:that|this|it|these|those|either|any of|the idea|them|him"
            r"|her)\b(?! (?:much )?(?:if|when|but i (?:will|might)))(?!(?<=believe it)!|(?<=believe this)!)"
        ),
    ),
    (
        "reject_stated",
        "too_much",
        (
            r"<affirmed>\btoo (?:expensive|long|short|far|late|early|much|complicated|complex|vague|generic|formal"
            r"|informal|big|small|slow|hot|cold|loud|dark|bright"
            r"|old|new|scary|violent|sad|boring|many|few|wordy|verbose|pricey|high|low|heavy|childish|general"
            r"|technical|basic|simple|costly|risky)\b(?! much (?:trouble|to ask))"
            r"|\b(?:a bit|a little|a tad|way|just|kind of|kinda) too \w+"
            r"|<affirmed>\btoo \w+(?: \w+)? for (?:me|my|us|our|them|these|those)\b"
        ),
    ),
    (
        "reject_stated",
        "no_correction",
        (
            r"^(?:no|nope|nah|wrong|incorrect)[,.!; -]{1,3}(?:no[,. ]+)?"
            r"(?:(?:make|change|use|book|play|set|put|move|switch)\b"
            r"|(?:i|it|its|it's|that|thats|that's|this|the"
            r"|they|he|she|you|your|we|not|please|should|only|there|my|actually|sorry"
            r"|for|on|at|from|to|in)\b(?!(?:'s| is|'ll be| will be| would be)? (?:all|it|fine|ok|okay|good|perfect"
            r"|great|everything|enough)\b)(?! (?:have no|don't have (?:any )?(?:preference|other|more|further)|thank"
            r"|am good|am fine|am done|am all set|don't mind|think that's all|think i'm good|think that is))"
            r"(?! (?:have|do|did|am|was|would|could|can|will)(?:n't| not)(?:$|[.,;!]| but| yet))"
            r"(?! (?:have |'ve |had )?(?:never|not|haven't|hadn't) (?:heard|seen|tried|read|watched|been|met|used)\b))"
        ),
    ),
    (
        "reject_stated",
        "not_my_taste",
        (
            r"(?:^|[.,!;:)] ?|<main>(?:i|we|and|but|also|<adverb>) )(?:do|did|would)(?:n't|nt| not)"
            r" (?:<adverb> ){0,2}(?:like|enjoy|love|care (?:much )?for|get into)\b"
            r"|\bi never (?:<adverb> )?(?:liked?|enjoy(?:ed)?|loved?|cared for)\b"
            r"|(?:^|[.,!;:)] ?|<main>(?:i|we) (?:<adverb> )?)(?:hated?|disliked?|can't stand)\b"
            r"|(?:(?:^|[.,!;:)] ?|\b(?:i'm|i am|we're|we are|they're|they are|i was|we were) )(?:<adverb> )?not"
            r"|\b(?:i|we|they) (?:wasn't|weren't|aren't))"
            r" (?:<adverb> ){0,3}(?:fans?|interested in|into|keen on|crazy about)\b"
            r"|(?:n't|\bnot) (?:<adverb> )?(?:my|our|their) (?:<adverb> )?"
            r"(?:thing|style|type|taste|cup of tea|kind|genre)\b"
            r"|\bi(?:'ll| will| think i'll| think i will) pass(?: on\b|[.,!]|$)|\bno interest in\b"
            r"|(?:n't|\bnot) for (?:me|us)\b"
        ),
    ),
    (
        "reject",
        "find_another",
        (
            r"^(?:no[,. ]+|ok(?:ay)?[,. ]+|sorry[,. ]+|please |i (?:want|need)(?: you)? to |(?:can|could) you )*"
            r"(?:find|search|look)(?: me| us| for)* (?:(?:some|any)?(?:thing|place|where|one) else"
            r"|(?:another|some other|a different)\b)(?! (?:way|copy|example))(?!.*\b(?:as well|too|also)\b)"
        ),
    ),
    pieces=_PIECES,
)
