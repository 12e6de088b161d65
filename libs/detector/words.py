"""Words that name no topic, by language. They cannot show which answer a message is about."""

from __future__ import annotations

from typing import Final

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
}
#: Words of each language that name no topic. English is missing, because `Prepared.content` excludes such words.
TOPICLESS: Final = {language: JUDGING | frozenset(words.split()) for language, words in _TOPICLESS_OF.items()}


def names_in(words: frozenset[str], language: str) -> frozenset[str]:
    """Return those of `words`, in the given language, that may name a topic."""
    return words - TOPICLESS.get(language, JUDGING)
