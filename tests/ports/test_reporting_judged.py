"""Lists of machine verdicts on turns that people judged, too: before and after their hours are counted."""

from __future__ import annotations

from reporting.feedback.found_counts import found_and_counted
from reporting.feedback.search import narrowed
from reporting.model.selection import ALWAYS, Filters, Project, TimeSpan
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.rollups import Rollups
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.clock import SystemClock
from servicekit.db.database import Database
from tests.support.reporting_events import START, Event, batch, feedback, feedback_id

AT = Project("acme", "support")
DAY_SECONDS = 86_400
JUDGED_OK = Filters(judged="ok", feedback_type="verdict")


def pair(number: int, *, reaction: str | None = "ok") -> list[Event]:
    """Return a machine's rejection on day `number`, and a person's verdict on the same turn two days later."""
    at, turn = number * DAY_SECONDS, f"t{number}"
    found: list[Event] = [feedback(f"m{number}", kind="inferred", reaction="not_ok", turn=turn, at=at)]
    if reaction is not None:
        found.append(feedback(f"p{number}", reaction=reaction, turn=turn, at=at + 2 * DAY_SECONDS))
    return found


async def take(pool: Database, *events: Event) -> None:
    await ProjectionHandler(PostgresReadModels(pool)).handle(batch(*events))


async def listed(pool: Database) -> list[str]:
    page = await found_and_counted(pool, AT, ALWAYS, JUDGED_OK, 50)
    assert page.total == (len(page.rows), True)
    names = {feedback_id(f"m{number}"): f"m{number}" for number in range(20)}
    return [names[row["feedback_id"]] for row in page.rows]


async def test_judged_verdicts_are_listed_before_and_after_their_hours_are_counted(read_models: Database) -> None:
    rollups = Rollups(read_models, SystemClock())
    await take(read_models, *pair(0, reaction=None), *pair(4), *pair(8, reaction="not_ok"), *pair(12))
    assert await listed(read_models) == ["m12", "m4"]
    await rollups.catch_up(quiet=0)
    assert await listed(read_models) == ["m12", "m4"]
    await take(read_models, feedback("late", reaction="ok", turn="t0", at=15 * DAY_SECONDS))
    assert await listed(read_models) == ["m12", "m4", "m0"]
    await rollups.catch_up(quiet=0)
    assert await listed(read_models) == ["m12", "m4", "m0"]
    await take(read_models, feedback("late", reaction=None, revision=2, turn="t0", at=15 * DAY_SECONDS))
    assert await listed(read_models) == ["m12", "m4"]


async def test_only_days_with_judged_verdicts_are_read(read_models: Database) -> None:
    await take(read_models, *pair(0, reaction=None), *pair(4), *pair(12, reaction=None))
    await Rollups(read_models, SystemClock()).catch_up(quiet=0)
    day = (START + 4 * DAY_SECONDS * 1_000_000) // 86_400_000_000 * 86_400_000_000
    assert await narrowed(read_models, AT, ALWAYS, JUDGED_OK) == TimeSpan(day, day + 86_400_000_000)
    assert await narrowed(read_models, AT, TimeSpan(0, day), JUDGED_OK) == TimeSpan(0, 0)


async def test_a_first_page_without_a_next_one_is_its_own_count(read_models: Database) -> None:
    await take(read_models, *(feedback(f"m{number}", turn=f"t{number}", at=number) for number in range(3)))
    whole = await found_and_counted(read_models, AT, ALWAYS, Filters(), 3)
    assert (len(whole.rows), whole.cursor, whole.total) == (3, None, (3, True))
    first = await found_and_counted(read_models, AT, ALWAYS, Filters(), 2)
    assert (len(first.rows), first.total) == (2, (3, True))
    last = await found_and_counted(read_models, AT, ALWAYS, Filters(), 2, first.cursor)
    assert (len(last.rows), last.total) == (1, (3, True))
