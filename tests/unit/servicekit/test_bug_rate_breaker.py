"""When the breaker opens, how carefully it tries again, and how it closes."""

from __future__ import annotations

import pytest

from servicekit.kafka.bug_rate_breaker import MINIMUM, WINDOW, BugRateBreaker


def breaker(bugs: int, good: int = 0, topic: str = "a") -> BugRateBreaker:
    made = BugRateBreaker()
    if good:
        made.handled({topic: good})
    for _ in range(bugs):
        made.failed(topic)
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
        made.failed("bad")
    assert made.open


def test_only_the_last_thousand_count() -> None:
    made = breaker(bugs=50)
    made.handled({"a": WINDOW})
    for _ in range(60):
        made.failed("a")
    assert not made.open


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
    made.failed("a")
    assert (made.resting, made.allowed(500)) == (True, 1)


def test_it_rests_only_while_it_is_open() -> None:
    assert not breaker(bugs=1).resting
