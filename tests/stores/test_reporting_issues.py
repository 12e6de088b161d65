"""Issues in PostgreSQL: rejections arrive, are grouped, moved by people, and leave again."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any, Final

import asyncpg
import httpx
import pytest

from contracts.erasure import Person
from contracts.instants import DAY
from reporting.http.conversations import conversations_router
from reporting.http.exports import exports_router
from reporting.http.issues import issues_router
from reporting.issues.grouping import Groups, grouped
from reporting.issues.job import IssueJob, is_due
from reporting.issues.store import merge
from reporting.model.selection import Project
from reporting.pages.routes import pages_router
from reporting.pages.visits import PageSources
from reporting.read_models.erasure import ReportingErasures
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.db.database import Database
from tests.support.hand_clock import FixedClock
from tests.support.issue_turns import AT, NOW, TOPICS, TopicEncoder, issue_job, rejected_turn, rejected_turns
from tests.support.reporting_client import client
from tests.support.reporting_database import empty_read_models
from tests.support.reporting_events import Take, batch, feedback
from tests.support.waits import PATIENCE_SECONDS


async def issues(pool: asyncpg.Pool, where: str = "turns > 0") -> list[asyncpg.Record]:
    return await pool.fetch(f"select * from issues where {where} order by id")


async def groups(pool: asyncpg.Pool) -> list[list[int]]:
    """Return the numbers of the turns of each issue."""
    rows = await pool.fetch(
        "select array_agg(substr(turn_id, 2)::int order by substr(turn_id, 2)::int) as turns from issue_turns "
        "where issue_id is not null group by issue_id order by 1"
    )
    return [row["turns"] for row in rows]


async def by_topic(pool: asyncpg.Pool) -> list[int]:
    """Return the issues of the topics, in the order of TOPICS."""
    rows = await pool.fetch("select issue_id from issue_turns where turn_id in ('t0', 't1', 't2') order by turn_id")
    return [row["issue_id"] for row in rows]


async def test_the_process_goes_on_while_the_encoder_is_loaded(read_models: asyncpg.Pool, take: Take) -> None:
    """Libraries and encoder take seconds to load, in which nothing of the process would be answered or consumed."""
    loop, loading, gone_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def load() -> TopicEncoder:
        loop.call_soon_threadsafe(loading.set)
        assert gone_on.wait(PATIENCE_SECONDS), "the event loop waited for the encoder"
        return TopicEncoder()

    await take(*rejected_turns(0, 3))
    caught_up = asyncio.create_task(IssueJob(read_models, FixedClock(NOW), load).catch_up())
    await loading.wait()
    gone_on.set()
    assert await caught_up == 3


def no_encoder() -> TopicEncoder:
    pytest.fail("the encoder was loaded to look for work")


async def has_work(pool: asyncpg.Pool, now: int = NOW) -> bool:
    return await IssueJob(pool, FixedClock(now), no_encoder).prepare()


async def test_changed_turns_and_due_agents_are_work(read_models: asyncpg.Pool, take: Take) -> None:
    assert not await has_work(read_models)
    await take(*rejected_turns(0, 15))
    assert await has_work(read_models)
    await issue_job(read_models).catch_up()
    assert not await has_work(read_models)
    assert await has_work(read_models, NOW + DAY), "the agent's turns are grouped once a day"
    await read_models.execute("update issues set centre = null")
    assert await has_work(read_models), "the issues need other centres"
    await issue_job(read_models).catch_up()
    assert not await has_work(read_models)


async def test_rejections_are_grouped_by_topic_and_new_ones_join(read_models: asyncpg.Pool, take: Take) -> None:
    await take(*rejected_turns(0, 15))
    assert await issue_job(read_models).catch_up() == 15
    assert await groups(read_models) == [[n for n in range(15) if n % 3 == topic] for topic in range(3)]
    before = [row["id"] for row in await issues(read_models)]
    assert [(row["turns"], row["people"], row["versions"]) for row in await issues(read_models)] == [(5, 5, ["1"])] * 3
    assert {word for row in await issues(read_models) for word in row["words"]} >= {"refund", "parcel", "password"}

    await take(*rejected_turns(15, 3))
    await issue_job(read_models).catch_up()
    assert [len(one) for one in await groups(read_models)] == [6, 6, 6]
    await issue_job(read_models, NOW + DAY).catch_up()
    assert [row["id"] for row in await issues(read_models)] == before, "ids are stable"


async def test_a_replay_changes_nothing(read_models: asyncpg.Pool, take: Take) -> None:
    said = rejected_turns(0, 15)
    await take(*said)
    await issue_job(read_models).catch_up()
    before = await read_models.fetch("select * from issue_turns order by turn_id"), await issues(read_models)
    await take(*said)
    assert await issue_job(read_models).catch_up() == 0
    assert (await read_models.fetch("select * from issue_turns order by turn_id"), await issues(read_models)) == before


async def test_a_rejection_that_no_longer_counts_leaves_its_issue(read_models: asyncpg.Pool, take: Take) -> None:
    await take(*rejected_turns(0, 15))
    await issue_job(read_models).catch_up()
    gone = feedback("f0", kind="explicit", reaction=None, revision=2, turn="t0", conversation="c0", user="u0", at=2)
    overruled = feedback(
        "f3", kind="explicit", reaction=None, revision=2, turn="t3", conversation="c3", user="u3", at=32,
        overruled_by=feedback("r3").feedback_id, overruled_reaction="not_ok",
    )  # fmt: skip
    changed = feedback("g6", kind="explicit", reaction="ok", turn="t6", conversation="c6", user="u6", at=600)
    await take(gone, overruled, changed)
    await issue_job(read_models).catch_up()
    turns = await read_models.fetch("select turn_id from issue_turns")
    assert {row["turn_id"] for row in turns} == {f"t{n}" for n in range(15)} - {"t0", "t3", "t6"}
    assert sorted(row["turns"] for row in await issues(read_models)) == [2, 5, 5]


async def test_what_people_merge_stays(read_models: asyncpg.Pool, take: Take) -> None:
    await take(*rejected_turns(0, 15))
    await issue_job(read_models).catch_up()
    first, second, third = await by_topic(read_models)
    assert await merge(read_models, AT, second, first, NOW)
    assert not await merge(read_models, AT, second, first, NOW), "it is merged already"
    assert not await merge(read_models, Project("globex", "support"), first, third, NOW)
    await issue_job(read_models).catch_up()
    await issue_job(read_models, NOW + DAY).catch_up()
    assert {row["id"]: row["turns"] for row in await issues(read_models)} == {first: 10, third: 5}
    await take(*rejected_turns(15, 3))
    await issue_job(read_models, NOW + DAY).catch_up()
    assert sum(row["turns"] for row in await issues(read_models, f"id = {first}")) >= 11


async def test_turns_join_the_issue_into_which_people_merge_theirs_during_a_grouping(
    read_models: asyncpg.Pool, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    await take(*rejected_turns(0, 15))
    await issue_job(read_models).catch_up()
    first, second, third = await by_topic(read_models)
    await read_models.execute("update issue_turns set issue_id = null where turn_id in ('t4', 't7')")
    loop = asyncio.get_running_loop()

    def grouped_and_merged(*given: Any) -> Groups:
        merged = asyncio.run_coroutine_threadsafe(merge(read_models, AT, second, first, NOW), loop)
        assert merged.result(PATIENCE_SECONDS)
        return grouped(*given)

    monkeypatch.setattr("reporting.issues.worker.grouped", grouped_and_merged)
    await issue_job(read_models, NOW + DAY).catch_up()
    assert {row["id"]: row["turns"] for row in await issues(read_models)} == {first: 10, third: 5}


@pytest.mark.parametrize(
    ("waiting", "left", "placed", "at", "due"),
    [(4, 0, 0, None, False), (5, 0, 0, None, True), (0, 0, 0, None, False),
     (4, 0, 0, NOW, False), (5, 0, 40, NOW, True), (5, 0, 60, NOW, False), (6, 0, 60, NOW, True),
     (19, 0, 1_000, NOW, False), (20, 9, 1_000, NOW, True), (20, 11, 0, NOW, False), (0, 0, 9, NOW - DAY, True)],
)  # fmt: skip
def test_agents_are_grouped_daily_or_when_many_of_their_turns_wait(
    waiting: int, left: int, placed: int, at: int | None, due: bool
) -> None:
    assert is_due(waiting, left, placed, at, NOW) is due


ISSUES: Final = "/conversations/acme/support/issues"


@pytest.fixture
async def http(read_models: asyncpg.Pool) -> AsyncIterator[httpx.AsyncClient]:
    clock = FixedClock(NOW)
    routers = [
        issues_router(read_models, read_models, clock),
        conversations_router(read_models, clock),
        exports_router(read_models),
    ]
    async with client(routers) as opened:
        yield opened


async def test_the_api_lists_reads_and_changes_issues(
    http: httpx.AsyncClient, read_models: asyncpg.Pool, take: Take
) -> None:
    await take(*rejected_turns(0, 15), *rejected_turns(15, 15, agent="other"))
    await issue_job(read_models).catch_up()
    listed = (await http.get(ISSUES, params={"agent_id": "bot"})).json()
    assert (listed["available"], listed["waiting"]) == (True, 0)
    assert [(one["turns"], one["people"], one["state"], sum(one["days"])) for one in listed["items"]] == [
        (5, 5, "open", 5)
    ] * 3
    first, second = (one["id"] for one in listed["items"][:2])
    assert len((await http.get(ISSUES)).json()["items"]) == 6

    body = {"state": "resolved", "resolved_in": "2", "assignee": "ann", "note": "A fix."}
    assert (await http.post(f"{ISSUES}/{first}/change", json=body)).json() == {"id": first}
    one = (await http.get(f"{ISSUES}/{first}")).json()
    assert {name: one["issue"][name] for name in body} == body
    turn = one["turns"][0]
    assert turn["question"].startswith("About ")
    assert (turn["answer"], turn["complaint"], turn["by_person"]) == ("Here you are.", "No.", True)
    assert [one["id"] for one in (await http.get(ISSUES, params={"state": "resolved"})).json()["items"]] == [first]

    assert (await http.post(f"{ISSUES}/{first}/merge", json={"into": second})).json() == {"id": second}
    assert (await http.get(f"{ISSUES}/{second}")).json()["issue"]["turns"] == 10
    assert (await http.get(f"{ISSUES}/{first}")).json()["issue"]["merged_into"] == second
    for path, said in ((f"{first}/change", {"state": "open"}), (f"{first}/merge", {"into": second})):
        assert (await http.post(f"{ISSUES}/{path}", json=said)).status_code == 404
    assert (await http.get(f"{ISSUES}/999999")).status_code == 404
    assert (await http.post(f"{ISSUES}/{first}/change", json={"state": "regressed"})).status_code == 422


@pytest.mark.parametrize("neighbour", [{"tenant": "globex"}, {"project": "p2"}], ids=str)
async def test_a_neighbours_issue_is_neither_read_nor_changed(
    http: httpx.AsyncClient, read_models: asyncpg.Pool, take: Take, neighbour: dict[str, str]
) -> None:
    await take(*rejected_turns(0, 15), *rejected_turns(0, 15, name=" of theirs", **neighbour))
    await issue_job(read_models).catch_up()
    theirs = await issues(read_models, "turns > 0 and (tenant, project) <> ('acme', 'support')")
    ours = (await http.get(ISSUES)).json()
    assert len(theirs) == len(ours["items"]) == 3
    for one in theirs:
        assert (await http.get(f"{ISSUES}/{one['id']}")).status_code == 404
        for path, body in (
            (f"{one['id']}/change", {"state": "muted"}),
            (f"{one['id']}/merge", {"into": ours["items"][0]["id"]}),
            (f"{ours['items'][0]['id']}/merge", {"into": one["id"]}),
        ):
            assert (await http.post(f"{ISSUES}/{path}", json=body)).status_code == 404, path
        wanted = {"issue": one["id"]}
        assert (await http.post("/conversations/acme/support/feedback/search", json=wanted)).json()["items"] == []
        assert (await http.get("/conversations/acme/support/exports/kto", params=wanted)).text == ""
        async with client([pages_router(PageSources(read_models, read_models, FixedClock(NOW)))]) as site:
            assert (await site.get("/dashboard/issue", params={"at": "acme/support", **wanted})).status_code == 404
            listed = await site.get("/dashboard/issues", params={"at": "acme/support"})
            assert f"issue={one['id']}" not in listed.text and f"issue={ours['items'][0]['id']}" in listed.text
    assert await issues(read_models, "turns > 0 and (tenant, project) <> ('acme', 'support')") == theirs
    assert (await http.get(ISSUES)).json() == ours


async def test_the_kto_export_of_an_issue_has_the_accepted_answers_on_its_topic(
    http: httpx.AsyncClient, read_models: asyncpg.Pool, take: Take
) -> None:
    events = list(rejected_turns(0, 15))
    for n, topic in ((100, TOPICS[0]), (101, TOPICS[1])):
        question, answer, _ = rejected_turn(n, topic)
        answered: dict[str, Any] = {
            "conversation": f"c{n}",
            "turn": f"t{n}",
            "agent_message_id": f"a{n}",
            "agent": "bot",
        }
        events += [question, answer, feedback(f"f{n}", kind="explicit", reaction="ok", **answered)]
    await take(*events)
    await issue_job(read_models).catch_up()
    refund = (await by_topic(read_models))[0]
    rejected = {"t0", "t3", "t6", "t9", "t12"}
    for wanted, turns in (("kto", {*rejected, "t100"}), ("events", rejected)):
        export = await http.get(f"/conversations/acme/support/exports/{wanted}", params={"issue": refund})
        assert {json.loads(line)["turn_id"] for line in export.text.splitlines()} == turns, wanted


async def test_a_form_of_another_site_changes_nothing(read_models: Database, take: Take) -> None:
    await take(*rejected_turns(0, 15))
    await issue_job(read_models).catch_up()
    refund = (await by_topic(read_models))[0]
    form = {"state": "muted", "assignee": "", "note": "Known."}
    here = f"/dashboard/issue?at=acme%2Fsupport&issue={refund}"
    async with client([pages_router(PageSources(read_models, read_models, FixedClock(NOW)), read_models)]) as site:
        answer = await site.post(here, data=form, headers={"Origin": "https://evil.test"})
        assert answer.status_code == 403
        assert (await issues(read_models, f"id = {refund}"))[0]["state"] == "open"
        answer = await site.post(here, data=form, headers={"Origin": "http://reporting"})
        assert (answer.status_code, answer.headers["location"]) == (303, here)
        assert (await site.post(here, data={"state": "closed"})).status_code == 422
    row = (await issues(read_models, f"id = {refund}"))[0]
    assert (row["state"], row["assignee"], row["note"]) == ("muted", None, "Known.")


TABLES: Final = ("issues", "issue_turns", "issue_agents")
OF_OURS: Final = "where (tenant, project, agent_id) = ('acme', 'support', 'bot')"


async def rows_of_ours(pool: asyncpg.Pool) -> dict[str, list[str]]:
    """Return the rows of acme/support's agent `bot`, with its issues numbered from 1."""
    ids = [row["id"] for row in await pool.fetch(f"select id from issues {OF_OURS} order by id")]
    number = {id_: n for n, id_ in enumerate(ids, 1)}
    return {
        table: sorted(
            repr({k: number.get(v, v) if k in ("id", "issue_id", "merged_into") else v for k, v in row.items()})
            for row in await pool.fetch(f"select * from {table} {OF_OURS}")
        )
        for table in TABLES
    }


async def history(pool: asyncpg.Pool, neighbour: dict[str, str] | None) -> dict[str, list[str]]:
    """Reject, group, merge and reject again, for us and for a neighbour with the same ids. Returns our rows."""
    handler = ProjectionHandler(PostgresReadModels(pool))
    theirs = {"name": " of theirs", "about": "Their", "words": "Theirs is wrong.", "version": "2", **(neighbour or {})}
    for start in (0, 15):
        await handler.handle(batch(*rejected_turns(start, 15)))
        if neighbour is not None:
            await handler.handle(batch(*rejected_turns(start, 15, **theirs)))
        await issue_job(pool, NOW + start * DAY).catch_up()
        if start:
            break
        topics = await pool.fetch(
            f"select issue_id from issue_turns {OF_OURS} and turn_id in ('t0', 't1', 't2') order by turn_id"
        )
        first, second, _ = [row["issue_id"] for row in topics]
        assert await merge(pool, AT, second, first, NOW)
        if neighbour is not None:
            place = {name: value for name, value in neighbour.items() if name != "thread"}
            gone: dict[str, Any] = {
                "turn": "t4",
                "conversation": f"{neighbour.get('thread', 'c')}4",
                "user": "u4",
                "at": 1_000,
                **place,
            }
            await handler.handle(batch(feedback("f4 of theirs", kind="explicit", reaction=None, revision=2, **gone)))
        if neighbour is not None and "tenant" in neighbour:
            await ReportingErasures(pool).erase({Person("globex", "u7"): NOW})
    return await rows_of_ours(pool)


@pytest.mark.parametrize(
    "neighbour", [{"tenant": "globex"}, {"project": "p2"}, {"agent": "other", "thread": "d"}], ids=str
)
async def test_a_neighbour_with_the_same_ids_changes_no_row(postgres_url: str, neighbour: dict[str, str]) -> None:
    """Another agent's conversations are others, with the same turn and message ids."""
    async with empty_read_models(postgres_url) as alone, empty_read_models(postgres_url) as beside:
        assert await history(beside, neighbour) == await history(alone, None)
