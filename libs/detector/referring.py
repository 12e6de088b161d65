"""Finds references in a message's text to an answer other than the latest one to its writer. Pure."""

from __future__ import annotations

import re
from typing import Final

from detector.location import JUDGING
from detector.patterns import Kind
from detector.text import Prepared

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
#: Words of each language that name no topic. English ones are already missing from `Prepared.content`.
_TOPICLESS: Final = {language: JUDGING | frozenset(words.split()) for language, words in _TOPICLESS_OF.items()}

#: Share of topic words, of the answer that has fewer, that two answers to one request have in common.
REVISED: Final = 0.4

#: Agreement with another person's verdict, or a mention of the agent.
_JOINS: Final = re.compile(
    r"\b(?:same (?:here|for me|with me|problem)|me too|for me too|(?:is|are|'s) right[,. ]|i agree|agreed"
    r"|the (?:bot|assistant|agent|ai)|bei mir auch|der (?:bot|assistent)|moi aussi|le bot|a mí también|el bot)\b|\+1\b"
)
#: Pronouns that refer to the preceding message.
_THAT: Final = re.compile(r"\b(?:that|that's|thats|this|it|it's|its|das|dies|es|c'est|ça|cela|eso|esto|está)\b")
#: Restatements of the sender's own request, which are judged against the latest answer.
_RESTATES: Final = re.compile(
    r"\b(?:i (?:said|meant|mean|asked|told|wrote|wanted|want|need)|make it|still"
    r"|ich (?:meinte|meine|sagte|wollte|will)|(?:hatte|habe|hab) ich|immer noch"
    r"|j'ai (?:dit|demandé)|je (?:voulais|veux|parlais)|toujours|dije|quería|quiero|todavía)\b"
)
_RESTATING: Final[frozenset[Kind]] = frozenset({"restate", "meant", "cue_no"})
#: References to an answer before the latest.
_POINTS_BACK: Final = re.compile(
    r"\b(?:you (?:wrote|gave|said|sent|told|suggested|mentioned|made|recommended|showed|listed)|earlier|previous(?:ly)?"
    r"|before|(?:the|your) first|above|from (?:just now|this morning|yesterday)|ago|in your|your \w+"
    r"|vorhin|vorher|von (?:eben|oben)|dein\w*|(?:du|sie) (?:\w+ )?(?:geschrieben|gesagt|empfohlen|vorgeschlagen)"
    r"|tout à l'heure|plus tôt|ton|ta|votre|tu m'as|de antes|antes|primer[oa]?|tu)\b"
)


def names_in(message: Prepared, language: str) -> frozenset[str]:
    """Return the words of a message that may name the topic of an answer."""
    return message.content - _TOPICLESS.get(language, JUDGING)


def named_alone(
    names: frozenset[str], answer: Prepared, request: Prepared, latest: frozenset[str], *, points_back: bool
) -> frozenset[str]:
    """Return the names in a message that an older answer contains and the latest exchange lacks.

    Empty if the message has more names from the latest exchange. The older request is searched as well if the message
    points back, or if neither the message nor the older exchange has words in common with the latest exchange.
    """
    shared = names & latest
    elsewhere = not shared and not (answer.content | request.content) & latest
    held = answer.content | request.content if points_back or elsewhere else answer.content
    alone = (names & held) - latest
    return alone if len(alone) >= len(shared) else frozenset()


def speaks_of(
    message: Prepared, language: str, kinds: frozenset[Kind], answer: Prepared, aside: Prepared | None
) -> bool:
    """Return True if a message clearly refers to an answer to somebody else, or to one's own answer after an aside.

    `aside` is another person's message in between, None if there is none. Questions never refer: they ask for an
    answer of their own.
    """
    if "cue_ask" in kinds:
        return False
    shared = names_in(message, language) & answer.content
    if shared - (aside.content if aside else frozenset()) or _JOINS.search(message.text):
        return True
    return aside is None and "reject" in kinds and _THAT.search(message.text) is not None


def restates(message: Prepared, kinds: frozenset[Kind]) -> bool:
    """Return True if a message restates its sender's own request, so that it is judged against the latest answer."""
    return bool(_RESTATING & kinds) or _RESTATES.search(message.text) is not None


def points_back(message: Prepared) -> bool:
    """Return True if a message refers back to an answer before the latest."""
    return _POINTS_BACK.search(message.text) is not None


def revises(latest: Prepared, older: Prepared, language: str) -> bool:
    """Return True if the latest answer shares enough words with an older one to answer the same request again."""
    held, again = topics_of((older,), language), topics_of((latest,), language)
    return len(held & again) >= REVISED * max(1, min(len(held), len(again)))


def topics_of(texts: tuple[Prepared, ...], language: str) -> frozenset[str]:
    """Return the words of `texts` that may name a topic in a message of that language."""
    return frozenset[str]().union(*(text.content for text in texts)) - _TOPICLESS.get(language, JUDGING)
