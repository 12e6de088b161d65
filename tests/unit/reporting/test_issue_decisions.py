"""Pure decisions of issues: groups, titles, and the proof of a resolution."""

from __future__ import annotations

import numpy as np
import pytest

from contracts.instants import DAY
from detector.encoders.embedder import Vectors, unit_rows
from reporting.issues.grouping import Centre, centre_of, grouped, nearest, packed, turn_vectors, unpacked
from reporting.issues.resolution import Share, TopicCount, resolution
from reporting.issues.words import titles, words_of


def around(axis: int, count: int, seed: int = 0, noise: float = 0.05) -> Vectors:
    """Return vectors near an axis of 32 dimensions."""
    drawn = np.random.default_rng(seed + axis).normal(size=(count, 32)).astype(np.float32)
    return unit_rows(np.eye(32, dtype=np.float32)[axis] + noise * drawn)


def test_two_topics_become_two_issues() -> None:
    vectors = np.concatenate([around(0, 8), around(1, 8)])
    groups = grouped(vectors, [None] * 16)
    assert groups.joined == {}
    assert sorted(map(sorted, groups.new)) == [list(range(8)), list(range(8, 16))]


def test_turns_without_issue_join_that_of_at_least_half_of_their_cluster() -> None:
    vectors = np.concatenate([around(0, 8), around(1, 8)])
    known = [7, 7, 7, 9, None, None, None, None]
    groups = grouped(vectors, [*known, *[None] * 8])
    assert groups.joined == dict.fromkeys(range(4, 8), 7)
    assert [sorted(one) for one in groups.new] == [list(range(8, 16))]
    groups = grouped(vectors, [7, 7, 7, None, None, None, None, None, *[None] * 8])
    assert groups.joined == {}
    assert sorted(map(sorted, groups.new)) == [list(range(3, 8)), list(range(8, 16))]


@pytest.mark.parametrize(("coherence", "issues"), [(0.84, 2), (0.86, 1)])
def test_a_group_without_a_common_topic_is_no_issue(coherence: float, issues: int) -> None:
    """The mean similarity of two turns is 0.92 in the first group and 0.85 in the second one."""
    groups = grouped(np.concatenate([around(0, 8), around(1, 8, noise=0.08)]), [None] * 16, coherence)
    assert sorted(map(sorted, groups.new)) == [list(range(8)), list(range(8, 16))][:issues]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_turns_wait(count: int) -> None:
    assert grouped(around(0, count), [None] * count).new == []


def test_a_turn_joins_the_nearest_centre_within_whose_radius_it_is() -> None:
    first, second = np.eye(2, dtype=np.float32)
    turn = unit_rows(np.array([[0.9, 0.436]], dtype=np.float32))
    assert nearest(turn, [Centre(first, 0.89), Centre(second, 0.1)]) == [0]
    assert nearest(turn, [Centre(first, 0.91), Centre(second, 0.1)]) == [1]
    assert nearest(turn, [Centre(first, 0.91), Centre(second, 0.5)]) == [None]
    assert nearest(turn, []) == [None]


def test_a_radius_is_not_above_four_fifths() -> None:
    assert centre_of(np.repeat(np.eye(1, 4, dtype=np.float32), 3, axis=0)).radius == pytest.approx(0.8)


def test_a_complaint_weighs_as_much_as_it_resembles_the_question() -> None:
    axes = np.eye(3, dtype=np.float32)
    none = np.zeros((1, 3), dtype=np.float32)
    assert turn_vectors(axes[:1], none, axes[2:]) == pytest.approx(axes[:1])
    alike = unit_rows(np.array([[1, 0, 1]], dtype=np.float32))
    assert turn_vectors(axes[:1], none, alike)[0, 2] == pytest.approx(0.5 / np.hypot(1.5, 0.5), abs=1e-6)
    assert turn_vectors(none, none, axes[2:]) == pytest.approx(axes[2:]), "the question is unknown"


def test_an_answer_weighs_a_fifth_of_a_question_or_of_the_complaint_in_its_place() -> None:
    axes = np.eye(3, dtype=np.float32)
    none = np.zeros((1, 3), dtype=np.float32)
    assert turn_vectors(axes[:1], axes[1:2], axes[2:]) == pytest.approx(unit_rows(axes[:1] + 0.2 * axes[1:2]))
    assert turn_vectors(none, axes[1:2], axes[2:]) == pytest.approx(unit_rows(axes[2:] + 0.2 * axes[1:2]))
    assert not turn_vectors(none, none, none).any()
    several = turn_vectors(np.concatenate([axes[:1], none]), axes[1:], axes[[2, 2]])
    assert several == pytest.approx(unit_rows(np.array([[1, 0.2, 0], [0, 0, 1.2]], dtype=np.float32)))


def test_stored_vectors_keep_half_precision() -> None:
    vectors = around(0, 3)
    assert unpacked([packed(one) for one in vectors]) == pytest.approx(vectors, abs=1e-3)
    assert unpacked([]).shape == (0, 0)


def test_titles_have_distinctive_words_that_several_turns_share() -> None:
    refund = [["refund", "order", "march"], ["refund", "order"], ["refunds", "money"], ["money", "order"]]
    parcel = [["parcel", "order"], ["parcel", "order"], ["late"]]
    assert titles({1: refund, 2: parcel}) == {1: ["money", "refund", "order"], 2: ["parcel", "order"]}
    assert titles({1: [["boots"], ["size", "jeans"]]}) == {1: ["boots", "jeans", "size"]}
    assert titles({1: []}) == {1: []}


def test_words_leave_out_stop_words_and_the_complaint_beside_a_question() -> None:
    assert words_of("Where is the Refund? refund!", "wrong") == ["refund"]
    assert words_of("", "Wrong again, WRONG") == ["wrong"]
    assert words_of("Wo ist die Garantie für den Toaster, und avec des enfants à Arles?", "") == [
        *("garantie", "toaster", "enfants", "arles")
    ]


FIRST_SEEN = {"1": 0, "2": 5 * DAY, "3": 9 * DAY}


def test_a_resolution_compares_versions_by_their_first_answer() -> None:
    unknown = [TopicCount(None, 9 * DAY, 7, 7), TopicCount("0", 9 * DAY, 7, 7)]
    counts = [
        *unknown, TopicCount("1", 0, 50, 40), TopicCount("1", 8 * DAY, 10, 9), *unknown,
        TopicCount("2", 6 * DAY, 40, 2), TopicCount("3", 9 * DAY, 20, 1), *unknown,
    ]  # fmt: skip
    found = resolution(counts, "2", 7 * DAY, FIRST_SEEN)
    assert (found.before, found.after) == (Share(60, 49), Share(60, 3))
    assert found.is_proved
    assert found.before.share == pytest.approx(49 / 60)


def test_a_version_that_has_not_answered_yet_proves_nothing() -> None:
    found = resolution([TopicCount("1", 0, 50, 40)], "4", 7 * DAY, FIRST_SEEN)
    assert (found.before, found.after) == (Share(50, 40), Share())
    assert (found.after.share, found.is_proved, found.difference) == (None, False, (-1.0, 1.0))


def test_without_a_version_the_day_of_the_resolution_divides() -> None:
    counts = [TopicCount(None, 6 * DAY, 10, 9), TopicCount("1", 7 * DAY, 10, 1)]
    found = resolution(counts, None, 7 * DAY + 5, {})
    assert (found.before, found.after) == (Share(10, 9), Share(10, 1))


def test_turns_that_are_almost_equal_are_clustered_as_one() -> None:
    topic = np.concatenate([np.repeat(one[None], 6, axis=0) for one in spread(0, 6)])
    groups = grouped(np.concatenate([topic, spread(1, 6)]), [None] * 42)
    assert sorted(map(sorted, groups.new)) == [list(range(36)), list(range(36, 42))]


@pytest.mark.parametrize(("count", "issues"), [(2, []), (3, [[0, 1, 2]])])
def test_three_equal_turns_are_an_issue_without_any_others(count: int, issues: list[list[int]]) -> None:
    vectors = np.repeat(np.eye(1, 32, 9, dtype=np.float32), count, axis=0)
    assert [sorted(one) for one in grouped(vectors, [None] * count).new] == issues


def spread(axis: int, count: int) -> Vectors:
    """Return vectors around an axis that are similar to each other, but not almost equal."""
    noise = np.random.default_rng(axis).normal(size=(count, 32)).astype(np.float32)
    return unit_rows(np.eye(32, dtype=np.float32)[axis] + 0.12 * noise)
