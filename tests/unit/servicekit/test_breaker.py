"""Consumer groups that are held because our own code keeps failing."""

from __future__ import annotations

import pytest

from servicekit.log.breaker import IN_A_ROW, MOST_BUGS, WINDOW, Breaker


def breaker(bugs: int, good: int = 0, *, conversations: int = 2, topic: str = "a") -> Breaker:
    """Return a breaker that has seen `good` records and then `bugs`, none of which follow each other immediately."""
    found = Breaker()
    found.succeeded({topic: good})
    for number in range(bugs):
        found.failed(topic, (str(number % conversations),))
        found.succeeded({topic: 1})
    return found


@pytest.mark.parametrize(
    ("bugs", "conversations", "held"),
    [(MOST_BUGS, 2, False), (MOST_BUGS + 1, 2, True), (MOST_BUGS + 1, 1, False), (WINDOW // 2, 1, False)],
)
def test_more_than_a_tenth_of_the_last_thousand_holds_the_group(bugs: int, conversations: int, held: bool) -> None:
    latest = Breaker()
    latest.succeeded({"a": WINDOW})
    for number in range(bugs - 1):
        latest.failed("a", (str(number % conversations),))
        latest.succeeded({"a": 1})
    latest.failed("a", (str(bugs % conversations),))
    assert latest.held is held


def test_bugs_before_the_last_thousand_do_not_count() -> None:
    latest = breaker(MOST_BUGS)
    latest.succeeded({"a": WINDOW - 150})
    latest.failed("a", ("0",))
    assert not latest.held


@pytest.mark.parametrize(
    ("conversations", "records", "held"), [(2, IN_A_ROW, True), (2, IN_A_ROW - 1, False), (1, 10 * IN_A_ROW, False)]
)
def test_bugs_of_several_conversations_in_a_row_hold_the_group(conversations: int, records: int, held: bool) -> None:
    latest = Breaker()
    for number in range(records):
        latest.failed("a", (str(number % conversations),))
    assert latest.held is held


def test_a_busy_topic_does_not_hide_one_that_always_fails() -> None:
    latest = Breaker()
    for number in range(IN_A_ROW):
        latest.succeeded({"busy": 100})
        latest.failed("rare", (str(number),))
    assert latest.topic == "rare"
    latest.succeeded({"busy": 100})
    assert latest.held, "a success on another topic proves nothing"


def test_a_success_on_the_topic_releases_the_group_and_forgets_its_bugs() -> None:
    latest = Breaker()
    for number in range(IN_A_ROW):
        latest.failed("a", (str(number),))
    latest.succeeded({"a": 1})
    assert not latest.held
    for number in range(IN_A_ROW - 1):
        latest.failed("a", (str(number),))
    assert not latest.held
