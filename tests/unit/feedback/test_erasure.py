"""Scope of an erasure, and the fields of a record that remain."""

from __future__ import annotations

import pytest

from contracts.erasure import Erasure, Person, erasure_of, is_erased, latest
from feedback.model import Record, forget
from tests.support.feedback_events import START, entry, erasure, key

FIVE_MINUTES = 300_000_000
ANN, BOB = Person("acme", "ann"), Person("acme", "bob")


@pytest.mark.parametrize(
    ("occurred_at", "erased_at", "covered"),
    [
        (1_000, None, False),
        (0, 1_000, True),
        (1_000, 1_000, True),
        (1_000 + FIVE_MINUTES, 1_000, True),
        (1_001 + FIVE_MINUTES, 1_000, False),
    ],
)
def test_an_erasure_covers_five_minutes_more(occurred_at: int, erased_at: int | None, covered: bool) -> None:
    assert is_erased(occurred_at, erased_at) is covered


def test_a_replayed_event_is_as_old_as_its_first_record() -> None:
    """A replayed event's own timestamp counts only up to the log time of its first record."""
    late = 1_000 + 100 * FIVE_MINUTES
    assert not is_erased(late, 1_000)
    assert is_erased(late, 1_000, log_time=1_000)
    assert not is_erased(late, 1_000, log_time=1_001)
    assert is_erased(1_000, 1_000, log_time=late)


def made_of(**slots: int) -> Record:
    return Record(key(), "reaction", "user", {slot: entry(at) for slot, at in slots.items()}, 7, 5)


def test_a_record_said_before_becomes_a_stub_with_its_ids() -> None:
    stub = forget(made_of(a=0, b=FIVE_MINUTES), START)
    assert stub == Record(key(), "reaction", "user", {}, 7, 5)
    assert stub.forgotten


def test_the_moment_is_the_logs_unless_the_request_says_a_later_one() -> None:
    assert erasure_of(erasure(at=10), START + 500_000_000) == Erasure(ANN, "q1", START + 500_000_000)
    assert erasure_of(erasure(at=10), START + 5_000_000) == Erasure(ANN, "q1", START + 10_000_000)


def test_of_a_persons_erasures_the_last_holds() -> None:
    first, second, tie = Erasure(ANN, "b", 1), Erasure(ANN, "a", 2), Erasure(ANN, "b", 2)
    other = Erasure(BOB, "a", 1)
    assert latest([first, second, other]) == {ANN: second, BOB: other}
    assert latest([tie, second]) == latest([second, tie]) == {ANN: tie}
