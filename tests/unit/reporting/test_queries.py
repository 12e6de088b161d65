"""Rows and outcomes, without a database."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from contracts.instants import LAST, format_instant
from reporting.figures.votes import Votes, difference
from reporting.http.bodies import FilterBody, WindowQuery
from reporting.model.cursor import TIMED, BadCursor, decode, encode, fingerprint
from reporting.model.paging import PAGE_BYTES, page_of
from reporting.model.projection import (
    feedback_outcomes,
    feedback_row,
    merged_messages,
    message_outcomes,
    message_row,
    newest_feedbacks,
)
from reporting.model.responses import Window
from reporting.model.selection import ALWAYS, Filters
from servicekit.log.outcome import Outcome
from tests.support.reporting_events import feedback, message


def test_a_reply_is_alone_in_its_slot() -> None:
    reply = feedback_row(feedback("f1", kind="implicit"))
    assert reply.slot == reply.feedback_id


def test_a_persons_feedback_on_a_turn_shares_a_slot_and_a_machines_does_not() -> None:
    emoji, explicit = feedback_row(feedback("f1")), feedback_row(feedback("f2", kind="explicit"))
    machine, other_turn = feedback_row(feedback("m1", kind="inferred")), feedback_row(feedback("f3", turn="t2"))
    assert emoji.slot == explicit.slot
    assert len({emoji.slot, machine.slot, other_turn.slot}) == 3
    assert machine.slot == machine.feedback_id


def test_slots_of_ids_that_run_together_are_apart() -> None:
    one = feedback_row(feedback("f1", conversation="a/b", turn="c"))
    other = feedback_row(feedback("f2", conversation="a", turn="b/c"))
    assert one.slot != other.slot


def test_an_agents_message_without_a_turn_is_a_turn_and_a_persons_is_not() -> None:
    assert message_row(message("a1", turn=None, agent="agent-a")).turn_id == "a1"
    assert message_row(message("q1", turn=None)).turn_id is None
    assert message_row(message("a1", turn="t1", agent="agent-a")).turn_id == "t1"


def test_a_batch_comes_down_to_one_row_a_key_in_order() -> None:
    low, high, other = (feedback_row(feedback(n, revision=r)) for n, r in (("f1", 1), ("f1", 2), ("f0", 1)))
    assert newest_feedbacks([high, low, other]) == sorted([high, other], key=lambda row: row.feedback_id)
    first, late = (message_row(message("m1", content=c, at=at)) for c, at in (("a", 1), ("b", 2)))
    [edited] = merged_messages([late, first])
    assert (edited.content, edited.occurred_at) == ("b", first.occurred_at)
    assert merged_messages([first, late]) == [edited]
    ordered = message_row(message("m1", content="d", at=1, sequence=0))
    assert merged_messages([first, ordered]) == merged_messages([ordered, first])
    assert merged_messages([first, ordered])[0].content == "d"


def test_one_message_id_in_two_conversations_names_two_messages() -> None:
    rows = [message_row(message("1", conversation=conversation)) for conversation in ("c1", "c2")]
    assert merged_messages(rows) == rows


def test_outcomes_follow_arrival() -> None:
    rows = [
        feedback_row(feedback("f1", revision=revision, reaction=reaction))
        for revision, reaction in ((3, "ok"), (2, "not_ok"), (3, "ok"), (4, "ok"), (5, None))
    ]
    assert feedback_outcomes(rows, {rows[1].feedback_id: 2}) == [
        Outcome.STORED,
        Outcome.ignored("superseded"),
        Outcome.UNCHANGED,
        Outcome.STORED,
        Outcome.STORED,
    ]


def test_a_message_that_the_store_already_had_is_unchanged() -> None:
    row = message_row(message("m1"))
    assert message_outcomes([row, row], {row.key}) == [Outcome.STORED, Outcome.UNCHANGED]
    assert message_outcomes([row, row], set()) == [Outcome.UNCHANGED, Outcome.UNCHANGED]


# A cursor is decoded to its content, and any other text is rejected.

ASKED = fingerprint("listing", "acme", 1)


def test_there_and_back() -> None:
    position = (1_790_000_000_000_000, "c/1 \U0001f600", "7.0000000A/731:735:731,733")
    assert decode(encode(ASKED, position), ASKED, TIMED) == position


def test_a_cursor_of_another_question_is_refused() -> None:
    cursor = encode(fingerprint("listing", "acme", 2), (1, "c", "7.1/1:1:"))
    with pytest.raises(BadCursor):
        decode(cursor, ASKED, TIMED)


@pytest.mark.parametrize(
    "inside",
    [
        b"",
        b'[1,"c"]',
        b'["1","c","7.1/1:1:"]',
        b'[-1,"c","7.1/1:1:"]',
        b'[1,"","7.1/1:1:"]',
        b'[1,"\\u0000","7.1/1:1:"]',
        b'[1,"\\ud800","7.1/1:1:"]',
        b'[1,"c","now"]',
        b"[" * 2_000,
    ],
)
def test_anything_else_is_refused(inside: bytes) -> None:
    with pytest.raises(BadCursor):
        decode(base64.urlsafe_b64encode(inside.replace(b"[", b'["' + ASKED.encode() + b'",', 1)).decode(), ASKED, TIMED)


@pytest.mark.parametrize("text", ["%%%", "é", "a", "====", "W10"])
def test_what_is_not_base64_is_refused(text: str) -> None:
    with pytest.raises(BadCursor):
        decode(text, ASKED, TIMED)


# The period and the filters of a search's body.

SECOND, START, END = 1_000_000, "1970-01-01T00:00:01Z", "1970-01-01T00:00:02Z"


@pytest.mark.parametrize(
    ("given", "span"),
    [
        ({}, (0, ALWAYS.end)),
        ({"start": START}, (SECOND, ALWAYS.end)),
        ({"end": END}, (0, 2 * SECOND + 1)),
        ({"start": START, "end": START}, (SECOND, SECOND + 1)),
    ],
)
def test_both_ends_of_the_period_belong_to_it(given: dict[str, str], span: tuple[int, int]) -> None:
    assert FilterBody.model_validate(given).span == span


def test_a_window_from_the_last_valid_time_can_be_written() -> None:
    span = WindowQuery.model_validate({"start": format_instant(LAST)}).span(SECOND)
    assert (span, Window.of(span).end) == ((LAST - 1, LAST), format_instant(LAST))


def test_a_period_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(ValidationError, match="start must not be after end"):
        FilterBody.model_validate({"start": END, "end": START})


def test_every_filter_is_passed_on() -> None:
    given: dict[str, Any] = {
        "agent_id": "a", "agent_version": "v", "model": "m", "reaction": "ok", "feedback_type": "explicit",
        "min_confidence": 0.5, "user_id": "u", "conversation_id": "c", "detector": "d",
        "decided_by": "rules", "given_by": "person", "source": "post",
    }  # fmt: skip
    wanted = Filters(**given, tag="wrong", origins=("user",))
    assert FilterBody.model_validate({**given, "tag": "wrong", "origin": "user"}).filters == wanted
    assert FilterBody().filters == Filters()


# Changes of satisfaction: their size and significance.

COUNTS = st.integers(0, 3_000)


def test_a_published_example_of_newcombes_interval() -> None:
    # Newcombe 1998, table II: 56/70 against 48/80, method 10: 0.0524 to 0.3339.
    assert difference(56, 70, 48, 80) == pytest.approx((0.0524, 0.3339), abs=5e-5)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_bounds_hold_the_difference_and_turn_with_it(ok: int, bad: int, was_ok: int, was_bad: int) -> None:
    change = Votes(ok, 0, bad).since(Votes(was_ok, 0, was_bad))
    if not ok + bad or not was_ok + was_bad:
        assert change is None
        return
    assert change is not None
    assert change.bounds.low - 1e-9 <= change.points / 100 <= change.bounds.high + 1e-9
    back = Votes(was_ok, 0, was_bad).since(Votes(ok, 0, bad))
    assert back is not None
    assert back.bounds == pytest.approx((-change.bounds.high, -change.bounds.low), abs=1e-9)


def test_few_votes_are_no_certain_change_and_many_are() -> None:
    few, many = Votes(3, 0, 7).since(Votes(6, 0, 4)), Votes(300, 0, 700).since(Votes(600, 0, 400))
    assert few is not None and not few.certain
    assert many is not None and many.certain


# Filters of verdicts, and the roll-ups that may answer them.


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (Filters(), None),
        (Filters(intent="hours"), ("intent", "intent", "hours")),
        (Filters(bundle_id="b1", agent_id="bot"), ("bundle_id", "bundle", "b1")),
        (Filters(attributes={"arm": "a"}), ("attributes", "attributes.arm", "a")),
        (Filters(intent="hours", strategy="look_up"), None),
        (Filters(intent="hours", attributes={"arm": "a"}), None),
        (Filters(attributes={"arm": "a", "shop": "b"}), None),
    ],
)
def test_roll_ups_of_a_dimension_answer_a_filter_by_it_alone(
    filters: Filters, found: tuple[str, str, str] | None
) -> None:
    assert filters.of_dimension == found


# Pages are limited in items and bytes, and never empty before the end.


@given(st.lists(st.integers(0, 2 * PAGE_BYTES), max_size=12), st.integers(1, 10))
def test_a_page_is_bounded_and_goes_on(sizes: list[int], limit: int) -> None:
    sizes = sizes[: limit + 1]
    page, more = page_of(range(len(sizes)), sizes, limit)
    assert list(page) == list(range(len(page)))
    assert len(page) <= limit
    assert more == (len(page) < len(sizes))
    assert bool(page) == bool(sizes)
    assert len(page) <= 1 or sum(min(size, PAGE_BYTES) for size in sizes[: len(page)]) <= PAGE_BYTES
    if more and len(page) < limit:
        assert sum(min(size, PAGE_BYTES) for size in sizes[: len(page) + 1]) > PAGE_BYTES


@pytest.mark.parametrize(("good", "votes", "good_before", "votes_before"), [(0, 0, 0, 0), (0, 0, 3, 4), (3, 4, 0, 0)])
def test_a_period_without_votes_leaves_every_change_possible(
    good: int, votes: int, good_before: int, votes_before: int
) -> None:
    assert difference(good, votes, good_before, votes_before) == (-1.0, 1.0)


@pytest.mark.parametrize(("good", "good_before", "bound"), [(9, 0, 1.0), (0, 9, -1.0)])
def test_the_greatest_change_is_its_own_bound(good: int, good_before: int, bound: float) -> None:
    interval = difference(good, 9, good_before, 9)
    assert -1 <= interval.low < interval.high <= 1
    assert bound in interval
