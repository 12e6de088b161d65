"""Which language a message is in, as far as its commonest words and its script tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_EN: Final = """
the and you that it's this with for was are not have what i i'm don't is of to my it how can would there your
be want did do please where when who thanks no yes but one need
"""
_DE: Final = """
ich nicht das ist und der die ein eine danke bitte nein ja was wie wo auch aber mit für auf es du sie mir mich
habe kein keine falsch stimmt noch doch wollte meinte gemeint richtig schon den dem im zu
"""
_FR: Final = """
je ne pas le la les des est c'est un une et merci non oui que qui pour avec vous tu sur dans mais ce cette
j'ai plus bien faux voulais veux ça du au n'est
"""
_ES: Final = """
el la los las que no es un una y gracias sí por para con pero eso esto quiero quería lo está más cómo dónde
qué me mi tu del en muy bien otra otro mejor
"""
#: Words that are common in one language and rare in the others.
COMMON: Final[dict[str, frozenset[str]]] = {
    "en": frozenset(_EN.split()),
    "de": frozenset(_DE.split()),
    "fr": frozenset(_FR.split()),
    "es": frozenset(_ES.split()),
}


#: Word -> the languages it is common in.
_SPOKEN: Final[dict[str, tuple[str, ...]]] = {
    word: tuple(language for language, common in COMMON.items() if word in common)
    for word in sorted(frozenset().union(*COMMON.values()))
}

_FOREIGN: Final = frozenset(word for word, spoken in _SPOKEN.items() if spoken != ("en",))


def spoken_in(words: Sequence[str]) -> str:
    """ "en", "de", "fr", "es", "zh" or "other". Short or unclear text in Latin letters counts as English."""
    seen = words[:40]
    letters = "".join(seen)[:200]
    if not letters.isascii():
        foreign = sum(1 for letter in letters if ord(letter) > 0x24F)
        if foreign * 3 > len(letters):
            return "zh" if any("\u4e00" <= letter <= "\u9fff" for letter in letters) else "other"
    if _FOREIGN.isdisjoint(seen):
        return "en"
    counts = dict.fromkeys(COMMON, 0)
    for word in seen:
        for language in _SPOKEN.get(word, ()):
            counts[language] += 1
    best = max(counts.values())
    return next(language for language, count in counts.items() if count == best)
