"""Merging keeps the same words whatever the order, the grouping and the repetitions in which they come."""

from __future__ import annotations

from functools import reduce

from feedback_words import START, key
from hypothesis import given
from hypothesis import strategies as st

from feedback.erasure import MARGIN, forget
from feedback.merge import SUPERSEDED, merge, outcome_of, revise
from feedback.model import Change, Entry, Payload, Record, Stamp
from servicekit.outcome import STORED, UNCHANGED

SLOTS = st.sampled_from(["👍", "👎", "❤"])


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """A word in one of three slots; moments, sequences and even event ids meet often."""
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


def folded(words: list[Change], onto: Record | None = None) -> Record | None:
    return reduce(merge, words, onto)


def words_of(record: Record | None) -> list[Change]:
    if record is None:
        return []
    return [
        Change(record.key, record.feedback_type, record.origin, slot, entry) for slot, entry in record.slots.items()
    ]


def join(one: Record | None, other: Record | None) -> Record | None:
    return folded(words_of(other), one)


def kept(record: Record | None) -> object:
    return None if record is None else (dict(record.slots), record.shown)


SOME = st.lists(changes(), max_size=6)


@given(SOME, SOME)
def test_merging_is_commutative(one, other):
    assert kept(join(folded(one), folded(other))) == kept(join(folded(other), folded(one)))


@given(SOME, SOME, SOME)
def test_merging_is_associative(one, two, three):
    a, b, c = folded(one), folded(two), folded(three)
    assert kept(join(join(a, b), c)) == kept(join(a, join(b, c)))


@given(st.lists(changes(), min_size=1, max_size=6), st.data())
def test_merging_is_idempotent(words, data):
    record = folded(words)
    assert folded(data.draw(st.permutations(words)), record) is record
    assert folded(words_of(record), record) is record


@given(st.lists(changes(), min_size=1, max_size=8), st.data())
def test_the_order_does_not_matter(words, data):
    assert kept(folded(words)) == kept(folded(data.draw(st.permutations(words))))


@given(st.lists(changes(), min_size=1, max_size=8))
def test_the_newest_word_of_each_slot_stays_and_the_newest_present_one_is_shown(words):
    record = folded(words)
    newest = {slot: max((w.entry for w in words if w.slot == slot), key=lambda e: e.stamp) for slot in record.slots}
    assert record.slots == newest
    present = [entry for entry in newest.values() if entry.present]
    assert record.cleared == (not present)
    assert record.shown.stamp == max(entry.stamp for entry in present or newest.values())


@given(st.lists(changes(), min_size=1, max_size=8), st.integers(0, 10**16))
def test_whatever_changes_a_record_raises_its_revision(words, log_time):
    record: Record | None = None
    for word in words:
        merged = merge(record, word)
        if merged is record:
            continue
        revised = revise(merged, log_time)
        assert revised.revision > (record.revision if record else 0)
        assert revised.revision >= log_time // 1_000
        assert revised.created_revision == (record.created_revision if record else revised.revision)
        record = revised


@given(st.lists(changes(), min_size=1, max_size=6), changes())
def test_an_outcome_says_whether_the_shown_value_changed(words, word):
    before = folded(words)
    after = merge(before, word)

    def shown(record: Record) -> tuple[bool, str | None]:
        return record.shown.present, record.shown.payload.text

    outcome = outcome_of(before, after, word)
    if shown(before) != shown(after):
        assert outcome == STORED
    if after is before:
        assert outcome in (UNCHANGED, SUPERSEDED)


@given(st.lists(changes(), min_size=1, max_size=6), st.integers(-2, 5), st.data())
def test_forgetting_first_or_last_leaves_the_same(words, said_until, data):
    """Words of one evaluation: a detector's looks at one message all bear the message's moment."""
    words = [word for word in words if word.entry.stamp.evaluation == 0]
    erased_at = START + said_until - MARGIN
    later = [word for word in words if word.entry.stamp.occurred_at > START + said_until]
    record = folded(words)
    left = {} if record is None else forget(record, erased_at).slots
    expected = folded(data.draw(st.permutations(later)))
    assert left == ({} if expected is None else expected.slots)
