"""Merge of received feedback into a record."""

from __future__ import annotations

from itertools import permutations

from contracts.feedback import FeedbackReactionReceived
from feedback.merge import SUPERSEDED, UNMAPPED, merge, outcome_of, revise
from feedback.model import Change, Record
from feedback.reward import change_of
from servicekit.log.outcome import Outcome
from tests.support.feedback_events import START, explicit, inferred, reaction


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


def test_a_first_change_is_stored() -> None:
    record, outcomes = merged_from(reaction("👍"))
    assert outcomes == [Outcome.STORED]
    assert (list(record.slots), record.revision) == (["👍"], 0)


def test_a_change_born_cleared_is_stored_like_any_other() -> None:
    record, outcomes = merged_from(reaction("👍", "removed"))
    assert outcomes == [Outcome.STORED]
    assert record.cleared


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
    assert (record.current_entry.payload.emoji, record.cleared) == ("👍", False)
    assert record.current_entry.stamp.occurred_at == START + 1_000_000


def test_taking_the_last_emoji_away_clears_at_that_moment() -> None:
    record, _ = merged_from(reaction("👍", at=1, event="a"), reaction("👍", "removed", at=3, event="b"))
    assert record.cleared
    assert record.current_entry.stamp.occurred_at == START + 3_000_000


def test_a_late_older_event_does_not_bring_a_cleared_feedback_back() -> None:
    record, outcomes = merged_from(
        reaction("👍", at=1, event="a"), reaction("👍", "removed", at=3, event="b"), reaction("👍", at=2, event="c")
    )
    assert outcomes == [Outcome.STORED, Outcome.STORED, SUPERSEDED]
    assert record.cleared


def single(emoji: str | None, at: float, action: str = "added") -> FeedbackReactionReceived:
    """Return a reaction of a platform on which a person has one emoji per message."""
    event: FeedbackReactionReceived = reaction(emoji, action, at=at, event=f"e{at}", replaces=True)
    return event


def test_a_single_emoji_is_replaced_and_taken_back_without_its_name() -> None:
    changes = [single("👍", 1), single("👎", 2), single(None, 3, "removed")]
    record, _ = merged_from(*changes[:2])
    assert (record.current_entry.payload.emoji, record.cleared) == ("👎", False)
    for order in permutations(changes):
        record, _ = merged_from(*order)
        assert record.cleared
    record, _ = merged_from(*changes, single("❤️", 4))
    assert (record.current_entry.payload.emoji, record.cleared) == ("❤", False)
    record, _ = merged_from(single("👍", 1), single("👎", 2, "removed"))
    assert record.cleared


def test_a_removal_without_a_name_takes_all_emojis_back() -> None:
    changes = [
        reaction("👍", at=1, event="a"),
        reaction("❤", at=2, event="b"),
        reaction(None, "removed", at=3, event="c"),
    ]
    for order in permutations(changes):
        record, _ = merged_from(*order)
        assert record.cleared
    for order in permutations([*changes, reaction("👎", at=4, event="d")]):
        record, _ = merged_from(*order)
        assert (record.current_entry.payload.emoji, record.cleared) == ("👎", False)


def test_a_single_emoji_without_a_reward_takes_the_previous_one_back() -> None:
    for order in permutations([single("👍", 1), single("🤔", 2)]):
        record, outcomes = merged_from(*order)
        assert record.cleared
        assert UNMAPPED in outcomes


def test_clearing_twice_is_one_clear() -> None:
    record, outcomes = merged_from(
        explicit("ok", at=1), explicit(None, at=2, event="a"), explicit(None, at=3, event="b")
    )
    assert outcomes == [Outcome.STORED, Outcome.STORED, Outcome.UNCHANGED]
    assert record.cleared


def test_at_one_instant_removal_wins_over_adding_in_either_order() -> None:
    add, remove = reaction("👍", event="z"), reaction("👍", "removed", event="a")
    assert merged_from(add, remove)[0].cleared
    assert merged_from(remove, add)[0].cleared


def test_the_later_look_wins_whatever_its_time() -> None:
    record, outcomes = merged_from(
        inferred("rejected", evaluation=2, at=1), inferred("accepted", evaluation=1, at=9), inferred(None, evaluation=3)
    )
    assert outcomes == [Outcome.STORED, SUPERSEDED, Outcome.STORED]
    assert record.cleared


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
