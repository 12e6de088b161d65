"""Which language a message is in: by its script, by common words, else by a library; a short one by what it answers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, Final

_EN: Final = """
the and you that it's this with for was are not have what i'm don't is of to my it how can would there your
want did do please where when who thanks thank yes but one need again should could they their these those which
doesn't didn't isn't can't won't i'll i've i'd that's what's let's been were will just from about add make use
code error file test run fix wrong right good great looks works okay yeah why now then still some any other
me my we he she so no or if has had does did as by up out all let go get show give tell find think know see like
thing really very much more most also too only even which here them him her his book looking next first last please
sounds nice perfect thx hi hello hey bye never mind sure am into over back new same time day take put try look said
hotel flight train cheap movie ticket order change issue does got getting may might than because help problem
"""
_DE: Final = """
ich nicht das ist und der die ein eine danke bitte nein ja wie wo auch aber mit für auf du sie mir mich
habe kein keine falsch stimmt noch doch wollte meinte gemeint richtig schon den dem im zu genau gut geht gerne
dann wir uns bei von immer hier wäre würde kann
"""
_FR: Final = """
je ne pas le la les des est c'est un une et merci non oui que qui pour avec vous tu sur dans mais ce cette
j'ai plus bien faux voulais veux ça du au n'est d'accord il elle nous mon ma très parfait toujours
"""
_ES: Final = """
el la los las que no es un una y gracias sí por para con pero eso esto quiero quería lo está más cómo dónde
qué me mi tu del en muy bien otra otro mejor vale hola buenos días quisiera tren hora
"""
#: Without tables of their own; here so that a word that they share with a language above tells nothing.
_IT: Final = """
il lo la le gli di che non è e sono per con mi ti si ho hai ha come cosa bene grazie ciao sì ma anche molto questo
della del un una va perché quale io lei ne
"""
_PT: Final = """
o os as não é e são com para por um uma muito obrigado obrigada você isso está bom sim que de da em na mas
"""
_COMMON: Final[dict[str, frozenset[str]]] = {
    "en": frozenset(_EN.split()),
    "de": frozenset(_DE.split()),
    "fr": frozenset(_FR.split()),
    "es": frozenset(_ES.split()),
    "it": frozenset(_IT.split()),
    "pt": frozenset(_PT.split()),
}
#: Word -> the one language that it is common in.
_ONLY: Final[dict[str, str]] = {
    word: language
    for language, words in _COMMON.items()
    for word in sorted(words)
    if not any(word in other for name, other in _COMMON.items() if name != language)
}
#: What the library chooses among: the languages of most conversations in letters of Latin kind.
_CHOICES: Final = ("en", "de", "fr", "es", "zh", "it", "pt", "nl", "cs", "pl", "sv", "da", "ro", "hu", "tr", "id", "vi")
#: Languages with tables of their own; any other is "other".
KNOWN: Final = frozenset({"en", "de", "fr", "es", "zh"})
#: Words up to which a message says too little about its language for the library.
FEW: Final = 3
#: What the library must be sure of, and the characters that it reads.
SURE: Final = 0.5
READ: Final = 200


def own_language(text: str, words: Sequence[str]) -> str | None:
    """ "en", "de", "fr", "es", "zh" or "other"; None where the text says too little, as "ok" or a name does."""
    seen = words[:40]
    letters = "".join(seen)[:READ]
    if not letters.isascii():
        foreign = sum(1 for letter in letters if ord(letter) > 0x24F)
        if foreign * 3 > len(letters):
            return "zh" if any("\u4e00" <= letter <= "\u9fff" for letter in letters) else "other"
    told = [_ONLY[word] for word in seen if word in _ONLY]
    if told and told.count(told[0]) == len(told) and (len(told) > 1 or len(seen) <= FEW):
        return told[0] if told[0] in KNOWN else "other"
    if len(seen) <= FEW:
        return None
    language, sure = _identifier().classify(text[:READ])
    if sure < SURE:
        language = max(sorted(set(told)), key=told.count) if told else ""
        return None if not language else language if language in KNOWN else "other"
    return language if language in KNOWN else "other"


@cache
def _identifier() -> Any:
    """Takes 0.1 s and 20 MB; its model travels in its wheel."""
    package = import_module("py3langid.langid")
    logging.getLogger(package.__name__).setLevel(logging.WARNING)
    identifier = package.LanguageIdentifier.from_model_file(package.MODEL_FILE, norm_probs=True)
    identifier.set_languages(_CHOICES)
    return identifier
