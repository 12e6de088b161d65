"""Mapping of score values to verdicts. No I/O.

A value without a rule has no verdict, because a guessed reward would be worse than a missing one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from contracts.base import Reaction

Skip = Literal["skip"]
Verdict = Reaction | Skip
REACTIONS: Final[frozenset[str]] = frozenset(get_args(Reaction))
_VERDICTS: Final = (*get_args(Reaction), *get_args(Skip))
_RANGE: Final = ".."


class MappingInvalid(ValueError):
    """Raised if the mapping of an import is invalid. The message is a sentence to show to the user."""


@dataclass(frozen=True, slots=True)
class NumberRule:
    """Verdict for the numbers from `low` to `high`, both inclusive."""

    low: float
    high: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class VerdictRules:
    """Rules that map numbers and texts to verdicts, comparing texts case-insensitively.

    Without a rule of their own, the texts `ok`, `not_ok` and `neutral` map to the verdicts of the same name.
    """

    numbers: Sequence[NumberRule] = ()
    texts: tuple[tuple[str, Verdict], ...] = ()

    def of(self, value: str) -> Verdict | None:
        """Return the verdict of a score's value, or None if no rule covers the value."""
        number = number_of(value)
        if number is not None:
            return next((rule.verdict for rule in self.numbers if rule.low <= number <= rule.high), None)
        text = value.strip().casefold()
        own: Verdict | None = next((reaction for reaction in get_args(Reaction) if reaction == text), None)
        return dict(self.texts).get(text, own)


def number_of(text: str) -> float | None:
    """Parse a finite number, or return None if the text is not one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def verdicts_of(rules: Iterable[tuple[str, str]]) -> VerdictRules:
    """Build the rules from (value, verdict) pairs.

    Args:
        rules: Each value is a text, a number, or a range of numbers such as `1..2`.

    Raises:
        MappingInvalid: A verdict is unknown, or rules contradict each other.
    """
    numbers: list[NumberRule] = []
    texts: dict[str, Verdict] = {}
    for value, name in rules:
        verdict: Verdict | None = next((verdict for verdict in _VERDICTS if verdict == name), None)
        if verdict is None:
            raise MappingInvalid(f"{value} is mapped to {name}: a verdict is {', '.join(_VERDICTS)}.")
        low, between, high = value.partition(_RANGE)
        least, most = number_of(low), number_of(high if between else low)
        if least is None or most is None:
            if texts.setdefault(value.strip().casefold(), verdict) != verdict:
                raise MappingInvalid(f"{value} is mapped to two verdicts.")
            continue
        if least > most:
            raise MappingInvalid(f"The range {value} is empty: write the smaller number first.")
        if any(least <= rule.high and rule.low <= most and rule.verdict != verdict for rule in numbers):
            raise MappingInvalid(f"{value} overlaps another range with a different verdict.")
        numbers.append(NumberRule(least, most, verdict))
    return VerdictRules(tuple(numbers), tuple(texts.items()))
