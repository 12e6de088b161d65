"""The selection lists of filters: the values that the window's verdicts have."""

from __future__ import annotations

import asyncpg
import pytest

from contracts.instants import DAY
from reporting.figures.dimension_votes import filter_choices
from reporting.model.selection import Project, TimeSpan
from reporting.read_models.rollups import Rollups
from servicekit.clock import SystemClock
from tests.support.reporting_events import START, Event, Take, feedback

AT = Project("acme", "support")
WEEK = TimeSpan(START - DAY, START + 7 * DAY)


def given(name: str, bundle: str, *, days: float = 0, agent: str = "agent-a", project: str = "support") -> Event:
    return feedback(
        name, kind="explicit", turn=name, bundle_id=bundle, agent=agent, at=days * 86_400, user_type="human",
        project=project,
    )  # fmt: skip


async def bundles(pool: asyncpg.Pool, span: TimeSpan = WEEK, agent: str | None = None) -> list[str]:
    found = {by.name: values for by, values in await filter_choices(pool, AT, span, agent)}
    return found.get("bundle", [])


async def roll_up(pool: asyncpg.Pool) -> None:
    await Rollups(pool, SystemClock()).catch_up(quiet=0)  # type: ignore[arg-type]  # a Database
    assert await pool.fetchval("select count(*) from stale_hours") == 0


@pytest.mark.parametrize("counted", [True, False])
async def test_choices_are_the_values_of_the_window_and_the_agent(
    read_models: asyncpg.Pool, take: Take, counted: bool
) -> None:
    await take(
        given("f1", "gold"), given("f2", "iron", agent="agent-b"), given("f3", "late", days=20),
        given("f4", "early", days=-20), given("f5", "gold", days=2), given("f6", "elsewhere", project="other"),
    )  # fmt: skip
    if counted:
        await roll_up(read_models)
    assert await bundles(read_models) == ["gold", "iron"]
    assert await bundles(read_models, agent="agent-b") == ["iron"]
    assert await bundles(read_models, TimeSpan(START + 19 * DAY, START + 21 * DAY)) == ["late"]
    by_name = {by.name: values for by, values in await filter_choices(read_models, AT, WEEK, None)}
    assert by_name["user_type"] == ["human"]


async def test_a_changed_hour_shows_its_values_before_it_is_counted(read_models: asyncpg.Pool, take: Take) -> None:
    await take(given("f1", "gold"))
    await roll_up(read_models)
    await take(given("f2", "new"))
    assert await bundles(read_models) == ["gold", "new"]


async def test_a_dimension_shows_100_values_and_hides_no_other_dimension(read_models: asyncpg.Pool, take: Take) -> None:
    await take(*(given(f"f{n}", f"b{n:03}") for n in range(130)))
    await roll_up(read_models)
    found = {by.name: values for by, values in await filter_choices(read_models, AT, WEEK, None)}
    assert found["bundle"] == [f"b{n:03}" for n in range(100)]
    assert found["user_type"] == ["human"]
