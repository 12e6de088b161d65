"""Distinction of similarly worded requests: another number, another comparison, another thing."""

from __future__ import annotations

from typing import Final

from detector.evidence import Evidence

_LESS_THAN: Final = """
under below less fewer cheaper smaller before until maximum max without excluding minus not no never
"""
_MORE_THAN: Final = """
over above more greater bigger larger after since minimum min with including plus
"""
_LESS: Final = frozenset(_LESS_THAN.split())
_MORE: Final = frozenset(_MORE_THAN.split())


def swapped(evidence: Evidence) -> bool:
    """Most words of the request again, with one or two others in place of some."""
    asked, said = evidence.request.content, evidence.message.content
    fresh = said - asked
    return bool(fresh and asked - said and len(fresh) <= 2 and 2 * len(asked & said) >= len(asked))


def other_request(evidence: Evidence) -> bool:
    """The same asked of something else: another figure, over for under, or "Rome" where "Paris" stood and the answer
    had dealt with Paris."""
    left_out = evidence.request.content - evidence.message.content
    return (
        other_numbers(evidence)
        or turned_round(evidence)
        or (bool(left_out & evidence.answer.content) and swapped(evidence))
    )


def takes_up(evidence: Evidence) -> bool:
    """Words of the answer that the request didn't hold: the message goes on from there, however alike the two are."""
    return bool((evidence.message.content - evidence.request.content) & evidence.answer.content)


def other_numbers(evidence: Evidence) -> bool:
    """Figures on both sides, and on each one that the other lacks."""
    asked, said = evidence.request.numbers, evidence.message.numbers
    return bool(asked - said and said - asked)


def turned_round(evidence: Evidence) -> bool:
    """A comparison or negation on one side whose opposite stands on the other."""
    asked, said = frozenset(evidence.request.words), frozenset(evidence.message.words)
    only_asked, only_said = asked - said, said - asked
    return bool((only_asked & _LESS and only_said & _MORE) or (only_asked & _MORE and only_said & _LESS))
