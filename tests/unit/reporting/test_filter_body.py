"""The period and the filters of a search's body."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from reporting.http.bodies import FilterBody
from reporting.model.selection import ALWAYS, Filters

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


def test_a_period_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(ValidationError, match="start must not be after end"):
        FilterBody.model_validate({"start": END, "end": START})


def test_every_filter_is_passed_on() -> None:
    given: dict[str, Any] = {
        "agent_id": "a", "agent_version": "v", "model": "m", "reaction": "ok", "feedback_type": "explicit",
        "min_confidence": 0.5, "text": "no", "user_id": "u", "conversation_id": "c", "detector": "d",
        "decided_by": "rules", "given_by": "person", "source": "post",
    }  # fmt: skip
    wanted = Filters(**given, tag="wrong", origins=("user",))
    assert FilterBody.model_validate({**given, "tag": "wrong", "origin": "user"}).filters == wanted
    assert FilterBody().filters == Filters()
