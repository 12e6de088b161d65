"""Reasons of verdicts, also of those that have a given reason."""

from __future__ import annotations

import asyncpg
import pytest

from contracts.instants import DAY
from reporting.figures.reasons import reasons
from reporting.model.selection import Filters, Project, TimeSpan
from tests.support.reporting_events import START, Take, feedback

AT = Project("acme", "support")
WEEK = TimeSpan(START - DAY, START + 7 * DAY)


async def test_reasons_of_verdicts_with_a_reason_are_paged(read_models: asyncpg.Pool, take: Take) -> None:
    await take(*(
        feedback(f"f{n}", kind="explicit", turn=f"t{n}", reaction="not_ok", tags=tags)
        for n, tags in enumerate((("slow", "wrong"), ("wrong",), ("slow",), ("rude", "wrong")))
    ))  # fmt: skip
    wrong = Filters(tag="wrong")
    whole = await reasons(read_models, AT, WEEK, wrong)
    assert [(one.reason, one.not_ok) for one in whole.reasons] == [("wrong", 3), ("rude", 1), ("slow", 1)]
    first = await reasons(read_models, AT, WEEK, wrong, limit=2)
    assert first.next_cursor is not None
    second = await reasons(read_models, AT, WEEK, wrong, limit=2, cursor=first.next_cursor)
    assert first.reasons + second.reasons == whole.reasons
    assert (await reasons(read_models, AT, WEEK, wrong.replace(tag="nothing"))).reasons == []


@pytest.mark.parametrize("filters", [Filters(), Filters(user_id="ann")])
async def test_reasons_without_rules_are_the_other_reasons(
    read_models: asyncpg.Pool, take: Take, filters: Filters
) -> None:
    await take(
        feedback("person", kind="explicit", turn="t1", reaction="not_ok", tags=("slow",)),
        feedback("reviewer", kind="explicit", turn="t2", reaction="not_ok", origin="reviewer", tags=("wrong",)),
        feedback("typed", kind="inferred", turn="t3", reaction="not_ok", correction_type="rephrased", tags=("r1",)),
        feedback("ruled", kind="inferred", turn="t4", reaction="not_ok", tags=("r2",)),
    )
    found = (await reasons(read_models, AT, WEEK, filters)).reasons
    assert {one.kind for one in found} == {"tag", "rule", "correction_type"}
    without = (await reasons(read_models, AT, WEEK, filters, rules=False)).reasons
    assert without == [one for one in found if one.kind != "rule"]
    assert len(without) == 3
