"""Rule for bursts of alike verdicts, and the spans of time in which marks may change."""

from __future__ import annotations

from typing import Any

import pytest

from reporting.suspects.rules import AROUND, MinuteSpan, VerdictWindow, bursts, spans

LEAST = 20


def window(number: int = 1_000, turns: int = LEAST, **fields: Any) -> VerdictWindow:
    values: dict[str, Any] = {"conversations": 5, "instants": 3, "first": "a", "last": "a"} | fields
    return VerdictWindow(number, turns, **values)


@pytest.mark.parametrize(
    ("fields", "is_suspect"),
    [
        ({}, True),
        ({"turns": 19}, False),
        ({"conversations": 4}, False),
        ({"instants": 2}, False),
        ({"last": "b"}, False),
        ({"turns": 5_000, "conversations": 900, "instants": 400}, True),
    ],
)
def test_a_burst_has_many_turns_and_conversations_all_alike(fields: dict[str, Any], is_suspect: bool) -> None:
    assert bursts([window(**fields)], LEAST) == ([1_000] if is_suspect else [])


def test_without_a_least_number_nothing_is_suspect() -> None:
    assert bursts([window()], 0) == []


@pytest.mark.parametrize(("step", "is_suspect"), [(-2, False), (-1, True), (1, True), (2, False)])
def test_the_windows_next_to_a_burst_belong_to_it_if_they_are_alike(step: int, is_suspect: bool) -> None:
    few = window(1_000 + step, turns=2, conversations=1, instants=1)
    assert (few.number in bursts([few, window()], LEAST)) is is_suspect
    assert bursts([few._replace(first="b", last="b"), window()], LEAST) == []


@pytest.mark.parametrize(("step", "is_suspect"), [(-31, True), (-30, False), (30, False), (31, True)])
@pytest.mark.parametrize("other", [("a", "b"), ("b", "b")])
def test_a_different_verdict_within_five_minutes_clears_all(
    step: int, is_suspect: bool, other: tuple[str, str]
) -> None:
    differs = window(1_000 + step, 1, conversations=1, instants=1, first=other[0], last=other[1])
    assert bursts([window(), differs], LEAST) == ([1_000] if is_suspect else [])


def test_a_person_who_always_says_the_same_slowly_is_not_suspect() -> None:
    assert bursts([window(number, 19) for number in range(1_000, 2_000)], LEAST) == []


def test_spans_cover_what_a_change_may_affect_and_are_bounded() -> None:
    assert spans([]) == []
    assert spans([100, 100]) == [MinuteSpan(100 - AROUND, 100 + AROUND)]
    assert spans([113, 100]) == [MinuteSpan(100 - AROUND, 113 + AROUND)]
    assert spans([100, 114]) == [MinuteSpan(94, 106), MinuteSpan(108, 120)]
    found = spans(range(1_000, 2_000))
    assert max(one.end - one.start for one in found) <= 60
    assert {minute for one in found for minute in range(one.start, one.end + 1)} == set(range(994, 2_006))
