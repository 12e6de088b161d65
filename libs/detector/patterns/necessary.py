"""What a text must hold for a pattern to match it: read off the expression, so that most patterns needn't be tried.

An expression is read into outlines of the texts that it can match: letters, `EDGE` where a word ends, `GAP` for
anything at all. Whatever can't be followed (a class of letters, a repetition, what stands ahead or behind) becomes a
gap or nothing, so a reading may let too much through, never too little.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from detector.text import STOP

# How an expression is parsed has no public interface; a step of a name that isn't known here is taken for a gap.
_parse: Final[Callable[[str], Any]] = import_module("re._parser").parse

EDGE: Final = "\x00"
GAP: Final = "\x01"
#: Outlines that an expression is followed through; where there would be more it is cut in two.
MANY: Final = 128
#: An escaped character, a class of characters, or one character.
_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_LETTERS: Final = re.compile(r"[^\W_]+")

Outlines = frozenset[str]
Signs = frozenset["Sign"]
_NOTHING: Final[Outlines] = frozenset({""})
_ANYTHING: Final[Outlines] = frozenset({GAP})
_BORDERS: Final = frozenset({"AT_BEGINNING", "AT_END", "AT_BOUNDARY"})


@dataclass(frozen=True, slots=True)
class Sign:
    """Letters or digits to look for, as a `whole` word (what stands between two other characters) or in part of one.

    Of a text without any: one other character, never whole.
    """

    letters: str
    whole: bool = False

    @property
    def common(self) -> float:
        """How often it turns up, roughly: decides which of several signs is looked for, and nothing else."""
        share = 4.0 if self.letters in STOP else 1.0
        size = len(self.letters)
        return share * (1 + 1 / size) if self.whole else 16 * share / size**2


@dataclass(frozen=True, slots=True)
class Needs:
    """Of every text that an expression matches: it holds one of `first` and one of `second`.

    Empty where none are known. `at_start`: the match begins where the text begins.
    """

    first: Signs
    second: Signs
    at_start: bool


def needs(source: str) -> Needs:
    """What the expression needs; nothing is known of one with flags."""
    tree = _parse(source)
    if tree.state.flags != re.UNICODE:
        return Needs(frozenset(), frozenset(), at_start=False)
    needed = _needed(_read(tree))
    ranked = [sorted(own, key=lambda sign: (sign.common, sign.letters, sign.whole)) for own in needed]
    return Needs(
        first=frozenset(own[0] for own in ranked),
        second=frozenset(own[:2][-1] for own in ranked),
        at_start=[*map(str, (*tree, "")[0])] == ["AT", "AT_BEGINNING"],
    )


def alternatives(source: str) -> list[str]:
    """The expressions of which one must match for the whole to match; each needs more than the whole does."""
    compiled = re.compile(source)
    if compiled.groups or compiled.flags != re.UNICODE:
        return [source]
    found, depth, start = [], 0, 0
    for token in _TOKEN.finditer(source):
        depth += {"(": 1, ")": -1}.get(token.group(), 0)
        if token.group() == "|" and not depth:
            found.append(source[start : token.start()])
            start = token.end()
    return [*found, source[start:]]


def _needed(outlines: Outlines) -> list[Signs]:
    """Sets of signs of which a text of these outlines holds at least one whole set; empty where none are known."""
    least: list[Signs] = []
    for found in sorted({_signs(outline) for outline in outlines}, key=len):
        if not found:
            return []
        if not any(other <= found for other in least):
            least.append(found)
    return least


def _signs(outline: str) -> Signs:
    found = set()
    for run in _LETTERS.finditer(outline):
        around = outline[max(0, run.start() - 1) : run.start()], outline[run.end() : run.end() + 1]
        found.add(Sign(run.group(), whole=not {"", GAP} & {*around}))
    return frozenset(found or {Sign(mark) for mark in outline if mark not in {EDGE, GAP, " "}})


def _common(outlines: Outlines) -> float:
    """Of outlines that are looked for together; one without a sign is in every text."""
    needed = _needed(outlines)
    return sum({min(sign.common for sign in own) for own in needed}) if needed else math.inf


def _read(steps: Iterable[Any]) -> Outlines:
    """The outlines of steps that follow one another, or of their most telling stretch where they are too many."""
    stretches: list[Outlines] = [_NOTHING]
    for step in steps:
        last, own = stretches[-1], _step(*step)
        if len(last) * len(own) <= MANY:
            stretches[-1] = frozenset(left + right for left in last for right in own)
        else:
            left, right = _cut(last, own)
            stretches[-1:] = [left, right]
    if len(stretches) == 1:
        return stretches[0]
    return frozenset(GAP + outline + GAP for outline in min(stretches, key=_common))


def _cut(left: Outlines, right: Outlines) -> tuple[Outlines, Outlines]:
    """Two neighbours on their own; where one always ends a word, the other knows it."""
    ends = all(outline and _ends(outline[-1]) for outline in left)
    starts = all(outline and _ends(outline[0]) for outline in right)
    return (
        frozenset(outline + (EDGE if starts else GAP) for outline in left),
        frozenset((EDGE if ends else GAP) + outline for outline in right),
    )


def _ends(mark: str) -> bool:
    return mark != GAP and not mark.isalnum()


def _step(kind: Any, argument: Any) -> Outlines:
    match str(kind):
        case "LITERAL":
            return frozenset({chr(argument)})
        case "IN":
            return _class(argument)
        case "AT":
            return frozenset({EDGE}) if str(argument) in _BORDERS else _NOTHING
        case "ASSERT" | "ASSERT_NOT":
            return _NOTHING
        case "SUBPATTERN":
            _, switched_on, switched_off, inner = argument
            return _ANYTHING if switched_on or switched_off else _read(inner)
        case "BRANCH":
            return frozenset().union(*map(_read, argument[1]))
        case "MAX_REPEAT" | "MIN_REPEAT":
            return _repeated(*argument)
        case _:
            return _ANYTHING


def _class(members: Sequence[tuple[Any, Any]]) -> Outlines:
    """One character of several: itself where all are given by name; an edge where none can be in a word."""
    kinds = {str(kind) for kind, _ in members}
    if kinds != {"LITERAL"}:
        return _ANYTHING
    letters = {chr(argument) for _, argument in members}
    return frozenset(letters) if any(letter.isalnum() for letter in letters) else frozenset({EDGE})


def _repeated(least: int, most: Any, steps: Iterable[Any]) -> Outlines:
    once = _read(steps)
    often = once if most == 1 or once == {EDGE} else frozenset(outline + GAP for outline in once)
    return often if least else often | _NOTHING
