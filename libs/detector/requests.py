"""Differences between similarly worded requests: another number, another comparison, another thing."""

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
    """Return True if the message has most words of the request, with one or two replaced."""
    asked, said = evidence.request.content, evidence.message.content
    fresh = said - asked
    return bool(fresh and asked - said and len(fresh) <= 2 and 2 * len(asked & said) >= len(asked))


def other_request(evidence: Evidence) -> bool:
    """Return True if the message asks the same about something else.

    Examples are another number, "under" for "over", and "Rome" for "Paris" if the answer was about Paris.
    """
    left_out = evidence.request.content - evidence.message.content
    return (
        other_numbers(evidence)
        or turned_round(evidence)
        or (bool(left_out & evidence.answer.content) and swapped(evidence))
    )


def takes_up(evidence: Evidence) -> bool:
    """Return True if the message has words of the answer that the request lacks, so that it builds on the answer."""
    return bool((evidence.message.content - evidence.request.content) & evidence.answer.content)


def other_numbers(evidence: Evidence) -> bool:
    """Return True if each side has a number that the other lacks."""
    asked, said = evidence.request.numbers, evidence.message.numbers
    return bool(asked - said and said - asked)


def turned_round(evidence: Evidence) -> bool:
    """Return True if one side has a comparison or negation and the other its opposite."""
    asked, said = frozenset(evidence.request.words), frozenset(evidence.message.words)
    only_asked, only_said = asked - said, said - asked
    return bool((only_asked & _LESS and only_said & _MORE) or (only_asked & _MORE and only_said & _LESS))
