"""Access of commands to a log and a store: what is opened, and that all of it is closed again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from servicekit.errors import LogUnavailable, StartError
from standalone.embedded.ports import free_port
from standalone.errors import DependencyLost
from standalone.operations import import_target, log_access, users
from standalone.operations.import_target import import_log
from standalone.operations.log_access import LogTarget, admin_of, store_of, writing_to


class Opened:
    """Clients of a log and a store, which record their ends."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    async def admin_of(self, bootstrap: object) -> Opened:
        self.events.append(f"admin of {bootstrap}")
        return self

    def producer(self, bootstrap: object, *, client_id: str) -> Opened:
        self.events.append(f"producer {client_id} of {bootstrap}")
        return self

    async def close(self) -> None:
        self.events.append("admin closes")

    async def stop(self) -> None:
        self.events.append("producer stops")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    found = Opened()

    @asynccontextmanager
    async def with_backpressure(producer: Any, admin: Any, groups: Any) -> AsyncIterator[str]:
        assert producer is admin is found
        yield f"held by {' '.join(groups)}"

    monkeypatch.setattr(log_access, "admin_of", found.admin_of)
    monkeypatch.setattr(log_access, "BatchProducer", found.producer)
    monkeypatch.setattr(log_access, "with_backpressure", with_backpressure)
    return found


async def test_a_writer_to_a_log_in_memory_is_held_back(opened: Opened) -> None:
    async with writing_to(LogTarget("h:1", "", ("feedback", "inference"))) as producer:
        assert producer == "held by feedback inference"  # type: ignore[comparison-overlap]  # a stub
    async with writing_to(LogTarget("h:1", "")) as producer:
        assert producer is opened  # type: ignore[comparison-overlap]  # a stub
    ends = ["producer stops", "admin closes"]
    assert opened.events == ["admin of h:1", "producer agent-feedback-tool of h:1", *ends] * 2


async def test_a_writer_that_fails_is_closed(opened: Opened) -> None:
    with pytest.raises(ValueError, match="bad"):
        async with writing_to(LogTarget("h:1", "")):
            raise ValueError("bad")
    assert opened.events[-2:] == ["producer stops", "admin closes"]


async def test_a_broker_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"127.0.0.1:{free_port()}"
    monkeypatch.setattr(log_access, "ANSWER_SECONDS", 0.05)
    with pytest.raises(StartError, match=f"^Nothing answered at {address} within 0 s"):
        await admin_of(address)


async def test_a_store_is_opened_once_it_answers_and_closed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    async def answers(url: str) -> None:
        events.append(f"{url} answers")

    async def open_store(url: str, service: Any) -> str:
        service.resources.callback(events.append, "closed")
        events.append(f"{service.name} opens {url}")
        return "store"

    monkeypatch.setattr(log_access, "database_answers", answers)
    monkeypatch.setattr(log_access, "open_store", open_store)
    async with store_of(LogTarget("h:1", "memory://")) as store:
        assert store == "store"  # type: ignore[comparison-overlap]  # a stub
    assert events == ["memory:// answers", "feedback opens memory://", "closed"]


@pytest.mark.parametrize(
    ("scheme", "waited"),
    [("postgresql", ["database"]), ("postgres", ["database"]), ("mongodb", ["mongo"]), ("memory", [])],
)
async def test_a_server_is_waited_for_by_its_kind(
    monkeypatch: pytest.MonkeyPatch, scheme: str, waited: list[str]
) -> None:
    found: list[str] = []

    async def database(*_: object) -> None:
        found.append("database")

    async def mongo(*_: object) -> None:
        found.append("mongo")

    monkeypatch.setattr(log_access, "wait_for_database", database)
    monkeypatch.setattr("feedback.mongo_connection.wait_until_up", mongo)
    await log_access.database_answers(f"{scheme}://127.0.0.1:1/db")
    assert found == waited


async def test_an_import_writes_to_the_broker_or_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    targets: list[LogTarget] = []
    run = LogTarget("run:1", "")

    @asynccontextmanager
    async def writing(target: LogTarget) -> AsyncIterator[str]:
        targets.append(target)
        yield "producer"

    monkeypatch.setattr(import_target, "writing_to", writing)
    monkeypatch.setattr(import_target, "target_of", lambda broker, state: run if state == tmp_path else None)
    for broker in ("h:1", None):
        async with import_log(broker, tmp_path, dry_run=False):
            pass
    assert (str(targets[0].bootstrap), targets[0].store_url, targets[1]) == ("h:1", "", run)
    with pytest.raises(DependencyLost, match=r"^The log did not answer \(.*down\)\. Run the same command again"):
        async with import_log("h:1", tmp_path, dry_run=False):
            raise LogUnavailable("down")
    async with import_log("h:1", tmp_path, dry_run=True) as log:
        assert await log.send([]) == []
    assert len(targets) == 3


@pytest.mark.parametrize("given", ["postgresql://given", None])
async def test_accounts_are_those_of_the_given_database_or_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    events: list[Any] = []

    class Pool:
        async def __aenter__(self) -> Pool:
            return self

        async def __aexit__(self, *_: object) -> None:
            events.append("closed")

    async def answers(url: str) -> None:
        events.append(url)

    async def open_pool(url: str, service: str, *_: object, size: int, say: object) -> Pool:
        events.append((url, service, size, say))
        return Pool()

    monkeypatch.setenv("REPORTING_DATABASE_URL", "postgresql://settings")
    monkeypatch.setattr(users, "database_answers", answers)
    monkeypatch.setattr(users, "open_pool", open_pool)
    url = given or "postgresql://settings"
    async with users.open_access(given, print) as tables:
        assert tables.accounts and tables.keys and tables.log
    assert events == [url, (url, "reporting", 1, print), "closed"]
