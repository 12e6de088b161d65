"""Comparison of a message with the request before it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from detector.text import Prepared

_OPPOSITES: Final = """
on off | lock unlock | add remove | add delete | open close | enable disable | increase decrease | raise lower
start stop | install uninstall | up down | show hide | most least | highest lowest | cheapest priciest | first last
more less | more fewer | max min | maximum minimum | with without | include exclude | over under | above below
before after | largest smallest | biggest smallest | longest shortest | arrive leave | arrival departure | to from
buy sell | expand collapse | expand shorten | pause resume | mute unmute | subscribe unsubscribe | renew cancel
book cancel | create delete | import export | upload download | encrypt decrypt | connect disconnect | early late
earliest latest | morning evening | north south | east west | today tomorrow | today yesterday
monday tuesday wednesday thursday friday saturday sunday
january february march april june july august september october november december
one two three four five six seven eight nine ten
"""
#: Word -> words that ask for something else.
_OTHERS: Final[dict[str, frozenset[str]]] = {}
for _line in _OPPOSITES.replace("\n", "|").split("|"):
    for _word in _line.split():
        _OTHERS[_word] = _OTHERS.get(_word, frozenset()) | frozenset(_line.split()) - {_word}
#: First words of a further request.
_FURTHER: Final = frozenset({"and", "also", "now", "next", "then", "back"})
#: Words that mark a source or a destination; the words after them are places or values.
_DIRECTIONS: Final = ("from", "to", "into", "as", "with", "by")


def asks_otherwise(message: Prepared, request: Prepared, answer: Prepared) -> bool:
    """Return True if a message in similar words asks for something other than the request.

    That is the case if it begins like a further request ("and ..."), if it has another number, day or month, the
    opposite of a word, the same words in another direction ("from Porto to Lisbon"), or if it replaces a word that the
    answer took up.
    """
    words, requested = frozenset(message.words), frozenset(request.words)
    only_said, only_asked = words - requested, requested - words
    if any(_OTHERS[word] & only_asked for word in only_said if word in _OTHERS):
        return True
    if not _FURTHER.isdisjoint(message.words[:1]):
        return True
    if message.numbers - request.numbers:
        return True
    if _directed(message.words) != _directed(request.words) and only_said <= {"and", "now", "then", "please", "back"}:
        return True
    return swaps_word(message, request, answer)


def swaps_word(message: Prepared, request: Prepared, answer: Prepared) -> bool:
    """Return True if a message repeats most of the request, but replaces a word that the answer took up."""
    fresh, left_out = message.content - request.content, request.content - message.content
    shared = request.content & message.content
    swapped = bool(fresh and left_out) and len(fresh) <= 2 and 2 * len(shared) >= len(request.content)
    return swapped and bool(left_out & answer.content)


def _directed(words: Sequence[str]) -> list[tuple[str, str]]:
    return sorted((first, second) for first, second in pairwise(words) if first in _DIRECTIONS)
