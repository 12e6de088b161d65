"""Filters of verdicts, and the roll-ups that may answer them."""

from __future__ import annotations

import pytest

from reporting.model.selection import Filters


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
