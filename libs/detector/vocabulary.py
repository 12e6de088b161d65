"""Constants for the conditions in `cues.py`: limits, kinds of patterns, words and regular expressions."""

from __future__ import annotations

import re
from typing import Final

from detector.patterns import Kind

Kinds = frozenset[Kind]

#: Similarity to the previous exchange below which a message may be a new topic, and its minimum number of words.
UNRELATED: Final = 0.2
TOPIC_WORDS: Final = 2
#: Similarity above which a message may repeat the request, and the minimum probability that they have the same intent.
REPHRASED_ABOVE: Final = 0.8
SAME_INTENT: Final = 0.7
#: Minimum number of words of a rephrased request.
REWORDED_WORDS: Final = 3
#: Microseconds after an answer from which only an explicit rejection is feedback on it.
SESSION_TIMEOUT_US: Final = 30 * 60 * 1_000_000
#: Maximum number of words of an approval that decides alone, and of a short reply such as "yes, please".
APPROVAL_WORDS: Final = 10
REPLY_WORDS: Final = 8
#: Maximum number of characters of a bare "no" in Chinese or Japanese, which have no spaces between words.
BARE_CHARACTERS: Final = 4
#: Maximum number of words of a repeated request that a person typed again. A longer one was resent by its client.
TYPED_WORDS: Final = 6
#: Maximum number of words of an agent's message that only asks a question. In a longer one the question is a courtesy.
QUESTION_WORDS: Final = 40
#: Minimum number of words of a long answer, outside of code.
LONG_ANSWER: Final = 40
#: Number of words above which a message that ends with a question has a statement before it.
TOLD_WORDS: Final = 15

#: Kinds of complaints.
COMPLAINT: Final[Kinds] = frozenset(
    {"reject", "reject_stated", "abandon", "cue_reject", "cue_no", "cue_repeat", "cue_other"}
)
#: Kinds of messages that repeat the request or complain, if they end with a question.
ASKED_AGAIN: Final[Kinds] = COMPLAINT - {"cue_reject"} | {"cue_but", "cue_clarify", "restate"}
PLAIN_REJECTION: Final[Kinds] = frozenset({"reject", "abandon"})
REJECTION: Final[Kinds] = frozenset({"reject", "reject_stated"})
APPROVAL: Final[Kinds] = frozenset({"thanks", "action"})
#: Kinds of explicit rejections. A message must match at least one of them to be one.
REJECTING: Final[Kinds] = REJECTION | {"cue_no", "restate", "meant"}
#: Kinds that must not match a short yes or no to an offer.
OBJECTION: Final[Kinds] = PLAIN_REJECTION | {"cue_but", "cue_ask", "cue_other", "cue_repeat"}
#: Kinds that must not match an approval that decides alone.
DOUBT: Final[Kinds] = frozenset(
    {"cue_reject", "cue_no", "cue_but", "cue_taste", "cue_other", "cue_repeat", "cue_clarify", "cue_ask"}
)
#: Kinds of messages that respond to the preceding exchange, so that they are not a new topic.
RESPONSE: Final[Kinds] = (
    PLAIN_REJECTION
    | APPROVAL
    | frozenset[Kind]({"reject_stated", "restate", "cue_no", "cue_yes", "cue_clarify", "cue_repeat"})
)
#: Kinds of thanks, agreement and farewell. A message that matches one of them is not a rephrased request.
COURTESY: Final[Kinds] = frozenset({"thanks", "action", "cue_yes", "cue_bye", "acknowledge", "postpone"})
#: Kinds of questions that do not build on the answer.
NO_FOLLOW_UP: Final[Kinds] = frozenset({"reject", "reject_stated", "abandon", "cue_clarify", "cue_repeat", "cue_no"})
#: Kinds of agents' messages that ask for a reply, such as questions and proposals.
QUESTIONS: Final[Kinds] = frozenset({"agent_asks", "agent_closes", "agent_proposes"})
CUES_AGAINST: Final[Kinds] = frozenset({"cue_taste", "cue_clarify", "cue_repeat", "cue_reject", "cue_other"})
CUES_FOR: Final[Kinds] = frozenset({"cue_praise", "cue_yes"})
#: Name of the pattern for a dislike in the first person ("I don't like it").
TASTE: Final = "en.not_my_taste"

#: Pronouns that may refer to something in the request or the answer.
PRONOUNS: Final = frozenset({"it", "they", "them", "he", "she", "him", "her"})
#: Dislike of somebody else's actions: "I don't like how they show it".
OF_OTHERS: Final = re.compile(r"\b(?:like|hate|stand) (?:how|the way) (?!(?:you|it|this|that|these|those)\b)")
DEMONSTRATIVES: Final = frozenset({"this", "that", "these", "those"})
YOU: Final = frozenset({"you", "your", "you're", "you've"})
#: Words that distinguish a sentence from search words if they are near the beginning of a message.
SENTENCE_WORDS: Final = frozenset({"i", "it", "that", "this", "you", "they"})
#: First words of an order.
ORDERS: Final = frozenset({"please", "feel", "go", "continue", "proceed", "let's", "lets"})
_TASKS: Final = """
add allow answer append apply archive ask attach build bump call check clean clear close collect combine commit compare
configure convert copy create cut define delete deploy describe disable display document download draft draw drop edit
enable ensure expand explain export extract fetch fill filter format generate group handle hide implement import improve
include increase insert install keep leave let limit link list load log lower make mark merge mention migrate move name
note open order organize pack paste pick plan prepare print publish push put raise read record reduce refactor release
remove rename reorder replace report rerun reset resolve restart restrict return review rewrite roll run save schedule
send separate set shorten shrink sign simplify skip sort split start stop store style submit summarize summarise test
throw translate treat trim turn update upload use validate verify view warn wire wrap write
"""
#: Verbs that begin an order for the next step. They have an object, and may follow up to `LEAD_WORDS` words of `LEADS`.
TASKS: Final = frozenset(_TASKS.split())
LEADS: Final = frozenset(
    {"please", "now", "next", "then", "also", "and", "so", "ok", "okay", "great", "first", "finally"}
)
LEAD_WORDS: Final = 3
#: Kinds of orders that are corrections. A "not", "but" or "the others" is not included, because it may be in the task.
CORRECTING: Final[Kinds] = frozenset(
    {"reject", "reject_stated", "abandon", "cue_no", "cue_repeat", "cue_clarify", "cue_taste", "cue_want", "restate"}
)
#: Words that ask for a repetition. They are ignored when a message is compared with the request.
ONCE_MORE: Final = frozenset({"again", "please", "once", "more"})
#: Last characters of a complete answer.
SENTENCE_ENDS: Final = frozenset('.!?。！？)"')

_LESS_THAN: Final = """
under below less fewer cheaper smaller before until maximum max without excluding minus not no never
"""
_MORE_THAN: Final = """
over above more greater bigger larger after since minimum min with including plus
"""
LESS: Final = frozenset(_LESS_THAN.split())
MORE: Final = frozenset(_MORE_THAN.split())

#: Regret about the answer's content.
REGRET: Final = re.compile(
    r"^(?:(?:oh|ah|aw+|damn|well)[,.! ]+)*(?:too bad|oh no|no[,.!]+ i (?:hate|hated|wanted)|bummer"
    r"|(?:what|such|that's|that is)(?: a| so| really| too)* (?:pity|shame|bummer|sad|bad news))\b"
)
#: End of a sentence or clause, and words that praise a mere proposal ("sounds good") or ask for an opinion.
SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s+| - ")
HEARSAY: Final = re.compile(r"\b(?:sounds?|seems?|fine|would|will)\b|\?$")
#: Minimum number of words of a sentence that praises, unless it matches `SUCCESS`. A shorter one is a courtesy.
PRAISE_WORDS: Final = 3
SUCCESS: Final = frozenset({"en.that_works", "en.fixed"})
#: Beginning of a request that need not end with a question mark.
REQUEST: Final = re.compile(
    r"^(?:(?:and|but|so|ok|okay|now|next|then|also|please|just),? )*(?:(?:can|could|would|will) (?:you|we|i)\b"
    r"|let'?s\b|let us\b|i need\b|i want\b|i(?:'d| would) like\b|we need\b|go (?:on|ahead)\b|on to\b|next\b|do\b"
    r"|find\b|help\b|fix\b|give\b|show\b|tell\b|book\b|suggest\b|recommend\b|try\b|proceed\b|continue\b|keep\b)"
)
ASIDE: Final = re.compile(r"\b(?:by the way|btw|fyi)\b")
#: Requests for time ("no, let me check first"). They do not correct a detail that the agent wants to confirm.
ASKS_FOR_TIME: Final = re.compile(
    r"\b(?:let me (?:check|think|see|ask|look)|hold on|not yet|(?:a|one) (?:sec|second|moment|minute)\b"
    r"|(?:need|have|want) to (?:check|think|ask))\b"
)
#: Failures of a program, and harmful actions of an agent.
HARM: Final = re.compile(
    r"\b(?:error\w*|errors?|fail(?:s|ed|ing|ures?)?|crash(?:es|ed|ing)?|exceptions?|broken?|breaks|breaking|bugs?"
    r"|traceback|timeouts?|wrong|missing|worse|useless|delet(?:ed|ing)|lost|losing|wip(?:ed|ing)|ruin(?:ed|ing)"
    r"|destroy(?:ed|ing)|ignor(?:ed|ing)|overwr(?:ote|iting|itten)|for(?:got|gotten|getting)|wast(?:ed|ing)|instead"
    r"|slower|blank|burnt|took down|nonsense|closed since)\b"
)
STATUS_CODE: Final = re.compile(
    r"(?<![\d.,#$€£])\b(?:40[013489]|41[035]|42[29]|50[0234])"  # a number with a unit is not a status code
    r"(?=[.!?;:)]?$|[,.!?;] | (?:now|again|errors?|when|if|on|from|for|response|page|but|and)\b)"
    r"|\b(?:http |status |code |an? |returns? |gives? |gets? )[45]\d\d\b|\bexit(?:s|ed)? [1-9]"
)
NEGATION: Final = re.compile(r"\b(?:not|never|nothing|nobody|cannot|\w+n't|dont|doesnt|didnt|isnt|cant|wont)\b")
#: Negations that praise ("not bad"), and failures that were repaired.
HARMLESS: Final = re.compile(
    r"\b(?:not bad|not a problem|nothing else|never mind|can't (?:complain|thank)|couldn't (?:be|have|ask)|why not"
    r"|if not|(?:no|without|zero|0) (?:more |any |further )?(?:errors?|failures?|bugs?"
    r"|crash(?:es)?|exceptions?|problems?)"
    r"|(?:don't|doesn't|does not|do not) (?:fail|crash|break) (?:anymore|any more|now)"
    r"|(?:fixed|solved|resolved|found) (?:the |that |this |my |all |those )*(?:error|bug|failure|crash"
    r"|exception|problem)s?)\b"
)
IRONY: Final = re.compile(
    r"\b(?:out(?:did|done) yourself|never fails? to|what could (?:possibly |ever )?go wrong|big surprise|shocker"
    r"|how original|who would have (?:thought|guessed)|like the (?:last|previous) (?:\w+ )?times?"
    r"|(?:detective|sherlock|einstein|shakespeare|michelin|picasso|mozart|captain obvious)|would be (?:jealous|proud)"
    r"|my favou?rite (?:part|step)|oh (?:joy|goody|boy)|good luck with that|congrat(?:ulation)?s,? you)\b"
    r"|\bthanks? (?:a lot )?for nothing\b|^(?:oh|wow|gee|well)[,.! ]+(?:great|wonderful|perfect|brilliant|fantastic"
    r"|lovely|super|nice|thanks)\b|\b(?:just|simply) (?:great|perfect|wonderful|brilliant|what i (?:needed|wanted))[.!]"
    r"|\b(?:slow clap|how (?:nice|lovely|helpful|convenient)|love how|what a surprise|bravo|genius|real(?:ly)? smart"
    r"|yet another|as (?:always|usual|expected))\b|(?:^|\s)/s\b|🙄|👏|🤡|🙃|😒"
)

_JUDGING: Final = """
wrong right correct incorrect error errors mistake bad good great nice perfect fine better best worse thank thanks job
work works working worked like liked love loved hate help helps helpful answer answers said meant want wanted need still
again never earlier before previous first last one ok okay yes bug problem broken fails failed fail idea try really
actually sorry please well done sounds sound looks look seems seem thing things else recommend suggest way lot bit
"""
#: Words that judge an answer or refer to it, but do not name its content.
JUDGING: Final = frozenset(_JUDGING.split())

_TOPICLESS_OF: Final = {
    "de": """
ich du er sie es wir ihr mich mir dich dir ihn ihm uns euch sich der die das den dem des ein eine einen einem einer
eines kein keine keinen und oder aber doch denn weil wenn als wie wo wer was wann warum nicht nichts noch schon auch
nur sehr so zu zum zur im in am an auf aus bei mit nach von vom vor für über unter durch um ohne gegen bis ist sind
war waren bin bist sein hat habe hast haben hatte wird werden wurde kann kannst können soll sollte muss mein meine
meinen dein deine ihre da dann hier dort ja nein bitte danke mal eben gerade jetzt heute immer wieder mehr viel alle
alles dass ob falsch richtig gut super stimmt man
""",
    "fr": """
je tu il elle on nous vous ils elles me te se lui leur le la les l un une des du de d et ou mais donc car si que qui
quoi dont où quand comment pourquoi ne pas plus rien jamais c'est ce cet cette ces ça cela est sont était suis es ai as
a ont avait être avoir fait faire mon ma mes ton ta tes son sa ses notre votre à au aux dans en par pour sur avec sans
chez oui non merci très bien faux juste tout tous j'ai n'est qu'il y là ici encore
""",
    "es": """
yo tú él ella nosotros ellos me te se le lo la los las nos les el un una unos unas y o pero porque si que qué quién
cuál cuándo cómo dónde no ni nada nunca es son está están era ser estar hay ha he has han fue de del a al en por para
con sin sobre mi mis tu tus su sus este esta esto ese esa eso aquel ya muy más bien mal sí gracias también todo todos
olvidó falso correcto como
""",
    "it": """
io tu lui lei noi voi loro mi ti si ci vi lo la li le il i gli un uno una e o ma perché se che chi cosa come quando dove
non né niente mai è sono era ho hai ha hanno di del della a al in nel da con su per tra questo questa quello mio tuo suo
più molto bene male sì no grazie anche tutto già
""",
    "pt": """
eu tu você ele ela nós eles me te se lhe o a os as um uma e ou mas porque que quem qual quando como onde não nem nada
nunca é são está era foi ser estar há tem de do da em no na por para com sem sobre meu seu este esta isto esse isso já
muito mais bem mal sim obrigado também tudo
""",
}
#: Words of each language that name no topic. English is missing, because `Prepared.content` excludes such words.
TOPICLESS: Final = {language: JUDGING | frozenset(words.split()) for language, words in _TOPICLESS_OF.items()}
