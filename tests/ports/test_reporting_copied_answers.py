"""Properties of answers copied to the feedback on them: lists by strategy, thread and attributes find the same records
with copies, without them, and after answers change."""

from __future__ import annotations

import asyncio

import pytest

from reporting.queries.found_counts import count_found
from reporting.queries.search import found
from reporting.queries.selection import ALWAYS, HOUR, Filters, Project
from reporting.read_models import rollups as counting
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.rollups import Rollups
from reporting.read_models.store_postgres import PostgresReadModels
from reporting.sql import SQL
from servicekit.clock import SystemClock
from servicekit.db.database import Database
from tests.support.databases import empty_schema
from tests.support.reporting_events import START, Event, batch, feedback, feedback_id, message

AT = Project("acme", "support")
NAMES = {feedback_id(name): name for name in ("verdict", "reply", "other")}
FEEDBACK = (
    feedback("verdict", at=3),
    feedback("reply", kind="implicit", at=4, user="bob"),
    feedback("other", turn="t2", at=5, user="bob"),
)
UNCOPY = """begin; set local agent_feedback.copying = 'on';
    update {} set answer_strategy = null, answer_thread = null, answer_attributes = null; commit"""


def answer(strategy: str, language: str, *, turn: str = "t1", at: float = 1, thread: str | None = None) -> Event:
    return message(
        f"{turn}-answer", turn=turn, agent="agent-a", at=at, strategy=strategy, thread_id=thread,
        attributes={"language": language}, content=f"{strategy} {at}",
    )  # fmt: skip


async def take(pool: Database, *events: Event) -> None:
    await ProjectionHandler(PostgresReadModels(pool), frozenset({"language"})).handle(batch(*events))


async def listed(pool: Database, filters: Filters) -> set[str]:
    rows, _ = await found(pool, AT, ALWAYS, filters, 50)
    counted = await count_found(pool, AT, ALWAYS, filters)
    assert counted is not None
    assert counted.records == len(rows)
    return {NAMES.get(row["feedback_id"], str(row["feedback_id"])) for row in rows}


async def by_answer(pool: Database) -> list[set[str]]:
    """Return the records found by a strategy, by a language, and by both."""
    language = (("language", "de"),)
    return [
        await listed(pool, Filters(strategy="short")),
        await listed(pool, Filters(attributes=language)),
        await listed(pool, Filters(strategy="short", attributes=language)),
    ]


async def copies(pool: Database) -> dict[str, tuple[str | None, str | None]]:
    """Return the copied strategy and attributes of each record."""
    rows = await pool.fetch(
        "select feedback_id, answer_strategy, answer_attributes from feedbacks"
        " union all select feedback_id, answer_strategy, answer_attributes from replies"
    )
    return {NAMES[row[0]]: (row[1], row[2]) for row in rows}


@pytest.mark.parametrize("answers_first", [True, False])
async def test_lists_by_properties_of_the_answer_follow_its_changes(read_models: Database, answers_first: bool) -> None:
    answers = (answer("short", "de"), answer("long", "de", turn="t2"))
    for events in (answers, FEEDBACK) if answers_first else (FEEDBACK, answers):
        await take(read_models, *events)
    first = [{"verdict", "reply"}, {"verdict", "reply", "other"}, {"verdict", "reply"}]
    assert await by_answer(read_models) == first
    rollups = Rollups(read_models, SystemClock())
    await rollups.catch_up(quiet=0)
    assert await by_answer(read_models) == first
    assert None not in {one for pair in (await copies(read_models)).values() for one in pair}
    await take(read_models, answer("long", "fr", at=10), answer("short", "de", turn="t2", at=10))
    then = [{"other"}, {"other"}, {"other"}]
    assert await by_answer(read_models) == then
    await rollups.catch_up(quiet=0)
    assert await by_answer(read_models) == then
    assert (await copies(read_models))["reply"] == ("long", '{"language": "fr"}')


async def test_records_from_before_the_columns_are_copied_and_found_meanwhile(read_models: Database) -> None:
    await take(read_models, answer("short", "de"), answer("long", "de", turn="t2"), *FEEDBACK)
    rollups = Rollups(read_models, SystemClock())
    await rollups.catch_up(quiet=0)
    expected, copied = await by_answer(read_models), await copies(read_models)
    for table in ("feedbacks", "replies"):
        await read_models.execute(UNCOPY.format(table))
    assert await read_models.fetchval("select count(*) from stale_hours") == 0
    assert set((await copies(read_models)).values()) == {(None, None)}
    assert await by_answer(read_models) == expected
    await rollups.catch_up(quiet=0)  # marks the hours
    await rollups.catch_up(quiet=0)
    assert await copies(read_models) == copied
    assert await by_answer(read_models) == expected
    assert await read_models.fetchval("select count(*) from stale_hours") == 0


@pytest.mark.parametrize("change", ["strategy = 'long'", "thread = 'b'", 'attributes = \'{"language": "fr"}\''])
async def test_a_record_written_while_its_answer_changes_gets_the_changed_copy(
    read_models: Database, change: str
) -> None:
    overruled = feedback(
        "overruled", kind="inferred", reaction=None, overruled_by=feedback_id("review"), overruled_reaction="not_ok"
    )
    copied = (
        "select answer_strategy, answer_thread, answer_attributes from feedbacks"
        " union all select answer_strategy, answer_thread, answer_attributes from replies"
    )
    await take(read_models, answer("short", "de", thread="a"))
    async with read_models.acquire() as other, other.transaction():
        await other.execute(f"update messages set {change}")
        await take(read_models, *FEEDBACK[:2], overruled)  # neither transaction sees the other's change
        assert {tuple(row) for row in await read_models.fetch(copied)} == {("short", "a", '{"language": "de"}')}
        await Rollups(read_models, SystemClock()).catch_up(quiet=0)
    rollups = Rollups(read_models, SystemClock())
    await rollups.catch_up(quiet=0)
    await rollups.catch_up(quiet=0)
    held = await read_models.fetchrow("select strategy, thread, attributes from messages")
    assert held is not None
    assert [tuple(row) for row in await read_models.fetch(copied)] == [tuple(held)] * 3
    before = Filters(strategy="short", thread="a", attributes=(("language", "de"),))
    assert await listed(read_models, before) == set()


async def test_a_record_without_a_known_answer_has_empty_copies_once_its_hour_is_counted(read_models: Database) -> None:
    await take(read_models, *FEEDBACK)
    assert set((await copies(read_models)).values()) == {(None, None)}
    await Rollups(read_models, SystemClock()).catch_up(quiet=0)
    assert set((await copies(read_models)).values()) == {("", "{}")}
    assert await by_answer(read_models) == [set(), set(), set()]
    await take(read_models, answer("short", "de"))
    assert (await by_answer(read_models))[0] == {"verdict", "reply"}


async def test_a_rebuild_compares_the_copies_of_replies_without_verdicts_too(read_models: Database) -> None:
    await take(read_models, feedback("reply", kind="implicit"))
    await read_models.execute("delete from stale_hours")
    await read_models.execute(*SQL.mark_all_hours())
    assert await read_models.fetchval("select array_agg(hour) from stale_hours") == [START // HOUR * HOUR]


def many_records(hours: int, of_hour: int) -> list[Event]:
    """Return answers, with one verdict and one reply on each, in consecutive hours."""
    events: list[Event] = []
    for number in range(hours * of_hour):
        turn, at = f"t{number}", 3600 * (number % hours) + number
        verdict = feedback(f"verdict {number}", turn=turn, at=at)
        reply = feedback(f"reply {number}", kind="implicit", turn=turn, at=at, user="bob")
        events += [answer("short", "de", turn=turn), verdict, reply]
    return events


async def uncopied(pool: Database) -> list[int]:
    """Return the numbers of verdicts and of replies without copies, and of stale hours."""
    return [
        await pool.fetchval(f"select count(*) from {table}")
        for table in ("feedbacks where answer_strategy is null", "replies where answer_strategy is null", "stale_hours")
    ]


async def discard_copies(pool: Database) -> None:
    for table in ("feedbacks", "replies"):
        await pool.execute(UNCOPY.format(table))


async def test_copies_are_made_in_short_transactions_and_a_run_is_bounded(
    read_models: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "_COPIES", 2)
    monkeypatch.setattr(counting, "_FULL_COPIES", 4)
    await take(read_models, *many_records(hours=3, of_hour=6))
    await discard_copies(read_models)
    marks = await read_models.fetchval("select count(*) from stale_hours")
    rollups = Rollups(read_models, SystemClock())
    left = []
    for _ in range(4):
        assert await rollups.catch_up(quiet=0) == 0
        left.append(await uncopied(read_models))
    assert left == [[10, 18, marks], [2, 18, marks], [0, 12, marks], [0, 4, marks]]
    counted = await count_found(read_models, AT, ALWAYS, Filters(strategy="short"))
    assert counted is not None
    assert counted.records == 36
    assert await rollups.catch_up(quiet=0) == 3
    assert await uncopied(read_models) == [0, 0, 0]
    by_strategy = "select sum(ok + neutral + not_ok) from rollups where grain = 'dimension hour' and kind = 'strategy'"
    assert await read_models.fetchval(by_strategy) == 18


async def test_an_interruption_between_two_transactions_keeps_the_copies_made_and_the_marks(
    read_models: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "_COPIES", 4)
    await take(read_models, *many_records(hours=2, of_hour=5))
    await discard_copies(read_models)
    marks = await read_models.fetchval("select count(*) from stale_hours")
    plan_freely, calls = Database.plan_freely, 0

    async def interrupted(pool: Database, connection: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise TimeoutError
        await plan_freely(pool, connection)

    rollups = Rollups(read_models, SystemClock())
    with monkeypatch.context() as patched:
        patched.setattr(Database, "plan_freely", interrupted)
        with pytest.raises(TimeoutError):
            await rollups.catch_up(quiet=0)
    assert await uncopied(read_models) == [2, 10, marks]
    assert await read_models.fetchval("select count(*) from rollups") == 0
    assert await rollups.catch_up(quiet=0) == 2
    assert await uncopied(read_models) == [0, 0, 0]


async def test_a_changed_answer_reads_the_replies_of_its_turn_only(read_models: Database) -> None:
    await take(read_models, *many_records(hours=1, of_hour=60))
    await read_models.execute("analyze")
    read = "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relid = 'replies'::regclass"
    async with read_models.acquire() as connection, connection.transaction():
        for plan in ("seqscan", "hashjoin", "mergejoin"):  # as with many rows
            await connection.execute(f"set local enable_{plan} = off")
        await connection.execute("update messages set strategy = 'long' where turn_id = 't7'")
        assert await connection.fetchval(read) <= 4
    assert len(await listed(read_models, Filters(strategy="long"))) == 2


async def test_a_list_by_thread_finds_the_same_records_with_and_without_copies(read_models: Database) -> None:
    answers = (answer("short", "de", thread="a"), answer("short", "de", turn="t2", thread="b"))
    await take(read_models, *answers, *FEEDBACK)
    expected = [{"verdict", "reply"}, {"other"}]
    assert [await listed(read_models, Filters(thread=thread)) for thread in "ab"] == expected
    await discard_copies(read_models)
    assert [await listed(read_models, Filters(thread=thread)) for thread in "ab"] == expected
    await take(read_models, answer("short", "de", at=10, thread="b"))
    assert [await listed(read_models, Filters(thread=thread)) for thread in "ab"] == [set(), set(NAMES.values())]


async def test_searches_of_frequent_words_have_their_memory(read_models: Database) -> None:
    """A later `create or replace function` would drop the setting."""
    settings = "select proconfig from pg_proc where oid = 'feedback_about'::regproc"
    assert "work_mem=64MB" in await read_models.fetchval(settings)


async def test_a_changed_answer_waits_for_its_first_verdict_and_locks_no_later_one(read_models: Database) -> None:
    verdicts = [feedback(f"verdict {number}", user=f"u{number}", at=number) for number in range(4)]
    await take(read_models, answer("short", "de"), *verdicts, feedback("reply", kind="implicit", user="bob"))
    first, *later = [
        row[0] for row in await read_models.fetch("select feedback_id from feedbacks order by feedback_id")
    ]
    async with read_models.acquire() as writer, read_models.acquire() as other:
        async with writer.transaction():
            await writer.execute("select from feedbacks where feedback_id = $1 for update", first)
            changing = asyncio.create_task(other.execute("update messages set strategy = 'long'"))
            waits = "select exists (select from pg_locks where not granted)"
            async with asyncio.timeout(10):
                while not await writer.fetchval(waits):
                    await asyncio.sleep(0.02)
            held = "select from feedbacks where feedback_id = any($1) for update nowait"
            await writer.execute(held, later)
            await writer.execute("select from replies for update nowait")
        await changing


async def test_an_answer_is_found_by_its_turn_before_tables_have_statistics(postgres_url: str) -> None:
    """PostgreSQL plans the trigger's query while the table is almost empty, and keeps the plan until it is analysed."""
    count = 200
    async with empty_schema(postgres_url, "reporting", plan="indexed", size=1) as pool:
        await pool.execute("alter table messages set (autovacuum_enabled = off)")
        await take(pool, message("first", turn="t", agent="agent-a"), feedback("first", turn="t"))
        await take(pool, *(message(f"a{n}", turn=f"t{n}", agent="agent-a") for n in range(count)))
        for start in range(0, count, 10):
            await take(pool, *(feedback(f"f{n}", turn=f"t{n}") for n in range(start, start + 10)))
        await Rollups(pool, SystemClock()).catch_up(quiet=0)
        await pool.execute("select pg_stat_force_next_flush()")
        read = await pool.fetchval(
            "select idx_tup_read from pg_stat_user_indexes where indexrelname = 'messages_answers'"
        )
    assert read < count
