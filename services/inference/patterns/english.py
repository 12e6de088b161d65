"""English: what people write about an answer."""

from __future__ import annotations

from typing import Final

from inference.patterns.table import Pattern, table

_IT = r"(?:that|this|it|these|those|which|your (?:answer|response|reply|code|solution|suggestion|result|output|last one))"
_IS_NOT = (
    r"(?: is not|'s not| isn't| isnt| was not| wasn't| wasnt| are not| aren't| arent|'s still not| still isn't"
    r"| is still not| isn't really| is not really|'s not really| doesn't seem| does not seem)"
)
_DOES_NOT = r"(?: doesn't| does not| didn't| did not| doesnt| didnt| don't| do not| dont| won't| will not| still doesn't)"
_END = r"(?: at all| though| anymore| either| now| thanks| sorry)?(?:[.!,;:]|$| -| \()"

REJECT: Final[tuple[Pattern, ...]] = table(
    "en",
    ("reject", "is_wrong", _IT + r"(?:'s| is| are| was| were| looks?| seems?| sounds?| can't be| cannot be)"
     r"(?: just| still| all| also| totally| completely| absolutely| clearly| simply| very| quite| plain| obviously"
     r"| actually| factually| partly| so)? (?:wrong|incorrect|false|inaccurate|untrue|nonsense|rubbish|garbage|bs"
     r"|useless|terrible|awful|horrible|unacceptable|unhelpful|irrelevant|outdated|not true|not correct|not right"
     r"|not accurate|not helpful|not useful|a mistake|an error)\b"),
    ("reject", "bare_wrong", r"^(?:no[,.! ]+|nope[,.! ]+|sorry[,. ]+(?:but )?|um+[,. ]+|actually[,. ]+|hmm+[,. ]+)?"
     r"(?:wrong|incorrect|false|not true|not correct|not right|not quite(?: right)?|inaccurate|completely wrong"
     r"|totally wrong|wrong again|still wrong|that'?s wrong)(?:[.,!:; ]|$)"),
    ("reject", "is_not_right", _IT + _IS_NOT + r"(?: quite| really| even| exactly| at all| entirely| actually)?"
     r" (?:right|correct|true|accurate|helpful|useful|relevant|working|acceptable|it\b|how it works|the case)"),
    ("reject", "not_what_i_asked", r"not (?:really |quite |exactly |at all )?(?:what|the \w{1,20}|who|where|the one)"
     r"(?: that)? (?:i|we)(?:'m| am| was|'ve| have|'d| had)? ?(?:asked|ask|asking|wanted|want|meant|mean|said|need"
     r"|needed|requested|looking|after|had in mind|thinking|expecting|expected|interested|talking|ordered)\b"),
    ("reject", "didnt_ask", r"\b(?:i|we) (?:didn't|did not|didnt|never|wasn't|was not) (?:ask(?:ed|ing)?|want(?:ed)?"
     r"|mean|meant|say|said|request(?:ed)?|order(?:ed)?|talking about)\b(?! (?:to know )?if)"),
    ("reject", "i_meant", r"^(?:no|nope|nah|sorry|wait|but|oops|actually|oh)?[,.!? -]{0,3}(?:but )?(?:what )?i (?:actually |really )?(?:meant\b|was (?:asking|talking|looking)"
     r" (?:about|for|if|who|what|when|where|how|why|which)\b|asked (?:for|about|you|who|what|when|where|how|why|which|if)\b)"),
    ("reject", "misunderstood", r"\b(?:you(?:'ve| have)? (?:\w{1,10} )?(?:misunderst(?:ood|and)|misread|misheard|confused"
     r" (?:me|the|it|this|that|my)|mixed (?:up|it|them)|missed (?:the point|my|what|a |an |one|some|part|it)"
     r"|forgot (?:to|the|my|a|about|that)|ignored|got (?:it|that|this|the \w{1,20}) (?:all )?wrong|didn't (?:answer|listen|read"
     r"|understand|get|include|address|do|follow|give|mention)|did not (?:answer|listen|read|understand|get|include|address|do"
     r"|follow|give)|(?:are|were) (?:not |never )?(?:wrong|mistaken|lying|confused|not listening|not answering"
     r"|missing the point|making (?:things|this|that|stuff) up|hallucinating|contradicting)|'re (?:wrong|mistaken|lying|confused|missing the point|not listening|not answering|"
     r"making (?:things|this|that|stuff) up|not making (?:any )?sense|hallucinating)|made (?:that|this|it) up"
     r"|just (?:repeated|made|changed|copied|gave)|keep (?:\w{1,12}ing)|haven't (?:answered|addressed|fixed|changed)|"
     r"aren't (?:listening|making|answering|understanding|getting)|misinterpreted|hallucinated|made a mistake"
     r"|broke (?:it|the|my|everything)))"),
    ("reject", "no_sense", _IT + r"? ?(?:\w{1,12} )?(?:makes no|doesn't make(?: any)?|does not make(?: any)?|doesnt make(?: any)?|don't make(?: any)?"
     r"|didn't make(?: any)?|not making(?: any)?|made no|make no) sense"),
    ("reject", "does_not_work", r"(?:^|\b(?:it|this|that|code|solution|command|script|link|answer|one|still|which|fix)"
     r")(?: just| also| simply)?" + _DOES_NOT + r" ?(?:even |really |actually |quite |seem to )?(?:work|compile|run|help|answer|fix|solve|address"
     r"|match|look right|seem right|sound right|add up|exist|cut it|change anything|do (?:it|that|what|anything)|parse|load|make it)\b"
     r"|\bnot working\b|\bstill (?:broken|failing|fails|wrong|getting|the same|crash(?:es|ing)|not|no|slow|throws|an error)\b"
     r"|\b(?:same|another|different) (?:error|problem|issue|result) (?:again|as before|still)\b"),
    ("reject", "didnt_help", r"\b(?:not|isn't|wasn't|hardly|no|of no|zero) (?:very |really |at all |that |much |any )?"
     r"(?:helpful|help|useful|use)" + _END),
    ("reject", "try_again", r"^(?:no[,. ]+|ugh[,. ]+|please )?(?:try (?:it )?again|redo (?:it|this|that)|do (?:it|that) (?:over|again)"
     r"|start over|fix (?:it|this|that)|check (?:it |that |this )?again|double.?check(?: that| this| it)?|one more try|again)[.! ]*(?:please)?[.!]*$"),
    ("reject", "bad_answer", r"\b(?:bad|terrible|awful|horrible|useless|wrong|incorrect|poor|stupid|ridiculous|worst|lazy|vague|generic)"
     r" (?:answer|response|reply|advice|suggestion|recommendation|information|info|result|results|idea|bot|number|date|place"
     r"|city|year|file|person|one|way|language|format|address|name|time|day|movie|song|model|version)\b"),
    ("reject", "not_satisfied", r"\b(?:i'm|im|i am|we're|we are) (?:not|very|really|so|extremely|quite) "
     r"(?:happy with|satisfied|impressed|convinced|disappointed|unhappy|frustrated|annoyed|dissatisfied)|\bunsatisfactory\b"
     r"|\b(?:i disagree|disappointing|not good enough|unacceptable)\b"),
    ("reject", "turn_down", r"\bi (?:really |just |definitely |absolutely |actually |personally )?(?:don't|do not|dont|didn't|did not|didnt|can't stand|hate|hated|dislike|disliked|would not|wouldn't"
     r"|wont|won't) ?(?:really |particularly |even |actually |quite )?(?:(?:like|liked|want|care for|care much for|enjoy|love|need|recommend|accept|agree with|trust|believe|buy) )?"
     r"(?:that|this|it|these|those|either|any of|the idea|them|him|her)\b(?! (?:much )?(?:if|when|but i (?:will|might)))"),
    ("reject", "too_much", r"\b(?:that|this|it|they|those|these|price|which)?(?:'s| is| are|'re| was| sounds?| looks?| seems?)?(?: just| still| a bit| a little| way| much| far)? ?too "
     r"(?:expensive|long|short|far|late|early|much|complicated|complex|vague|generic|formal|informal|big|small|slow|hot|cold|loud|dark|bright|old|new|scary|"
     r"violent|sad|boring|many|few|wordy|verbose|pricey|high|low|heavy|childish|general|technical|basic|simple|costly|risky)\b(?! much (?:trouble|to ask))"),
    ("reject", "no_correction", r"^(?:no|nope|nah|wrong|incorrect)[,.!; -]{1,3}(?:no[,. ]+)?(?:i|it|its|it's|that|thats|that's|this|the|they|he|she|you|your|we|not|make|change|please|should|only|there|my|use|actually|sorry|book|play|set|for|on|at|from|to|in)\b"
     r"(?!(?:'s| is)? (?:all|it|fine|ok|okay|good|perfect|great|everything|enough)\b)(?! (?:have no|don't have (?:any )?(?:preference|other|more|further)|thank|am good|am fine|am done|am all set|don't mind|think that's all|think i'm good|think that is))"),
)

ABANDON: Final[tuple[Pattern, ...]] = table(
    "en",
    ("abandon", "never_mind", r"\bnever ?mind\b|\bnvm\b|\b(?:just )?forget (?:about )?(?:it|this|that|the whole)\b(?! (?:was|is))|^forget (?:about )?it"),
    ("abandon", "give_up", r"\b(?:i|we)(?:'ll| will|'m going to| am going to|'m| am)? ?(?:just )?(?:give|giving|gave) up\b|\bthis is (?:pointless|hopeless|a waste)|"
     r"\bwast(?:e|ing|ed) (?:of )?(?:my |our )?time\b|\bi'?m done (?:with (?:this|you)|here|trying)\b|\b(?:there's|what's) no (?:point|use)\b|\bno point in\b"),
    ("abandon", "elsewhere", r"\b(?:look|go|try|ask|search|shop|book|find)(?:ing)? (?:it |one |this |for it |somebody |someone |somewhere |some place |another |a different )?"
     r"(?:elsewhere|somewhere else|someone else|somebody else|another (?:agency|agent|company|place|site|assistant|service|store|shop|provider|tool)|other (?:agency|agencies|companies|sites))\b"
     r"|\b(?:to|another|different) (?:travel )?(?:agency|competitor)\b"),
    ("abandon", "myself", r"\b(?:i|we)(?:'ll| will|'d rather| would rather| can| guess i'll|'m going to|'ll have to)? (?:just |probably |rather )?(?:do|figure|look|google|find|fix|search|write|handle|book|call|work|check)(?: \w{1,10}){0,4} (?:myself|on my own|ourselves|by myself)\b"),
    ("abandon", "leave_it", r"\b(?:let's|lets|let us|just) (?:leave|drop|skip|scrap|cancel) (?:it|this|that)\b(?! (?:open|as|on|in|there|off|at))|\bscrap that\b|\bdrop it\b|^cancel(?: (?:it|that|this|everything|the whole thing))?[.! ]*$|^stop[.! ]*$"),
    ("abandon", "forget_bot", r"\b(?:connect|transfer|put|pass|get) me (?:to|through to|with)? ?(?:a |an )?(?:human|person|agent|operator|manager|representative|someone)|\b(?:speak|talk) (?:to|with) (?:a |an )?(?:human|real person|person|manager|representative|operator)\b"),
)

ACCEPT: Final[tuple[Pattern, ...]] = table(
    "en",
    ("thanks", "thanks", r"\b(?:thank(?:s| you| u)|thx|tysm|thnx|tks|ty|cheers|much appreciated|appreciate (?:it|that|your|the|you)|thankyou|you(?:'ve| have) been (?:very |so |really |most |super )?(?:helpful|a great help|a big help)|kudos)\b"),
    ("thanks", "that_works", r"\b(?:that|this|it|which) (?:works?|worked|did it|did the trick|helps?|helped|fixed it|solved it|solves it|does it|makes? (?:perfect |total |a lot of |much more |more |complete )?sense|"
     r"will (?:do|work)|would work|should work|would be (?:great|perfect|fine|good|ideal|lovely))\b(?! (?:if|for me if|better))|\bworks? (?:now|perfectly|like a charm|great|fine|for me)\b|\bproblem solved\b|\bworked (?:perfectly|great|like|fine|a treat)\b|\bgood to know\b|\bgot it (?:working|to work)\b"),
    ("thanks", "is_right", r"\b(?:that|this|it|which|all)(?:'s|s| is| was| are| looks?| sounds?| seems?|'re)(?: just| exactly| absolutely| all| really| very| so| pretty| actually| quite| perfectly| totally)?"
     r" (?:right|correct|perfect|great|good|awesome|amazing|excellent|fantastic|wonderful|helpful|useful|brilliant|lovely|nice|fine|cool|clear|superb|ideal|it|delicious|neat|beautiful|reasonable|interesting|fun|intriguing|"
     r"what i (?:want|wanted|need|needed|asked|asked for|was looking for|meant|'m looking for|am looking for))(?:[.,!:; ]|$)(?! (?:but|enough|if|question))"),
    ("thanks", "exclaimed", r"^(?:oh |ah |ooh |wow[,!. ]* ?|yes[,!. ]+|yeah[,!. ]+|ok(?:ay)?[,!. ]+|all right[,!. ]+|alright[,!. ]+|hmm[,!. ]+|very |so |that's |sounds |how )?(?:great|perfect|awesome|excellent|amazing|fantastic|wonderful|brilliant|lovely|nice|cool|sweet|superb|exactly|precisely|good (?:job|work|one|answer|idea|point|bot|choice|stuff)|well done|nailed it|love it|impressive|beautiful|neat|bingo|spot on|sounds (?:good|great|perfect|fine|fun|interesting|nice|amazing|awesome|like a plan|lovely))(?:[.,!:;) ]|$)(?! (?:but|if)\b)"),
    ("action", "take_it", r"\b(?:i|we)(?:'ll| will|'d like to|'m going to| am going to| would like to|'m gonna| want to|'d love to|'ll definitely|'ll probably| would| wanna| can| should| shall| might|'d)? ?(?:just |definitely |probably |then |also |have to |now )?"
     r"(?:take|go (?:with|for|ahead with)|choose|pick|buy|order|try|use|check|watch|look into|give|reserve|get|book|grab|see|read|keep|stick with|do|put|add|rent|download|apply|implement|follow) "
     r"(?:that|this|it|the (?:first|second|third|last|former|latter|other|red|blue|black|white|cheaper|cheapest|bigger|smaller|one)|both|one|them|those|these|option|your (?:advice|suggestion|recommendation)|a (?:try|shot|look|go|watch)|out)\b(?! (?:myself|elsewhere|somewhere))"),
    ("action", "book_it", r"^(?:ok(?:ay)?[,. ]+|great[,.! ]+|yes[,.! ]+|yeah[,.! ]+|perfect[,.! ]+|good[,.! ]+|alright[,. ]+|sure[,.! ]+|cool[,.! ]+|sounds good[,.! ]+|then |so |please )*(?:let's|lets|please|go ahead and|now)? ?(?:book|buy|order|reserve|purchase|take|get|confirm|do|play|send|schedule|save|submit|add|ship|merge|deploy) (?:it|that|this|them|me (?:that|this)|that one|this one|both|the (?:first|second|third|last) one)\b(?! (?:again|over|instead|differently))|\bgo ahead\b|\blet's (?:do|go with|book|take|try) (?:it|that|this)\b|\bsign me up\b|\bbook me\b"),
    ("action", "will_check", r"\b(?:i'?ll|i will|i'm going to|im going to|gonna|i need to|i'll have to|i have to|i might|i'd like to|i would like to|have to|going to) (?:definitely |also |probably |certainly |have to |need to |go )*(?:check|look|watch|try|give|see|read|listen|consider|add|put|test)\b(?:[^.!?]{0,40}\b(?:out|up|into|it|one|those|both|that|them|list|for it|a (?:try|shot|look|watch|chance)|tonight|soon|too)\b|[.! ]*$)"),
    ("follow", "what_about", r"^(?:ok(?:ay)?[,.! ]+|great[,.! ]+|and |cool[,.! ]+|nice[,.! ]+|alright[,. ]+|good[,.! ]+|thanks[,.! ]+|so |yes[,. ]+|interesting[,.! ]+|hmm+[,. ]+)*(?:(?:what|how) about\b|and (?:what|how|if|is|are|does|do|can|where|when|who|which|the|for|in|also|could|would|will|why)\b|what if\b|also[, ]|can you also|could you also|does (?:it|that|this|he|she|the)\b|do they\b|is (?:it|that|there|this)\b|are (?:they|there|those|these)\b|tell me more|more (?:details?|info(?:rmation)?|about)|how (?:much|long|far|big|many) (?:is|does|do|are|would|will|did|was)\b|which (?:one|of)\b|where is (?:it|that)|what(?:'s| is) (?:it|the (?:price|cost|address|phone|rating|name|difference|director|brand|plot))\b|who(?:'s| is) (?:in it|the)|what else\b|when (?:is|does|was) (?:it|that)\b)"),
    ("follow", "detail", r"\b(?:can|could|would) you (?:also |please |just )?(?:explain|elaborate|expand|go into|give (?:me )?(?:an example|some examples|more)|tell me (?:more|its|the|their|about|what|if|how|where|when|who)|show me (?:more|how|an|the)|compare|break (?:it|that|this) down)\b|\bmore (?:detail|details|info|information|examples?)\b|\bfor (?:example|instance)\?|\bhow (?:does|do|would|did|will) (?:that|it|this|they|those)\b|\bwhy (?:is|does|do|did|would) (?:that|it|this)\b|\bcompared (?:to|with)\b|\bdifference between\b|\bwhat(?:'s| is| are) (?:it|its|their|that one)\b|\bwhat (?:is|are|was|were) (?:its|their|that|it)\b"),
)

CUES: Final[tuple[Pattern, ...]] = table(
    "en",
    ("cue_no", "leading_no", r"^(?:well[, ]+|um+[, ]+|uh+[, ]+|oh[, ]+|hmm+[,. ]+)?(?:no|nope|nah|noo+|negative|no way|not really|definitely not|absolutely not)\b"),
    ("cue_yes", "leading_yes", r"^(?:well[, ]+|um+[, ]+|oh[, ]+|hmm+[,. ]+)?(?:yes|yeah|yep|yup|sure|ok|okay|correct|right|exactly|absolutely|definitely|of course|please do|certainly|indeed|true|alright|fine|i do|that is correct|sounds good|confirmed?|affirmative|agreed)\b"),
    ("cue_reject", "leading_actually", r"^(?:actually|sorry|wait|oops|hold on|hmm+|well|but|however|um+|uh+|ugh|wtf|omg|huh|damn|really\?|seriously)\b"),
    ("cue_reject", "instead", r"\binstead\b|\brather than\b|\bnot the\b|\bnot in\b|\bshould(?:n't| not| have| be)\b|\bsupposed to\b|\bnot \w{1,20}, (?:but )?"),
    ("cue_reject", "negated", r"\b(?:not|n't|never|no|none|neither|nothing|without|cannot|isnt|dont|doesnt|didnt|cant|wasnt|arent|wont)\b|n't\b"),
    ("cue_reject", "negative_word", r"\b(?:wrong|incorrect|mistake|error|false|bad|worse|worst|terrible|awful|useless|horrible|hate|boring|confus\w{0,4}|weird|stupid|dumb|ridiculous|annoying|frustrat\w{0,4}|disappoint\w{0,4}|unfortunately|fail\w{0,3}|broken|problem|issue|missing|sucks?|lame|expensive|pricey|lol|unhappy|sad|sorry|nonsense|dumps?)\b"),
    ("cue_but", "but", r"\b(?:but|however|although|though|except|yet)\b"),
    ("cue_clarify", "huh", r"^(?:what|huh|pardon|excuse me|sorry|come again|wait what|eh|say (?:what|again))[?!. ]*$|^(?:what|huh)\?|\bwhat (?:do|did|are|does) you (?:mean|talking|saying|even|trying)\b|\bwhat are you (?:talking|on) about|\bi (?:don't|do not|dont|didn't) (?:understand|follow|get (?:it|what|that|this|you)|see how|know what you)\b|\bwhat does that (?:even |have to )(?:mean|do)|\bi'?m (?:so |a bit |really )?(?:confused|lost)\b|\bthat's (?:weird|odd|strange|random)\b|\bnot (?:making|make) (?:any )?sense|\bwhat'?s that (?:got|supposed|mean)"),
    ("cue_other", "something_else", r"\b(?:something|anything|someone|somewhere|anyone|nothing|what) else\b|\b(?:any|some|other|another|different|more) (?:other |different |more )?(?:options?|choices?|suggestions?|recommendations?|ideas?|alternatives?|ones?|movies?|songs?|restaurants?|hotels?|places?|flights?|dates?|times?|shows?|events?|one|kinds?|attractions?|cit(?:y|ies)|results?|style|brand|approach|solution|way|model|recipe|book|film)\b|\balternatives?\b|\bothers\b|\belse\b|\bdo you have (?:any|other|something)|\bshow me (?:other|more|another|different)"),
    ("cue_repeat", "i_said", r"\b(?:as|like) i (?:said|told|mentioned|wrote|asked)\b|\bi (?:already |just |clearly |did |specifically |have already |'ve already )?(?:said|told you|asked|specified|mentioned|wrote|stated|requested)\b|\b(?:my|the) (?:question|request) (?:was|is)\b|\bagain\b|\bi repeat\b|\blet me (?:rephrase|repeat|clarify|be clear|try again|ask)\b|\bin other words\b|\bwhat i(?:'m| am| was)? (?:want|need|ask|looking|mean|trying|meant|wanted|asked)|\bi still\b|\byou (?:still )?(?:haven't|didn't|did not) (?:answer|tell|give|say)"),
    ("cue_want", "wanted", r"\bi (?:just |only |really |actually |still )?(?:wanted|meant|was (?:looking|thinking|hoping|asking|wondering|after|referring|trying)|need(?:ed)?|prefer|would (?:prefer|rather|like)|'d (?:prefer|rather|like)|want|am (?:looking|asking|after|talking|trying)|'m (?:looking|asking|after|talking|trying))\b|\bi should have\b|\bi mean\b|\bi'?d (?:rather|prefer)"),
    ("cue_taste", "dislike", r"\b(?:don't|do not|dont|didn't|didnt|did not|never|wasn't|not|isn't) (?:really |actually |quite |particularly |much |even |all that |too |very |exactly |so |a )?(?:like|liked|care|enjoy|love|fan|into|interested|big|keen|sure|my (?:thing|style|type|taste|cup)|good|great|for me|convinced|want|in the mood|that into|feeling|crazy)\b|\bhat(?:e|ed)\b|\bpass\b|\bmeh\b|\bnot for (?:me|us)\b|\bover(?:rated|hyped)\b|\bover my budget\b|\bcan't afford\b|\bbeyond my budget"),
    ("cue_taste", "seen_it", r"\b(?:already|have|i've|ive|i) (?:already |just )?(?:seen|saw|watched|read|tried|been|own|have|did|heard|done|know|knew) (?:that|it|this|those|them|all|both|one|there|the)?\b"),
    ("cue_praise", "positive_word", r"\b(?:good|great|perfect|awesome|excellent|amazing|nice|love|loved|cool|best|wonderful|fantastic|brilliant|helpful|interesting|sounds?|fine|glad|happy|intriguing|classic|beautiful|favou?rite|yes|lovely|sweet|fun|liked?|wow|ooh|enjoy(?:ed)?)\b"),
    ("cue_bye", "bye", r"\b(?:good ?bye|bye|see (?:you|ya)|good (?:night|day|evening)|have a (?:good|great|nice|lovely|wonderful)|take care|farewell|that(?:'s| is|'ll be| will be| would be)? all\b|i'?m (?:good|all set|done|fine)|nothing else|that'?s it)\b"),
    ("cue_topic", "new_topic", r"^(?:by the way|btw|on another (?:note|topic)|changing (?:the )?(?:subject|topic)|different (?:question|topic|subject)|new (?:question|topic|task|subject)|unrelated|next (?:question|task|topic)|another (?:question|thing|topic)|one more (?:thing|question)|moving on|ok(?:ay)? now|now[, ]|separately|anyway|anyways|also[, ]|hi\b|hello\b|hey\b)"),
    ("cue_edit", "edit", r"^(?:please |now |just |you (?:should|need to|must|have to|can|forgot to) |it should |they should |no[, ]+|in step \d[, ]*|for step \d[, ]*|and )?(?:change|replace|remove|delete|drop|swap|use|make|add|set|rename|include|exclude|limit|filter|sort|order|group|count|only|shorten|rewrite|translate|convert|switch|move|put|correct|update|ignore|omit|take out|leave out|get rid)\b"),
    ("cue_ask", "question", r"^(?:who|what|when|where|why|how|which|whose|is|are|do|does|did|can|could|would|will|was|were|has|have|had|should|may)\b|\?"),
    ("veto", "harmless_no", r"\bno (?:problem|worries|need|rush|doubt|thanks?\b|thank you|preference|more|other|further|idea|big deal|limit|budget|questions?|thats? (?:is |'s )?(?:all|it))|\bnot (?:bad|at all|a problem|only|yet|to worry|sure if)\b|\bnothing (?:wrong|else|more|at all)\b|\bcan'?t (?:wait|complain|go wrong|beat)\b|\bdon'?t (?:worry|mind|need anything|need any (?:more|other|further)|think so|need to)|\bno,? (?:that's|that is|that'll|that will|that would|thats|it's|i'm|im|i am) (?:all|it|fine|good|ok|okay|everything|be all|perfect|great|set|done|be it)\b|\bwhat'?s wrong with\b|\bhow could i have been wrong|\bwhy not\b|\bif (?:it's|its|that's|it is) not (?:too|a)\b"),
)

PATTERNS: Final = REJECT + ABANDON + ACCEPT + CUES
