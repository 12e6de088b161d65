"""Rules of issues in PostgreSQL, with a case on each side of every boundary."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import asyncpg
import pytest
import pytest_asyncio

from contracts.erasure import ERASURE_MARGIN, Person
from contracts.instants import DAY, SECOND
from detector.encoders.embedder import Embedder, Vectors
from reporting.issues import worker
from reporting.issues.job import IssueJob
from reporting.issues.reading import find_issue, list_issues
from reporting.issues.store import AgentScope, IssueChange, change, merge, recount, rejections
from reporting.issues.worker import IssueWorker
from reporting.read_models.erasure import ReportingErasures
from reporting.sql.connection import Connection
from tests.support.filled_rows import insert
from tests.support.hand_clock import FixedClock
from tests.support.issue_turns import AT, NOW, TopicEncoder, issue_job, rejected_turns
from tests.support.reporting_database import empty_read_models, truncate
from tests.support.reporting_events import START, Event, Take, feedback, message

BOT: Final = AgentScope(*AT, "bot")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def schema(postgres_url: str) -> AsyncIterator[asyncpg.Pool]:
    async with empty_read_models(postgres_url) as pool:
        yield pool


@pytest.fixture
async def read_models(schema: asyncpg.Pool) -> asyncpg.Pool:
    """Return the module's schema, empty."""
    await truncate(schema)
    return schema


async def issue(pool: asyncpg.Pool, *turns: dict[str, Any], **more: Any) -> int:
    """Insert an issue of BOT with these turns, and return its id."""
    values = {**BOT._asdict(), "encoder": TopicEncoder.name, "state_at": START, **more}
    await insert(pool, "issues", values)
    made: int = await pool.fetchval("select max(id) from issues")
    for turn in turns:
        await insert(pool, "issue_turns", turn_row(issue_id=made, **turn))
    return made


@asynccontextmanager
async def issue_worker(pool: asyncpg.Pool, encoder: Embedder | None = None) -> AsyncIterator[IssueWorker]:
    async with pool.acquire() as connection:
        yield IssueWorker(connection, FixedClock(NOW), encoder or TopicEncoder())


def turn_row(**more: Any) -> dict[str, Any]:
    return {**BOT._asdict(), "encoder": TopicEncoder.name, "words": [], "by_person": True, **more}


async def row_of(pool: asyncpg.Pool, id_: int) -> asyncpg.Record:
    row = await pool.fetchrow("select * from issues where id = $1", id_)
    assert row is not None
    return row


def said(name: str, reaction: str | None, at: float, origin: str = "user", **more: Any) -> Event:
    kind = "inferred" if origin == "machine" else "explicit"
    return feedback(name, kind=kind, reaction=reaction, at=at, origin=origin, text=name, user=name, agent="bot", **more)


HIGHEST: Final = "ffffffff-ffff-4fff-bfff-ffffffffffff"


@pytest.mark.parametrize(
    ("events", "standing"),
    [
        ([said("machine", "not_ok", 1, "machine")], ("machine", False)),
        ([said("ann", "not_ok", 1)], ("ann", True)),
        ([said("machine", "not_ok", 2, "machine"), said("ann", "ok", 1)], None),
        ([said("machine", "ok", 2, "machine"), said("ann", "not_ok", 1)], ("ann", True)),
        ([said("machine", "ok", 2, "machine"), said("rev", "not_ok", 1, "reviewer")], ("rev", True)),
        ([said("ann", "not_ok", 1), said("bob", "ok", 2)], ("ann", True)),
        ([said("ann", "neutral", 1)], None),
        ([said("ann", "not_ok", 1), said("bob", "not_ok", 2)], ("bob", True)),
        ([said("ann", "not_ok", 1), said(HIGHEST, "not_ok", 1)], (HIGHEST, True)),
    ],
)
async def test_a_persons_rejection_stands_above_the_machines_verdict(
    read_models: asyncpg.Pool, take: Take, events: Sequence[Event], standing: tuple[str, bool] | None
) -> None:
    await take(*events)
    found = await rejections(read_models, AT, [("c1", "t1")])
    assert [(one.complaint, one.by_person) for one in found] == ([] if standing is None else [standing])


async def test_a_rejection_has_its_question_and_answer_or_empty_texts(read_models: asyncpg.Pool, take: Take) -> None:
    await take(
        message("q1", turn=None, content="Where?", sender="asker", at=1),
        message("a1", agent="bot", content="There.", at=2),
        said("ann", "not_ok", 3, agent_message_id="a1", agent_version="7"),
        said("bob", "not_ok", 4, turn="t2", agent_message_id=None),
    )
    known, unknown = await rejections(read_models, AT, [("c1", "t2"), ("c1", "t1")])
    assert (known.question, known.answer, known.complaint, known.agent_version) == ("Where?", "There.", "ann", "7")
    assert (known.asker_id, known.asked_at, known.occurred_at) == ("asker", START + SECOND, START + 3 * SECOND)
    assert (unknown.question, unknown.answer, unknown.complaint, unknown.agent_version) == ("", "", "bob", None)
    assert (unknown.asker_id, unknown.asked_at) == (None, unknown.occurred_at)


SOLVED: Final = START + 100 * SECOND
PERSON, MACHINE = {"by_person": True}, {"by_person": False}


@pytest.mark.parametrize(
    ("resolved_in", "turns", "state"),
    [
        ("2", [PERSON | {"agent_version": "2", "occurred_at": SOLVED}], "resolved"),
        ("2", [PERSON | {"agent_version": "2", "occurred_at": SOLVED + 1}], "regressed"),
        ("2", [PERSON | {"agent_version": "3", "occurred_at": SOLVED + 1}], "regressed"),
        ("2", [PERSON | {"agent_version": "1", "occurred_at": SOLVED + 1}], "resolved"),
        ("2", [PERSON | {"agent_version": None, "occurred_at": SOLVED + 1}], "resolved"),
        ("never seen", [PERSON | {"agent_version": "3", "occurred_at": SOLVED + 1}], "resolved"),
        (None, [PERSON | {"agent_version": None, "occurred_at": SOLVED + 1}], "regressed"),
        (None, [PERSON | {"agent_version": "1", "occurred_at": SOLVED}], "resolved"),
        ("2", [MACHINE | {"agent_version": "2", "occurred_at": SOLVED + 1}], "resolved"),
        ("2", [MACHINE | {"agent_version": "2", "occurred_at": SOLVED + n} for n in (1, 2)], "regressed"),
        ("2", [MACHINE | {"agent_version": "2", "occurred_at": SOLVED + n} for n in (0, 1)], "resolved"),
        ("2", [MACHINE | {"agent_version": v, "occurred_at": SOLVED + 1} for v in ("1", "2")], "resolved"),
    ],
)
async def test_an_issue_regresses_by_a_person_or_two_verdicts_on_its_version_or_a_later_one(
    read_models: asyncpg.Pool, resolved_in: str | None, turns: Sequence[dict[str, Any]], state: str
) -> None:
    for n, version in enumerate("123"):
        verdict = {**BOT._asdict(), "agent_version": version, "reaction": "ok", "occurred_at": START + n}
        # The verdicts on a neighbour's versions came in another order.
        different = ({"tenant": "globex"}, {"project": "p2"}, {"agent_id": "other"})
        neighbours = (verdict | place | {"occurred_at": START - n} for place in different)
        await insert(read_models, "feedbacks", verdict, *neighbours)
    id_ = await issue(read_models, *turns, state="resolved", resolved_in=resolved_in, state_at=SOLVED)
    others = {one: await issue(read_models, *turns, state=one, state_at=SOLVED) for one in ("open", "muted")}
    async with read_models.acquire() as connection:
        await recount(connection, AT, [id_, *others.values()], NOW)
    row = await row_of(read_models, id_)
    assert (row["state"], row["state_at"]) == (state, NOW if state == "regressed" else SOLVED)
    assert {one: (await row_of(read_models, other))["state"] for one, other in others.items()} == {
        "open": "open", "muted": "muted",
    }  # fmt: skip


async def test_an_issue_counts_its_turns_people_versions_and_times(read_models: asyncpg.Pool) -> None:
    turns = [
        {"user_id": "ann", "occurred_at": 5, "agent_version": "2"},
        {"user_id": "ann", "occurred_at": 3, "agent_version": "1"},
        {"user_id": "bob", "occurred_at": 9, "agent_version": "2"},
        {"user_id": "bob", "occurred_at": 4, "agent_version": None},
    ]
    full, empty = await issue(read_models, *turns), await issue(read_models, turns=7, people=3, first_at=1, last_at=2)
    await issue(read_models, {"user_id": "cy", "occurred_at": 99, "agent_version": "3"})
    async with read_models.acquire() as connection:
        await recount(connection, AT, [full, empty, full], NOW)
    counted = "turns", "people", "first_at", "last_at", "versions"
    assert [(await row_of(read_models, full))[name] for name in counted] == [4, 2, 3, 9, ["1", "2"]]
    assert [(await row_of(read_models, empty))[name] for name in counted] == [0, 0, None, None, []]


async def test_merged_issues_follow_a_second_merge(read_models: asyncpg.Pool) -> None:
    words = {"words": ["refund"], "centre": b"12"}
    first, second, third, other = [
        await issue(read_models, {"nearness": 0.5}, **words, **more) for more in ({}, {}, {}, {"agent_id": "other"})
    ]
    assert not await merge(read_models, AT, first, first, NOW)
    assert not await merge(read_models, AT, first, other, NOW)
    assert await merge(read_models, AT, first, second, NOW)
    assert not await merge(read_models, AT, third, first, NOW), "the other one is merged"
    assert await merge(read_models, AT, second, third, NOW)
    rows = [await row_of(read_models, one) for one in (first, second, third, other)]
    assert [row["merged_into"] for row in rows] == [third, third, None, None]
    assert [row["words"] for row in rows] == [[], [], ["refund"], ["refund"]]
    assert [row["centre"] for row in rows] == [b"12"] * 4, "later rejections near any of them join the last one"
    assert [row["turns"] for row in rows] == [0, 0, 3, 0]
    moved = await read_models.fetch("select nearness from issue_turns where issue_id = $1 order by 1", third)
    assert [row["nearness"] for row in moved] == [0.5, None, None]
    for refused in (first, second):
        assert not await change(read_models, AT, refused, IssueChange("open", None, None, None), NOW)


@pytest.mark.parametrize(
    ("changed", "stays"),
    [({}, False), ({"assignee": "ann"}, True), ({"note": "Known."}, True), ({"state": "muted"}, True),
     ({"state": "resolved"}, True), ({"agent_id": "other"}, True)],
)  # fmt: skip
async def test_an_issue_without_turns_goes_unless_a_person_changed_it(
    read_models: asyncpg.Pool, changed: dict[str, Any], stays: bool
) -> None:
    id_ = await issue(read_models, **changed)
    async with issue_worker(read_models) as working:
        await working.group(BOT)
    assert await read_models.fetchval("select count(*) from issues where id = $1", id_) == stays


async def test_issues_are_listed_by_turns_and_then_by_id(read_models: asyncpg.Pool) -> None:
    ids = [await issue(read_models, turns=n, state=state) for n, state in
           ((2, "open"), (5, "muted"), (2, "open"), (9, "resolved"), (0, "open"))]  # fmt: skip
    other = await issue(read_models, turns=1, agent_id="other")

    async def listed(**asked: Any) -> list[int]:
        return [one.id for one in await list_issues(read_models, AT, NOW, **asked)]

    assert await listed() == [ids[3], ids[1], ids[0], ids[2], other]
    assert await listed(limit=2) == [ids[3], ids[1]]
    assert await listed(agent_id="other") == [other]
    assert await listed(states=["open", "resolved"]) == [ids[3], ids[0], ids[2], other]


async def test_the_trend_has_the_last_fourteen_days(read_models: asyncpg.Pool) -> None:
    today = NOW // DAY * DAY
    at = [today + DAY - 1, today, today - 1, today - 13 * DAY, today - 13 * DAY - 1]
    id_ = await issue(read_models, *({"occurred_at": one} for one in at), turns=5)
    [found] = await list_issues(read_models, AT, NOW)
    assert (found.id, list(found.days)) == (id_, [1, *[0] * 11, 1, 2])


async def test_an_issues_turns_are_the_nearest_to_its_centre_first(read_models: asyncpg.Pool) -> None:
    def turn(conversation: str, name: str, nearness: float | None, at: int) -> dict[str, Any]:
        return {"conversation_id": conversation, "turn_id": name, "nearness": nearness, "occurred_at": at}

    id_ = await issue(
        read_models, turn("c1", "t1", None, 9), turn("c2", "t2", 0.5, 1), turn("c2", "t1", 0.5, 1),
        turn("c1", "t3", 0.5, 1), turn("c3", "t1", 0.5, 2), turn("c4", "t1", 0.9, 1),
    )  # fmt: skip
    found = await find_issue(read_models, AT, id_, NOW)
    assert found is not None
    ordered = [(one.conversation_id, one.turn_id) for one in found.turns]
    assert ordered == [("c4", "t1"), ("c3", "t1"), ("c1", "t3"), ("c2", "t1"), ("c2", "t2"), ("c1", "t1")]
    limited = await find_issue(read_models, AT, id_, NOW, limit=2)
    assert limited is not None
    assert len(limited.turns) == 2


async def test_an_issue_shows_the_last_answer_and_the_rejection_that_stands(
    read_models: asyncpg.Pool, take: Take
) -> None:
    await take(
        message("q1", content="First?", at=1), message("a1", agent="bot", content="Early.", at=2),
        message("a2", agent="bot", content="Last.", at=3),
        said("machine", "not_ok", 9, "machine"), said("ann", "not_ok", 4), said("bob", "not_ok", 5),
        said("cy", "ok", 6),
    )  # fmt: skip
    place = {"conversation_id": "c1", "turn_id": "t1", "asker_id": "ann", "asked_at": START + SECOND}
    id_ = await issue(read_models, place, turns=1)
    found = await find_issue(read_models, AT, id_, NOW)
    assert found is not None
    assert [(one.question, one.answer, one.complaint) for one in found.turns] == [("First?", "Last.", "bob")]


ERASED: Final = START
UNTIL: Final = ERASED + ERASURE_MARGIN


@pytest.mark.parametrize(
    ("person", "stays"),
    [
        ({"user_id": "eve", "occurred_at": UNTIL}, False),
        ({"user_id": "eve", "occurred_at": UNTIL + 1}, True),
        ({"asker_id": "eve", "asked_at": UNTIL}, False),
        ({"asker_id": "eve", "asked_at": UNTIL + 1}, True),
        ({"user_id": "eve", "occurred_at": UNTIL, "tenant": "globex"}, True),
        ({"asker_id": "eve", "asked_at": UNTIL, "tenant": "globex"}, True),
        ({"user_id": "bob", "asker_id": "bob", "occurred_at": 1, "asked_at": 1}, True),
    ],
)
async def test_an_erasure_removes_turns_that_a_person_asked_or_rejected_until_then(
    read_models: asyncpg.Pool, person: dict[str, Any], stays: bool
) -> None:
    place = {"conversation_id": "c1", "turn_id": "t1"}
    described = {"centre": b"12", "words": ["refund"]}
    id_ = await issue(
        read_models, {**place, "occurred_at": UNTIL + 1, "asked_at": UNTIL + 1, **person}, **described,
    )  # fmt: skip
    merged = await issue(read_models, merged_into=id_, **described)
    other = await issue(read_models, {"conversation_id": "c2", "turn_id": "t1", "user_id": "bob"}, **described)
    assert await ReportingErasures(read_models).erase({Person("acme", "eve"): ERASED}) == (not stays)
    left = await read_models.fetch("select conversation_id from issue_turns order by 1")
    assert [row[0] for row in left] == (["c1", "c2"] if stays else ["c2"])
    for one in (id_, merged):
        row = await row_of(read_models, one)
        kept = (b"12", ["refund"]) if stays else (None, [])
        assert (row["centre"], row["words"]) == kept
    assert (await row_of(read_models, other))["words"] == ["refund"]
    marked = await read_models.fetch(
        "select tenant, project, conversation_id, turn_id from changed_turns where reader = 'issues'"
    )
    assert [tuple(row) for row in marked] == ([] if stays else [(*AT, "c1", "t1")])


@pytest.mark.parametrize(
    ("asker", "rejecter", "erased_at", "is_written"),
    [
        ("eve", "bob", START - ERASURE_MARGIN + 10 * SECOND, False),  # the question's time
        ("eve", "bob", START - ERASURE_MARGIN + 10 * SECOND - 1, True),
        ("bob", "eve", START - ERASURE_MARGIN + 20 * SECOND, False),  # the rejection's time
        ("bob", "eve", START - ERASURE_MARGIN + 20 * SECOND - 1, True),
    ],
)
async def test_a_turn_of_a_person_erased_since_is_not_written(
    read_models: asyncpg.Pool, take: Take, asker: str, rejecter: str, erased_at: int, is_written: bool
) -> None:
    await take(
        message("q1", turn=None, sender=asker, at=10), message("a1", agent="bot", at=11),
        feedback("f", kind="explicit", reaction="not_ok", text="No.", user=rejecter, agent="bot", at=20,
                 agent_message_id="a1"),
    )  # fmt: skip
    for tenant, at in (("acme", erased_at), ("globex", NOW)):
        await read_models.execute("insert into erasures values ($1, 'eve', 'r', $2)", tenant, at)
    await issue_job(read_models).catch_up()
    assert await read_models.fetchval("select count(*) from issue_turns") == is_written


async def test_a_changed_rejection_ends_as_if_it_had_come_at_once(read_models: asyncpg.Pool, take: Take) -> None:
    turn: dict[str, Any] = {"agent_message_id": "a1"}
    first = [
        message("a1", agent="bot", content="There.", at=2),
        said("machine", "not_ok", 3, "machine", agent_version="1", **turn),
    ]
    then = [
        message("q1", turn=None, content="About refund money", sender="asker", at=1),
        said("ann", "not_ok", 9, agent_version="2", **turn),
    ]

    async def row() -> asyncpg.Record:
        await issue_job(read_models).catch_up()
        found = await read_models.fetchrow("select * from issue_turns")
        assert found is not None
        return found

    await take(*first)
    before = await row()
    await take(*then)
    after = await row()
    await truncate(read_models)
    await take(*first, *then)
    assert await row() == after
    place = ("tenant", "project", "conversation_id", "turn_id", "agent_id", "encoder", "issue_id", "nearness")
    assert {name for name in before.keys() if before[name] == after[name]} == set(place)  # noqa: SIM118 # a Record


async def test_a_turn_that_another_agent_answered_leaves_its_issue(read_models: asyncpg.Pool, take: Take) -> None:
    place = {"conversation_id": "c1", "turn_id": "t1"}
    id_ = await issue(read_models, place, agent_id="bot")
    await take(message("q1", turn=None, content="Where?", at=1), said("ann", "not_ok", 2))
    async with issue_worker(read_models) as working:
        await working.place_changed()
    assert await read_models.fetchval("select issue_id from issue_turns") == id_
    await read_models.execute("update issue_turns set agent_id = 'other'")
    await take(said("ann", "not_ok", 2, revision=2))
    async with issue_worker(read_models) as working:
        await working.place_changed()
    assert await read_models.fetchval("select issue_id from issue_turns") is None


class RecordingEncoder(TopicEncoder):
    """Encoder that keeps the texts given to it."""

    def __init__(self, name: str = "recording") -> None:
        self.name = name
        self.texts: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts.append(list(texts))
        return super().embed(texts)


async def test_the_beginning_of_a_question_and_the_end_of_an_answer_are_encoded(
    read_models: asyncpg.Pool, take: Take
) -> None:
    await take(
        message("q1", turn=None, content="a" + "b" * 1_500, at=1),
        message("a1", agent="bot", content="c" * 1_500 + "d", at=2),
        said("ann", "not_ok", 3, agent_message_id="a1"),
    )
    encoder = RecordingEncoder()
    async with issue_worker(read_models, encoder) as working:
        await working.place_changed()
    assert encoder.texts == [["a" + "b" * 999], ["c" * 999 + "d"], ["ann"]]


async def test_another_encoder_computes_all_vectors_again_and_keeps_the_issues(
    read_models: asyncpg.Pool, take: Take
) -> None:
    await take(*rejected_turns(0, 15))
    await issue_job(read_models).catch_up()
    of_turn = "select turn_id, issue_id from issue_turns order by turn_id"
    before = await read_models.fetch(of_turn)
    await IssueJob(read_models, FixedClock(NOW + DAY), lambda: RecordingEncoder("better")).catch_up()
    assert await read_models.fetch(of_turn) == before
    assert {row[0] for row in await read_models.fetch("select encoder from issue_turns")} == {"better"}
    assert {row[0] for row in await read_models.fetch("select encoder from issues")} == {"better"}


@pytest.fixture
async def locked(read_models: asyncpg.Pool) -> AsyncIterator[Connection]:
    """Yield a connection on which another process works on the issues."""
    async with read_models.acquire() as connection:
        await connection.execute("select pg_advisory_lock(hashtext('agent-feedback issues'))")
        yield connection


async def test_one_process_at_a_time_works_on_issues(read_models: asyncpg.Pool, take: Take, locked: Connection) -> None:
    await take(*rejected_turns(0, 3))
    job = issue_job(read_models)
    assert await job.catch_up() == 0
    await locked.execute("select pg_advisory_unlock_all()")
    assert await job.catch_up() == 3
    assert await locked.fetchval("select pg_try_advisory_lock(hashtext('agent-feedback issues'))"), "it is free again"


async def test_every_page_of_changes_of_every_project_is_placed(
    read_models: asyncpg.Pool, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_AT_ONCE", 3)
    await take(*rejected_turns(0, 7), *rejected_turns(7, 3, project="p2"))
    assert await issue_job(read_models).catch_up() == 10
    counted = await read_models.fetch("select project, count(*) from issue_turns group by 1 order by 1")
    assert [tuple(row) for row in counted] == [("p2", 3), ("support", 7)]
    assert await read_models.fetchval("select count(*) from changed_turns where reader = 'issues'") == 0


async def test_turns_that_were_too_many_to_be_clustered_join_the_issues_of_the_others(
    read_models: asyncpg.Pool, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "MOST", 9)
    monkeypatch.setattr(worker, "_PLACED_AT_ONCE", 4)
    await take(*rejected_turns(0, 15))
    await issue_job(read_models).catch_up()
    held = await read_models.fetch(
        "select array_agg(substr(turn_id, 2)::int order by substr(turn_id, 2)::int) as turns from issue_turns "
        "group by issue_id order by 1"
    )
    assert [row["turns"] for row in held] == [[n for n in range(15) if n % 3 == topic] for topic in range(3)]
    assert [one.turns for one in await list_issues(read_models, AT, NOW)] == [5, 5, 5]
    assert await read_models.fetchval("select left_waiting from issue_agents") == 0
