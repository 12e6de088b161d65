"""Merging gives the same record for any order, grouping and repetition of changes."""

from __future__ import annotations

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from contracts.erasure import ERASURE_MARGIN as MARGIN
from feedback.erasure import forget
from feedback.merge import SUPERSEDED, merge, outcome_of, revise
from feedback.model import Change, Entry, Payload, Record, Stamp
from servicekit.log.outcome import Outcome
from tests.support.feedback_events import START, key

SLOTS = st.sampled_from(["👍", "👎", "❤"])


@st.composite
def a_change(draw: st.DrawFn) -> Change:
    """Generate a change of one of three slots; times, sequences and even event ids are often equal."""
    present = draw(st.booleans())
    text = draw(st.sampled_from(["one", "two"]))
    stamp = Stamp(
        evaluation=draw(st.integers(0, 1)),
        occurred_at=START + draw(st.integers(0, 3)),
        sequence=draw(st.integers(-1, 1)),
        removed=not present,
        event_id=draw(st.sampled_from(["a", "b", "c"])),
        digest=text,
    )
    entry = Entry(stamp, present, Payload("t1", "agent-a", "m1", "human", stamp.event_id, "ok", 0.6, text=text))
    return Change(key(), "reaction", "user", draw(SLOTS), entry)


def folded(changes: list[Change], onto: Record | None = None) -> Record | None:
    return reduce(merge, changes, onto)


def changes_of(record: Record | None) -> list[Change]:
    if record is None:
        return []
    return [
        Change(record.key, record.feedback_type, record.origin, slot, entry) for slot, entry in record.slots.items()
    ]


def join(one: Record | None, other: Record | None) -> Record | None:
    return folded(changes_of(other), one)


def kept(record: Record | None) -> object:
    return None if record is None else (dict(record.slots), record.current_entry)


SOME = st.lists(a_change(), max_size=6)


@given(SOME, SOME)
def test_merging_is_commutative(one: list[Change], other: list[Change]) -> None:
    assert kept(join(folded(one), folded(other))) == kept(join(folded(other), folded(one)))


@given(SOME, SOME, SOME)
def test_merging_is_associative(one: list[Change], two: list[Change], three: list[Change]) -> None:
    a, b, c = folded(one), folded(two), folded(three)
    assert kept(join(join(a, b), c)) == kept(join(a, join(b, c)))


@given(st.lists(a_change(), min_size=1, max_size=6), st.data())
def test_merging_is_idempotent(changes: list[Change], data: st.DataObject) -> None:
    record = folded(changes)
    assert folded(data.draw(st.permutations(changes)), record) is record
    assert folded(changes_of(record), record) is record


@given(st.lists(a_change(), min_size=1, max_size=8), st.data())
def test_the_order_does_not_matter(changes: list[Change], data: st.DataObject) -> None:
    assert kept(folded(changes)) == kept(folded(data.draw(st.permutations(changes))))


@given(st.lists(a_change(), min_size=1, max_size=8))
def test_the_newest_change_of_each_slot_stays_and_the_newest_present_one_is_shown(changes: list[Change]) -> None:
    record = folded(changes)
    assert record is not None
    newest = {slot: max((w.entry for w in changes if w.slot == slot), key=lambda e: e.stamp) for slot in record.slots}
    assert record.slots == newest
    present = [entry for entry in newest.values() if entry.present]
    assert record.cleared == (not present)
    assert record.current_entry.stamp == max(entry.stamp for entry in present or newest.values())


@given(st.lists(a_change(), min_size=1, max_size=8), st.integers(0, 10**16))
def test_whatever_changes_a_record_raises_its_revision(changes: list[Change], log_time: int) -> None:
    record: Record | None = None
    for change in changes:
        merged = merge(record, change)
        if merged is record:
            continue
        revised = revise(merged, log_time)
        assert revised.revision > (record.revision if record else 0)
        assert revised.revision >= log_time // 1_000
        assert revised.created_revision == (record.created_revision if record else revised.revision)
        record = revised


@given(st.lists(a_change(), min_size=1, max_size=6), a_change())
def test_an_outcome_says_whether_the_shown_value_changed(changes: list[Change], change: Change) -> None:
    before = folded(changes)
    after = merge(before, change)

    def shown(record: Record | None) -> tuple[bool, str | None]:
        assert record is not None
        return record.current_entry.present, record.current_entry.payload.text

    outcome = outcome_of(before, after, change)
    if shown(before) != shown(after):
        assert outcome == Outcome.STORED
    if after is before:
        assert outcome in (Outcome.UNCHANGED, SUPERSEDED)


@given(st.lists(a_change(), min_size=1, max_size=6), st.integers(-2, 5), st.data())
def test_forgetting_first_or_last_leaves_the_same(changes: list[Change], said_until: int, data: st.DataObject) -> None:
    """All evaluations of a message have the message's time, so these changes have equal times."""
    changes = [change for change in changes if change.entry.stamp.evaluation == 0]
    erased_at = START + said_until - MARGIN
    later = [change for change in changes if change.entry.stamp.occurred_at > START + said_until]
    record = folded(changes)
    left = {} if record is None else forget(record, erased_at).slots
    expected = folded(data.draw(st.permutations(later)))
    assert left == ({} if expected is None else expected.slots)
