"""Hours whose roll-ups are due: quiet for some time, or stale for long."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from reporting.model.selection import HOUR
from reporting.read_models.rollups import Rollups
from servicekit.clock import SystemClock
from servicekit.db.database import Database
from tests.support.reporting_events import START

QUIET, LONGEST = 100.0, 1_000.0
HERE = START // HOUR * HOUR


async def mark(pool: Database, ages: Sequence[int], hour: int = HERE, tenant: str = "acme") -> None:
    """Mark an hour as stale, `ages` seconds ago."""
    for age in ages:
        await pool.execute(
            "insert into stale_hours (tenant, project, hour, marked_at) "
            "values ($1, 'support', $2, now() - make_interval(secs => $3))",
            tenant, hour, age,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("ages", "is_due"),
    [
        ([110], True),
        ([90], False),
        ([110, 300], True),
        ([90, 300], False),
        ([0, 1_010], True),
        ([0, 990], False),
    ],
)
async def test_an_hour_is_due_when_it_is_quiet_or_stale_for_long(
    read_models: Database, ages: Sequence[int], is_due: bool
) -> None:
    await mark(read_models, ages)
    await mark(read_models, [0], HERE + HOUR)
    await mark(read_models, [0], tenant="globex")
    assert await Rollups(read_models, SystemClock()).catch_up(QUIET, LONGEST) == is_due
    left = await read_models.fetch("select tenant, hour, count(*) from stale_hours group by 1, 2 order by 1, 2")
    others = [("acme", HERE + HOUR, 1), ("globex", HERE, 1)]
    assert [tuple(row) for row in left] == ([] if is_due else [("acme", HERE, len(ages))]) + others


async def test_more_hours_than_one_transaction_counts_are_counted(read_models: Database) -> None:
    for number in range(50):
        await mark(read_models, [500], HERE - number * HOUR)
    assert await Rollups(read_models, SystemClock()).catch_up(QUIET, LONGEST) == 50
    assert await read_models.fetchval("select count(*) from stale_hours") == 0
