"""Breaker states: opening, careful retries, closing."""

from __future__ import annotations

from itertools import count

import pytest

from servicekit.log.bug_rate_breaker import ANY_BUGS, MINIMUM, SAME_BUGS, WINDOW, WINDOW_SECONDS, Bug, BugRateBreaker
from tests.support.hand_clock import HandClock

_NUMBERS = count()


def bug(signature: str = "", conversation: str = "") -> Bug:
    """Return a bug with its own conversation and kind, unless they are named."""
    number = str(next(_NUMBERS))
    return Bug(signature or number, (conversation or number,))


def breaker(bugs: int, good: int = 0, topic: str = "a", clock: HandClock | None = None) -> BugRateBreaker:
    made = BugRateBreaker(clock or HandClock())
    if good:
        made.handled({topic: good})
    for _ in range(bugs):
        made.failed(topic, bug())
    return made


@pytest.mark.parametrize(
    ("bugs", "good", "opens"),
    [(99, 0, False), (100, 0, True), (10, 90, False), (11, 89, True), (100, 900, False), (101, 899, True)],
)
def test_it_opens_above_a_tenth_of_at_least_a_hundred(bugs: int, good: int, opens: bool) -> None:
    assert breaker(bugs, good).open is opens


def test_a_busy_topic_does_not_hide_a_bad_one() -> None:
    made = breaker(bugs=0, good=100_000, topic="busy")
    for _ in range(MINIMUM):
        made.failed("bad", bug())
    assert made.open


def test_only_the_last_thousand_count() -> None:
    made = breaker(bugs=50)
    made.handled({"a": WINDOW})
    for _ in range(60):
        made.failed("a", bug())
    assert not made.open


def test_bugs_of_one_conversation_never_open_it() -> None:
    made = breaker(bugs=0, good=10)
    for _ in range(5 * WINDOW):
        made.failed("a", bug(conversation="hostile"))
    assert not made.open


@pytest.mark.parametrize(("conversations", "opens"), [(2, False), (3, True)])
def test_a_conversation_counts_five_times_at_most(conversations: int, opens: bool) -> None:
    """Each fails ten times: 10 of 110 records are below a tenth, 15 of 120 are above."""
    made = breaker(bugs=0, good=90)
    for number in range(10 * conversations):
        made.failed("a", bug(conversation=f"hostile {number % conversations}"))
        made.handled({"b": 1})
    assert made.open is opens


def test_bugs_of_ten_minutes_ago_no_longer_hold_it() -> None:
    clock = HandClock()
    made = breaker(bugs=MINIMUM, clock=clock)
    clock.forward(WINDOW_SECONDS - 1)
    assert made.open
    clock.forward(1)
    assert not made.open
    assert made.allowed(500) == 500


def test_what_was_condemned_is_tried_again_after_ten_minutes() -> None:
    clock = HandClock()
    made = breaker(bugs=0, clock=clock)
    for _ in range(SAME_BUGS):
        made.failed("a", bug("same"))
    assert made.condemn("a")
    assert (made.open, made.resting, made.allowed(500)) == (True, True, 1)
    clock.forward(WINDOW_SECONDS)
    assert not made.open
    made.failed("a", bug("same"))
    assert made.suspects("a") == frozenset()


@pytest.mark.parametrize(
    ("signatures", "suspected"),
    [
        (["x"] * (SAME_BUGS - 1), False),
        (["x"] * SAME_BUGS, True),
        (["y"] + ["x"] * SAME_BUGS, True),
        (["x"] * (SAME_BUGS - 1) + ["y"], False),
        (["x", "y"] * (ANY_BUGS // 2 - 1) + ["x"], False),
        (["x", "y"] * (ANY_BUGS // 2), True),
    ],
)
def test_bugs_in_a_row_are_suspicious(signatures: list[str], suspected: bool) -> None:
    made = breaker(bugs=0)
    for signature in signatures:
        made.failed("a", bug(signature))
    assert bool(made.suspects("a")) is suspected
    assert made.suspects("b") == frozenset()
    made.handled({"b": 1})
    assert bool(made.suspects("a")) is suspected
    made.handled({"a": 1})
    assert made.suspects("a") == frozenset()


@pytest.mark.parametrize(
    ("conversations", "seconds", "holds"),
    [("aaaaa", 1, False), ("aaaaa", WINDOW_SECONDS, True), ("aaaab", 1, True)],
)
def test_bugs_of_one_conversation_prove_nothing_while_others_succeed(
    conversations: str, seconds: float, holds: bool
) -> None:
    clock = HandClock()
    made = breaker(bugs=0, good=1, clock=clock)
    clock.forward(seconds)
    for conversation in conversations:
        made.failed("a", bug("same", conversation))
    assert made.suspects("a") == {(conversation,) for conversation in conversations}
    assert made.condemn("a") is holds
    assert made.open is holds


def test_a_success_ends_the_condemnation() -> None:
    made = breaker(bugs=0)
    for _ in range(SAME_BUGS):
        made.failed("a", bug("same"))
    made.condemn("a")
    made.rested()
    made.handled({"a": 1})
    assert (made.open, made.allowed(500)) == (False, 500)


def test_one_record_is_tried_and_each_success_doubles_what_is_tried_next() -> None:
    made = breaker(bugs=MINIMUM)
    assert (made.resting, made.allowed(500)) == (True, 1)
    made.rested()
    tried = []
    while made.open:
        assert not made.resting
        tried.append(made.allowed(500))
        made.handled({"a": tried[-1]})
    assert tried == [1, 2, 4, 8, 16, 32, 64, 128, 256, 500]
    assert made.allowed(500) == 500


def test_a_bug_among_them_begins_again_with_one_after_a_rest() -> None:
    made = breaker(bugs=MINIMUM)
    made.rested()
    made.handled({"a": 1})
    made.failed("a", bug())
    assert (made.resting, made.allowed(500)) == (True, 1)


def test_it_rests_only_while_it_is_open() -> None:
    assert not breaker(bugs=1).resting
