"""Operations on the databases of the services: order of the steps, results, and that everything is closed again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar
from uuid import UUID

import asyncpg
import httpx
import pytest

from contracts.erasure import Person
from contracts.feedback import FeedbackExplicitReceived
from feedback.merge import merge, revise
from feedback.model import Change, Record
from feedback.reward import change_of
from feedback.store import Save
from feedback.store_memory import MemoryStore
from inference.rejudgements import BEGINNING, Rejudgement
from reporting.read_models.generation import Switched
from servicekit.clock import FixedClock
from servicekit.errors import StartError
from standalone.operations import migrate, purge, rebuild, rejudge, report, stored_report, subject_access
from standalone.operations.log_access import LogTarget
from standalone.operations.purge import purge as purge_tables
from standalone.operations.rejudge import Rejudged, rejudge_database
from standalone.operations.service_databases import service_databases

SERVICES = ("chat_bridge", "feedback", "inference", "reporting")
Events = list[Any]


class Pool:
    """Pool that records what is done with it."""

    def __init__(self, events: Events, name: str) -> None:
        self._events, self._name = events, name

    async def __aenter__(self) -> Pool:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        self._events.append(f"{self._name} closes")

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Pool]:
        yield self


def opening(events: Events, most: int = 1) -> Callable[..., Any]:
    """Return a function that opens a pool of a service, with at most that many connections."""

    async def opened(url: str, service: str, *_: object, size: int = 1, **__: object) -> Pool:
        assert size <= most, "a command leaves the server's connections to the services"
        events.append(f"{service} of {url}")
        return Pool(events, service)

    return opened


def answering(events: Events) -> Callable[[str], Any]:
    async def answers(url: str) -> None:
        events.append(f"{url} answers")

    return answers


def record(turn: str) -> Record:
    event = FeedbackExplicitReceived(
        event_id=turn, occurred_at=1, tenant="acme", project="p", conversation_id="c", turn_id=turn, agent_id="bot",
        user_id="ann", reaction="ok",
    )  # fmt: skip
    change = change_of(event)
    assert isinstance(change, Change)
    return revise(merge(None, change), 5_000)


def test_every_service_has_its_database_and_its_migrations(monkeypatch: pytest.MonkeyPatch) -> None:
    for service in SERVICES:
        monkeypatch.setenv(f"{service.upper()}_DATABASE_URL", f"postgresql://{service}")
    monkeypatch.setenv("FEEDBACK_STORE_URL", "postgresql://store")
    found = service_databases(None)
    assert [(one.service, one.url) for one in found] == [
        *((service, f"postgresql://{service}") for service in SERVICES), ("feedback", "postgresql://store")
    ]  # fmt: skip
    assert all([*one.migrations.glob("*.sql")] and one.expiries is not None for one in found)
    assert [one.migrations.parts[-2:] for one in found[:4]] == [(service, "migrations") for service in SERVICES]
    secured = [one.service for one in found if one.row_security]
    assert secured == ["feedback", "inference", "reporting", "feedback"], "services that requests read from"
    monkeypatch.setenv("FEEDBACK_ROW_SECURITY", "false")
    assert [one.service for one in service_databases(None) if one.row_security] == ["inference", "reporting"]
    assert {one.url for one in service_databases("postgresql://all")} == {"postgresql://all"}
    monkeypatch.setenv("FEEDBACK_STORE_URL", "mongodb://store/db")
    assert [one.service for one in service_databases(None)] == list(SERVICES)


async def test_all_databases_are_migrated_and_the_names_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    events: Events = []

    async def migrate_database(url: str, service: str, folder: Path, *, say: object, tenants_apart: bool) -> list[str]:
        events.append((service, folder.parts[-1], tenants_apart, say))
        return [f"{service}-{len(events)}"]

    monkeypatch.setattr(migrate, "database_answers", answering(events))
    monkeypatch.setattr(migrate, "migrate_database", migrate_database)
    monkeypatch.setenv("FEEDBACK_STORE_URL", "postgresql://store")
    made = await migrate.migrate_all("postgresql://all", say=print)
    assert [len(names) for names in made.values()] == [1, 2, 1, 1], "feedback has a store of its own"
    assert tuple(made) == SERVICES
    assert events[:2] == ["postgresql://all answers", ("chat_bridge", "migrations", False, print)]
    assert events.count("postgresql://all answers") == 5


class Rows:
    """Retention of a service whose tables have one expired row each."""

    events: ClassVar[Events] = []
    error: Exception | None = None

    def __init__(self, service: str, pool: Any, clock: object, expiries: object) -> None:
        self._service = service

    async def sweep(self) -> dict[str, int]:
        self.events.append(f"{self._service} sweeps")
        return {f"{self._service} rows {len(self.events)}": 1}

    async def due(self) -> dict[str, int]:
        if self.error is not None:
            raise self.error
        self.events.append(f"{self._service} counts")
        return {self._service: 1}


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Events:
    events: Events = []
    monkeypatch.setattr(Rows, "events", events)
    monkeypatch.setattr(Rows, "error", None)
    monkeypatch.setattr(purge, "Retention", Rows)
    monkeypatch.setattr(purge, "database_answers", answering(events))
    for name in ("open_pool", "open_readonly"):
        monkeypatch.setattr(purge, name, opening(events))
    monkeypatch.setenv("FEEDBACK_STORE_URL", "postgresql://store")
    return events


@pytest.mark.parametrize(("dry_run", "does"), [(False, "sweeps"), (True, "counts")])
async def test_expired_rows_are_deleted_or_counted(rows: Events, dry_run: bool, does: str) -> None:
    found = await purge_tables("postgresql://all", dry_run=dry_run, say=print)
    assert tuple(found) == SERVICES
    assert len(found["feedback"]) == (1 if dry_run else 2), "the rows of the store are added to the service's"
    step = ["postgresql://all answers", "inference of postgresql://all", f"inference {does}", "inference closes"]
    assert rows[8:12] == step


@pytest.mark.parametrize("error", [asyncpg.UndefinedTableError("x"), asyncpg.UndefinedColumnError("x")])
async def test_tables_that_are_missing_cannot_be_counted(
    rows: Events, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(Rows, "error", error)
    with pytest.raises(StartError, match=r"^The tables of chat_bridge are missing, or older than this program: start"):
        await purge_tables("postgresql://all", dry_run=True, say=print)
    assert rows[-1] == "chat_bridge closes"


class Generation:
    """Generation of the reports that records the rows of each page."""

    def __init__(self, connection: Pool) -> None:
        self._events = connection._events

    async def begin(self) -> None:
        self._events.append("begin")

    async def add(self, rows: list[Any]) -> None:
        self._events.append([row.turn_id for row in rows])

    async def switch(self) -> Switched:
        self._events.append("switch")
        return Switched(3, 4)


@pytest.fixture
def rebuilding(monkeypatch: pytest.MonkeyPatch) -> Events:
    events: Events = []

    async def serving(_: object) -> bool:
        return "nothing is served" not in events

    monkeypatch.setattr(rebuild, "database_answers", answering(events))
    monkeypatch.setattr(rebuild, "open_pool", opening(events, 2))
    monkeypatch.setattr(rebuild, "Generation", Generation)
    monkeypatch.setattr(rebuild, "serving", serving)
    return events


async def test_reports_are_rebuilt_from_what_can_be_announced(rebuilding: Events) -> None:
    store, told = MemoryStore(), list[int]()
    broken = record("t2")
    slots = {slot: replace(one, payload=replace(one.payload, value=7.0)) for slot, one in broken.slots.items()}
    broken = replace(broken, slots=slots)
    await store.save([Save(record("t1"), 0), Save(broken, 0), Save(record("t3"), 0)])
    done = await rebuild.rebuild_reporting(store, "postgresql://x", print, told.append)
    assert (done.feedbacks, done.switched, sum(told)) == (2, Switched(3, 4), 3)
    assert list(done.impossible) == [broken.feedback_id]
    assert done.impossible[broken.feedback_id].startswith("value: ")
    added = [turn for one in rebuilding if isinstance(one, list) for turn in one]
    assert sorted(added) == ["t1", "t3"]
    steps = [one for one in rebuilding if isinstance(one, str)]
    assert steps == [
        "postgresql://x answers", "reporting of postgresql://x", "begin", "switch", "reporting closes"
    ]  # fmt: skip


async def test_an_empty_store_does_not_replace_reports(rebuilding: Events) -> None:
    with pytest.raises(StartError, match=r"^The feedback store is empty and the reports are not: give the right store"):
        await rebuild.rebuild_reporting(MemoryStore(), "postgresql://x", print)
    assert rebuilding[-1] == "reporting closes" and "begin" not in rebuilding
    rebuilding.append("nothing is served")
    assert (await rebuild.rebuild_reporting(MemoryStore(), "postgresql://x", print)).feedbacks == 0


class Runs:
    """Runs of `rejudge`, of which one may be unfinished."""

    left: Rejudgement | None = None
    others: tuple[str, ...] = ()

    def __init__(self, connection: Pool) -> None:
        self._events = connection._events

    async def lock(self) -> None:
        self._events.append("lock")

    async def total(self, since: int) -> int:
        return 1_000 + since

    async def unfinished(self) -> Rejudgement | None:
        return self.left

    async def begin(self, since: int, version: str) -> Rejudgement:
        return Rejudgement(8, since, version, BEGINNING, {})

    async def other_detectors(self, version: str) -> tuple[str, ...]:
        return self.others


LEFT = Rejudgement(7, 5, "d1", BEGINNING, {"unchanged": 1_200, "added": 34})


class Judging:
    """Surroundings of `rejudge`: the detector is version d1."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: Events = []
        self.said: list[str] = []
        self.progress: list[tuple[int, int]] = []

        async def open_detector(*_: object) -> str:
            return "detector"

        async def open_judging(*given: Any) -> SimpleNamespace:
            self.events.append(given[2])
            return SimpleNamespace(version="d1")

        async def judged(*given: Any) -> str:
            return "differences"

        @asynccontextmanager
        async def writing_to(target: LogTarget) -> AsyncIterator[str]:
            yield f"producer for {target.bootstrap}"
            self.events.append("producer closes")

        for name, value in {
            "database_answers": answering(self.events), "open_pool": opening(self.events, 3), "Rejudgements": Runs,
            "open_detector": open_detector, "open_judging": open_judging, "writing_to": writing_to, "rejudge": judged,
            "what_would_change": judged,
        }.items():  # fmt: skip
            monkeypatch.setattr(rejudge, name, value)
        monkeypatch.setattr(Runs, "left", None)
        monkeypatch.setattr(Runs, "others", ())

    async def __call__(self, since: int | None, *, dry_run: bool = False, force: bool = False) -> Rejudged:
        def open_progress(total: int, done: int) -> Callable[[int], None]:
            self.progress.append((total, done))
            return lambda _: None

        settings: Any = SimpleNamespace(database_url="postgresql://x")
        return await rejudge_database(
            settings, LogTarget("h:1", ""), since, dry_run=dry_run, force=force, say=self.said.append,
            open_progress=open_progress,
        )  # fmt: skip


@pytest.fixture
def judging(monkeypatch: pytest.MonkeyPatch) -> Judging:
    return Judging(monkeypatch)


DIFFERENCES: Any = "differences"


async def test_messages_are_judged_in_a_new_epoch(judging: Judging) -> None:
    assert await judging(9) == Rejudged(8, "d1", 9, DIFFERENCES)
    assert (judging.progress, judging.said) == ([(1_009, 0)], [])
    assert judging.events == [
        "postgresql://x answers", "inference of postgresql://x", "producer for h:1", "lock", "producer closes",
        "inference closes",
    ]  # fmt: skip


@pytest.mark.parametrize("since", [None, 5])
async def test_a_run_that_was_stopped_goes_on(
    judging: Judging, monkeypatch: pytest.MonkeyPatch, since: int | None
) -> None:
    monkeypatch.setattr(Runs, "left", LEFT)
    assert await judging(since) == Rejudged(7, "d1", 5, DIFFERENCES)
    assert judging.progress == [(1_005, 1_234)]
    assert judging.said == ["Going on with epoch 7: 1,234 messages from 1970-01-01T00:00:00.000005Z on are done."]


@pytest.mark.parametrize("left", [replace(LEFT, detector="d0"), replace(LEFT, since=4)])
async def test_a_run_of_another_detector_or_time_is_not_continued(
    judging: Judging, monkeypatch: pytest.MonkeyPatch, left: Rejudgement
) -> None:
    monkeypatch.setattr(Runs, "left", left)
    assert (await judging(5)).epoch == 8
    assert judging.said == []


@pytest.mark.parametrize("left", [None, replace(LEFT, detector="d0")])
async def test_without_a_run_to_continue_a_time_is_needed(
    judging: Judging, monkeypatch: pytest.MonkeyPatch, left: Rejudgement | None
) -> None:
    monkeypatch.setattr(Runs, "left", left)
    with pytest.raises(StartError, match=r"^No run of this detector was stopped: name the time with --since\.$"):
        await judging(None)
    assert judging.events[-1] == "inference closes"


async def test_another_detector_of_the_services_is_refused_unless_forced(
    judging: Judging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Runs, "others", ("d2", "d3"))
    with pytest.raises(StartError, match=r"^This command judges with d1, but the services have judged with d2, d3 in"):
        await judging(9)
    assert (await judging(9, force=True)).epoch == 8
    assert (await judging(9, dry_run=True)).epoch is None, "a comparison changes nothing"


async def test_a_dry_run_announces_nothing(judging: Judging) -> None:
    assert await judging(9, dry_run=True) == Rejudged(None, "d1", 9, DIFFERENCES)
    assert judging.progress == [(1_009, 0)]
    producer = judging.events[2]
    with pytest.raises(AssertionError, match="a comparison announces nothing"):
        await producer.send([])
    assert "lock" not in judging.events
    with pytest.raises(StartError, match=r"^Name the time with --since\.$"):
        await judging(None, dry_run=True)


ANN = Person("acme", "ann")


class Tables(Pool):
    """Connection whose tables have one row about a person each, or are missing."""

    error: Exception | None = None

    async def fetch(self, statement: str, *values: object) -> list[dict[str, str]]:
        if self.error is not None:
            raise self.error
        assert "ann" in values
        return [{"held": json.dumps({"at": 1_790_000_000_000_000, "project": "p", "name": "o1", "is_own": True})}]


class Objects:
    """Object store with one object."""

    def __init__(self, url: str) -> None:
        assert url == "file:///objects"

    async def get(self, name: str) -> bytes | None:
        return b'{"said": "hello"}' if name == "o1" else None


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> Events:
    events: Events = []

    async def open_readonly(url: str, service: str, *, say: object) -> Tables:
        events.append(f"{service} of {url}")
        return Tables(events, service)

    @asynccontextmanager
    async def store_of(_: LogTarget) -> AsyncIterator[MemoryStore]:
        store = MemoryStore()
        await store.save([Save(record("t1"), 0)])
        yield store

    async def records_of(bootstrap: object, topics: list[str], *, say: object) -> AsyncIterator[list[Any]]:
        assert bootstrap == "h:1" and "feedback.created" in topics and "feedback.created.dlq" in topics
        values = [
            None, json.dumps({"tenant": "acme", "userId": "ann"}).encode(), b"{ann", b"{bob",
            json.dumps({"tenant": "acme", "userId": "bob"}).encode(),
            json.dumps({"tenant": "acme", "senderId": "ann"}).encode(),
        ]  # fmt: skip
        yield [
            SimpleNamespace(topic="t", partition=1, offset=n, timestamp=1_790_000_000_000, value=value)
            for n, value in enumerate(values)
        ]

    monkeypatch.setattr(Tables, "error", None)
    for name, value in {
        "database_answers": answering(events), "open_readonly": open_readonly, "store_of": store_of,
        "records_of": records_of, "ObjectStore": Objects,
    }.items():  # fmt: skip
        monkeypatch.setattr(subject_access, name, value)
    monkeypatch.setenv("ARTIFACT_STORE_URL", "file:///objects")
    monkeypatch.setenv("FEEDBACK_STORE_URL", "postgresql://store")
    return events


async def archived() -> dict[str, Any]:
    clock = FixedClock(1_790_000_000_000_000)
    return await subject_access.archive_of(ANN, LogTarget("h:1", ""), "postgresql://all", clock)


async def test_an_archive_has_everything_about_a_person(archive: Events) -> None:
    found = await archived()
    time = "2026-09-21T14:13:20.000000Z"
    assert (found["tenant"], found["user"], found["made_at"]) == ("acme", "ann", time)
    assert len(found["not_included"]) == 5
    row = {"at": time, "project": "p", "name": "o1", "is_own": True}
    assert set(map(str, found["tables"].values())) == {str([row])}
    assert {name.partition(".")[0] for name in found["tables"]} == set(SERVICES)
    [feedback] = found["feedback_store"]
    assert feedback["feedback_id"] == str(record("t1").feedback_id)
    assert not any(isinstance(value, UUID) for value in feedback.values())
    place = {"partition": 1, "written_at": time}
    assert found["log"] == {
        "t": [
            {**place, "offset": 1, "event": {"tenant": "acme", "userId": "ann"}},
            {**place, "offset": 5, "event": {"tenant": "acme", "senderId": "ann"}},
        ]
    }
    assert found["unreadable_records"] == [{"topic": "t", **place, "offset": 2}]
    assert found["objects"] == [{"name": "o1", "content": {"said": "hello"}}]
    assert archive[:3] == ["postgresql://all answers", "chat_bridge of postgresql://all", "chat_bridge closes"]
    assert json.dumps(found)


async def test_objects_need_their_store(archive: Events, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARTIFACT_STORE_URL")
    with pytest.raises(StartError, match=r"^There are artifacts of the person: set ARTIFACT_STORE_URL to the store"):
        await archived()
    assert await subject_access._objects_of(ANN, []) == []


async def test_tables_that_are_missing_are_said(archive: Events, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tables, "error", asyncpg.UndefinedTableError("x"))
    with pytest.raises(StartError, match=r"^The tables of chat_bridge are missing, or older than this program: start"):
        await archived()
    assert archive[-1] == "chat_bridge closes"


RUN: Mapping[str, str] = {"url": "http://run/", "token": "t0k3n"}


def reported(monkeypatch: pytest.MonkeyPatch, answer: Callable[[httpx.Request], httpx.Response]) -> None:
    real = httpx.AsyncClient

    def client(**options: Any) -> httpx.AsyncClient:
        assert options["trust_env"] is False, "a proxy cannot reach this machine"
        return real(**options, transport=httpx.MockTransport(answer))

    monkeypatch.setattr(httpx, "AsyncClient", client)


async def test_the_report_is_that_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert (str(request.url), request.headers["authorization"]) == ("http://run/report", "Bearer t0k3n")
        return httpx.Response(200, json={"report": 7})

    (tmp_path / "run.json").write_text(json.dumps(dict(RUN)))
    reported(monkeypatch, answer)
    assert await report.report_of(tmp_path, print) == {"report": 7}


@pytest.mark.parametrize("left", ["run.json", None], ids=["killed", "ended"])
async def test_the_report_of_a_run_that_has_ended_is_read_from_its_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: str | None
) -> None:
    def refused(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    class Postgres(Pool):
        url = "postgresql://state"

    def embedded(path: Path, _: object) -> Postgres:
        places.append(path)
        return Postgres([], "x")

    async def report_from_database(url: str) -> dict[str, Any]:
        return {"from": url}

    said: list[str] = []
    places: list[Path] = []
    reported(monkeypatch, refused)
    monkeypatch.setattr(report, "EmbeddedPostgres", embedded)
    monkeypatch.setattr(stored_report, "report_from_database", report_from_database)
    (tmp_path / "lock").touch()
    if left:
        (tmp_path / left).write_text(json.dumps(dict(RUN)))
    assert await report.report_of(tmp_path, said.append) == {"from": "postgresql://state"}
    assert places == [tmp_path / "postgres"]
    assert said == (["The last run did not end cleanly; reading the state it left."] if left else [])


async def test_a_report_without_a_state_or_an_answer_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StartError, match=rf"^There is no state in {tmp_path}: start with `agent-feedback up --sample`"):
        await report.report_of(tmp_path, print)

    def late(_: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("late")

    (tmp_path / "run.json").write_text(json.dumps(dict(RUN)))
    reported(monkeypatch, late)
    with pytest.raises(StartError, match=r"^The run at http://run/ does not answer: ReadTimeout\.$"):
        await report.report_of(tmp_path, print)


async def test_a_stored_report_closes_its_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    events: Events = []

    async def totals(_: object) -> Mapping[str, int]:
        return Counter(total=3)

    async def fails(_: object) -> Mapping[str, int]:
        raise ValueError("no table")

    class Store:
        def __init__(self, _: object) -> None:
            self.totals = MemoryStore().totals

    monkeypatch.setattr(stored_report, "open_pool", opening(events))
    monkeypatch.setattr(stored_report, "PostgresStore", Store)
    monkeypatch.setattr(stored_report, "totals", totals)
    found = await stored_report.report_from_database("postgresql://x")
    assert (found["feedback"]["stored"], found["report"]) == (0, {"total": 3})
    monkeypatch.setattr(stored_report, "totals", fails)
    with pytest.raises(ValueError, match="no table"):
        await stored_report.report_from_database("postgresql://x")
    steps = [
        "feedback of postgresql://x", "reporting of postgresql://x", "feedback closes", "reporting closes"
    ]  # fmt: skip
    assert events == steps * 2
