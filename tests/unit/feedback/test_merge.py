"""Merge of received feedback into a record."""

from __future__ import annotations

from functools import reduce
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from contracts.erasure import ERASURE_MARGIN as MARGIN
from contracts.feedback import FeedbackReactionReceived
from feedback.model import (
    SUPERSEDED,
    UNMAPPED,
    Change,
    Entry,
    Payload,
    Record,
    Stamp,
    forget,
    merge,
    outcome_of,
    revise,
)
from feedback.reward import change_of
from servicekit.log.outcome import Outcome
from tests.support.feedback_events import START, explicit, inferred, key, reaction


def say(record: Record | None, event: object) -> tuple[Record, Outcome]:
    change = change_of(event)
    assert isinstance(change, Change)
    after = merge(record, change)
    return after, outcome_of(record, after, change)


def merged_from(*events: object) -> tuple[Record, list[Outcome]]:
    record, outcomes = None, []
    for event in events:
        record, outcome = say(record, event)
        outcomes.append(outcome)
    assert record is not None
    return record, outcomes


def test_the_same_event_again_is_unchanged() -> None:
    assert merged_from(reaction("👍"), reaction("👍"))[1] == [Outcome.STORED, Outcome.UNCHANGED]


def test_an_older_event_that_says_the_same_is_unchanged() -> None:
    assert merged_from(explicit("ok", at=5, event="a"), explicit("ok", at=1, event="b"))[1] == [
        Outcome.STORED,
        Outcome.UNCHANGED,
    ]


def test_a_newer_event_that_says_the_same_is_unchanged_but_kept() -> None:
    record, outcomes = merged_from(explicit("ok", at=1, event="a"), explicit("ok", at=5, event="b"))
    assert outcomes == [Outcome.STORED, Outcome.UNCHANGED]
    assert record.current_entry.stamp.occurred_at == START + 5_000_000


def test_an_older_event_that_says_otherwise_is_superseded() -> None:
    record, outcomes = merged_from(explicit("ok", at=5, event="a"), explicit("not_ok", at=1, event="b"))
    assert outcomes == [Outcome.STORED, SUPERSEDED]
    assert record.current_entry.payload.reaction == "ok"


def test_an_older_emoji_changes_nothing_shown_but_is_kept() -> None:
    record, outcomes = merged_from(reaction("👍", at=5, event="a"), reaction("❤", at=1, event="b"))
    assert outcomes == [Outcome.STORED, Outcome.UNCHANGED]
    assert sorted(record.slots) == ["❤", "👍"]
    assert record.current_entry.payload.emoji == "👍"


def test_taking_the_newest_emoji_away_falls_back_to_the_one_before() -> None:
    first, second = reaction("👍", at=1, event="a"), reaction("👎", at=2, event="b")
    record, outcomes = merged_from(first, second, reaction("👎", "removed", at=3, event="c"))
    assert outcomes == [Outcome.STORED, Outcome.STORED, Outcome.STORED]
    assert (record.current_entry.payload.emoji, record.live) == ("👍", True)
    assert record.current_entry.stamp.occurred_at == START + 1_000_000


def test_a_late_older_event_does_not_bring_a_cleared_feedback_back() -> None:
    record, outcomes = merged_from(
        reaction("👍", at=1, event="a"), reaction("👍", "removed", at=3, event="b"), reaction("👍", at=2, event="c")
    )
    assert outcomes == [Outcome.STORED, Outcome.STORED, SUPERSEDED]
    assert not record.live


def single(emoji: str | None, at: float, action: str = "added") -> FeedbackReactionReceived:
    """Return a reaction of a platform on which a person has one emoji per message."""
    event: FeedbackReactionReceived = reaction(emoji, action, at=at, event=f"e{at}", replaces=True)
    return event


def test_a_single_emoji_is_replaced_and_taken_back_without_its_name() -> None:
    changes = [single("👍", 1), single("👎", 2), single(None, 3, "removed")]
    record, _ = merged_from(*changes[:2])
    assert (record.current_entry.payload.emoji, record.live) == ("👎", True)
    for order in permutations(changes):
        record, _ = merged_from(*order)
        assert not record.live
    record, _ = merged_from(*changes, single("❤️", 4))
    assert (record.current_entry.payload.emoji, record.live) == ("❤", True)
    record, _ = merged_from(single("👍", 1), single("👎", 2, "removed"))
    assert not record.live


def test_a_removal_without_a_name_takes_all_emojis_back() -> None:
    changes = [
        reaction("👍", at=1, event="a"),
        reaction("❤", at=2, event="b"),
        reaction(None, "removed", at=3, event="c"),
    ]
    for order in permutations(changes):
        record, _ = merged_from(*order)
        assert not record.live
    for order in permutations([*changes, reaction("👎", at=4, event="d")]):
        record, _ = merged_from(*order)
        assert (record.current_entry.payload.emoji, record.live) == ("👎", True)


def test_a_single_emoji_without_a_reward_takes_the_previous_one_back() -> None:
    for order in permutations([single("👍", 1), single("🤔", 2)]):
        record, outcomes = merged_from(*order)
        assert not record.live
        assert UNMAPPED in outcomes


def test_clearing_twice_is_one_clear() -> None:
    record, outcomes = merged_from(
        explicit("ok", at=1), explicit(None, at=2, event="a"), explicit(None, at=3, event="b")
    )
    assert outcomes == [Outcome.STORED, Outcome.STORED, Outcome.UNCHANGED]
    assert not record.live


def test_at_one_instant_removal_wins_over_adding_in_either_order() -> None:
    add, remove = reaction("👍", event="z"), reaction("👍", "removed", event="a")
    assert not merged_from(add, remove)[0].live
    assert not merged_from(remove, add)[0].live


def test_the_later_look_wins_whatever_its_time() -> None:
    record, outcomes = merged_from(
        inferred("rejected", evaluation=2, at=1), inferred("accepted", evaluation=1, at=9), inferred(None, evaluation=3)
    )
    assert outcomes == [Outcome.STORED, SUPERSEDED, Outcome.STORED]
    assert not record.live


def test_a_moved_target_is_a_change() -> None:
    assert merged_from(inferred(evaluation=1), inferred(evaluation=2, turn_id="t0"))[1] == [
        Outcome.STORED,
        Outcome.STORED,
    ]


def test_a_change_on_a_stub_makes_the_feedback_anew() -> None:
    stub = revise(Record(merged_from(explicit())[0].key, "explicit", "user", {}, 41, 40), 0)
    assert (stub.revision, stub.created_revision) == (42, 0)
    record, outcome = say(stub, explicit("not_ok", at=9))
    assert outcome == Outcome.STORED
    assert (revise(record, 0).revision, revise(record, 0).created_revision) == (43, 43)


def test_a_revision_is_the_logs_time_in_milliseconds_or_one_more() -> None:
    record, _ = merged_from(explicit())
    first = revise(record, START + 999)
    assert (first.revision, first.created_revision) == (1_790_000_000_000, 1_790_000_000_000)
    second = revise(first, START - 5_000)
    assert (second.revision, second.created_revision) == (1_790_000_000_001, 1_790_000_000_000)


# Merging gives the same record for any order, grouping and repetition of changes.

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


@given(st.lists(a_change(), min_size=1, max_size=8))
def test_the_newest_change_of_each_slot_stays_and_the_newest_present_one_is_shown(changes: list[Change]) -> None:
    record = folded(changes)
    assert record is not None
    newest = {slot: max((w.entry for w in changes if w.slot == slot), key=lambda e: e.stamp) for slot in record.slots}
    assert record.slots == newest
    present = [entry for entry in newest.values() if entry.present]
    assert record.live == bool(present)
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
