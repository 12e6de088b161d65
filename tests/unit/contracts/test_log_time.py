"""Log time of judgements, erasures and ratings; other events keep their own time."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from contracts.feedback import FeedbackSessionCreated
from contracts.log_time import at_log_time
from tests.support.feedback_events import START, erasure, explicit, reaction

LOG, LATER = START + 1_000, START + 2_000


SEQUENCE = LOG // 1_000 * 2**20


def judged(offset: int = 7, judged_at: int | None = None, **said: Any) -> tuple[int, int | None]:
    event = at_log_time(explicit(**{"timed_by_log": True} | said), LOG, offset, judged_at)
    return event.occurred_at, event.sequence


@pytest.mark.parametrize("clock", [-3_600, 0, 3_600], ids=["an hour behind", "right", "an hour ahead"])
def test_a_judgement_without_a_time_counts_for_the_logs(clock: float) -> None:
    assert judged(at=clock) == (LOG, SEQUENCE + 7)


@pytest.mark.parametrize(("given", "counts"), [(START, START), (LOG, LOG), (LATER, LOG)])
def test_a_persons_own_time_counts_unless_it_is_after_the_logs(given: int, counts: int) -> None:
    assert judged(given_at=given) == (counts, SEQUENCE + 7)


@pytest.mark.parametrize("offset", [0, 999, 1_041, 999_999, 5_000_999])
def test_of_one_moment_the_later_record_holds(offset: int) -> None:
    assert judged(offset=offset) < judged(offset=offset + 1)


def test_a_later_millisecond_counts_more_than_any_offset() -> None:
    first, later = explicit(timed_by_log=True, given_at=START), explicit(timed_by_log=True, given_at=START)
    assert (at_log_time(first, LOG, 2**20 - 1).sequence or 0) < (at_log_time(later, LATER, 0).sequence or 0) < 2**63


def test_judging_as_if_on_another_day_replaces_a_later_log_time_alone() -> None:
    assert judged(judged_at=START)[0] == START
    assert judged(judged_at=LATER)[0] == LOG


def test_a_judgement_that_an_older_process_wrote_stays_as_it_is() -> None:
    event = explicit(at=9)
    assert at_log_time(event, LOG, 0) is event


def test_an_erasure_counts_for_the_logs_time() -> None:
    assert at_log_time(erasure(at=3_600), LOG, 0).occurred_at == LOG
    assert at_log_time(erasure(at=-3_600), LOG, 0).occurred_at == LOG


@pytest.mark.parametrize("occurred_at", [START, LOG, LATER])
@pytest.mark.parametrize("recorded_at", [START, LOG, LATER])
def test_neither_time_of_a_rating_is_later_than_the_log(occurred_at: int, recorded_at: int) -> None:
    rating = FeedbackSessionCreated(
        event_id="e", occurred_at=occurred_at, tenant="acme", id=UUID(int=7), session_id_opaque="0" * 64,
        user_id_or_null=None, recorded_at=recorded_at, label="positive", turn_count_at_end=1, source="api_end",
    )  # fmt: skip
    timed = at_log_time(rating, LOG, 0)
    assert (timed.occurred_at, timed.recorded_at) == (min(occurred_at, LOG), min(recorded_at, LOG))
    assert timed.label == "positive"


def test_what_producers_say_of_chats_stays_as_it_is() -> None:
    event = reaction(at=9)
    assert at_log_time(event, LOG, 0) is event
