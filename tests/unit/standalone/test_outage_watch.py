"""Work that is given up if a server that it needs stops responding."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import asyncpg
import pytest
from aiokafka.errors import KafkaConnectionError

from standalone.embedded.memory_broker import MemoryBroker
from standalone.embedded.ports import free_port
from standalone.errors import DependencyLost
from standalone.one_process import outage_watch
from standalone.one_process.outage_watch import Dependency, broker_at, database_at, while_answered
from tests.support.served import answering, silent
from tests.support.waits import PATIENCE_SECONDS


@pytest.fixture(autouse=True)
def enabled_logging() -> Iterator[None]:
    yield
    logging.disable(logging.NOTSET)


class Server:
    """Server that gives these answers in turn and then the last one. A probe takes `seconds` of the clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: bool, seconds: float = 2.0) -> None:
        self._answers, self._seconds = list(answers), seconds
        self.now, self.probes = 100.0, 0
        monkeypatch.setattr(outage_watch, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(outage_watch, "PROBE_SECONDS", 0)

    async def answers(self) -> bool:
        self.now += self._seconds
        answer = self._answers[min(self.probes, len(self._answers) - 1)]
        self.probes += 1
        return answer

    @property
    def needed(self) -> list[Dependency]:
        return [Dependency("database at x", self.answers)]


async def test_the_result_is_that_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(monkeypatch, True)

    async def work() -> int:
        while server.probes < 3:
            await asyncio.sleep(0)
        return 7

    others = asyncio.all_tasks()
    assert await while_answered(work(), server.needed, 20, "stopped") == 7
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == others, "nothing is watched any more"
    assert logging.root.manager.disable < logging.CRITICAL


async def test_an_error_of_the_work_is_raised_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        raise ValueError("no file")

    with pytest.raises(ValueError, match="no file"):
        await while_answered(work(), Server(monkeypatch, True).needed, 20, "stopped")


@pytest.mark.parametrize(
    ("answers", "probes"),
    # A probe takes two seconds, so a server may miss four of them within ten seconds, and is lost with the fifth.
    [((False,), 5), ((True, False), 6), ((False,) * 4 + (True, False), 10)],
)
async def test_a_server_that_has_not_answered_for_long_ends_the_work(
    monkeypatch: pytest.MonkeyPatch, answers: tuple[bool, ...], probes: int
) -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    server = Server(monkeypatch, *answers)
    with pytest.raises(
        DependencyLost, match=r"^The database at x has not answered for 10 s: stopped before the end of the input\.$"
    ):
        await while_answered(work(), server.needed, 10, "stopped before the end of the input")
    assert server.probes == probes
    async with asyncio.timeout(PATIENCE_SECONDS):
        await ended.wait()
    assert logging.root.manager.disable >= logging.CRITICAL, "errors of the shutdown would hide the reason"


async def test_any_lost_server_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(monkeypatch, False)

    async def answers() -> bool:
        return True

    needed = [Dependency("broker at y", answers), *server.needed]
    with pytest.raises(DependencyLost, match=r"^The database at x"):
        await while_answered(asyncio.Event().wait(), needed, 10, "stopped")


async def test_a_broker_answers_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with MemoryBroker({}) as broker:
        found = broker_at(broker.bootstrap)
        assert (found.name, await found.answers()) == (f"broker at {broker.bootstrap}", True)
    assert await broker_at(f"127.0.0.1:{free_port()}").answers() is False
    monkeypatch.setattr(outage_watch, "PROBE_SECONDS", 0.05)
    async with answering(silent) as url:
        assert await broker_at(url.removeprefix("http://")).answers() is False


@pytest.mark.parametrize("error", [None, KafkaConnectionError(), OSError(), TimeoutError()])
async def test_a_probe_of_a_broker_leaves_no_connection(
    monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    events: list[str] = []

    class Admin:
        def __init__(self, **options: Any) -> None:
            assert (options["bootstrap_servers"], options["request_timeout_ms"]) == ("h:1", 2_000)

        async def start(self) -> None:
            events.append("starts")
            if error is not None:
                raise error

        async def close(self) -> None:
            events.append("closes")

    monkeypatch.setattr(outage_watch, "AIOKafkaAdminClient", Admin)
    assert await broker_at("h:1").answers() is (error is None)
    assert events == ["starts", "closes"]


@pytest.mark.parametrize(
    ("error", "answers"),
    [
        (asyncpg.InvalidPasswordError("no"), True),
        (asyncpg.InvalidCatalogNameError("no"), True),
        (asyncpg.CannotConnectNowError("starting"), False),
        (asyncpg.AdminShutdownError("stopping"), False),
        (asyncpg.ConnectionDoesNotExistError("gone"), False),
        (asyncpg.InterfaceError("closed"), False),
        (ConnectionRefusedError(), False),
        (TimeoutError(), False),
    ],
)
async def test_a_database_answers_even_by_a_rejection(
    monkeypatch: pytest.MonkeyPatch, error: Exception, answers: bool
) -> None:
    async def connect(url: str, **more: float) -> None:
        assert (url, more) == ("postgresql://u:secret@h/db", {"timeout": 2.0})
        raise error

    monkeypatch.setattr(asyncpg, "connect", connect)
    found = database_at("postgresql://u:secret@h/db")
    assert (found.name, await found.answers()) == ("database at postgresql://h/db", answers)


async def test_a_connection_to_a_database_is_closed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    async def connect(*_: Any, **__: Any) -> SimpleNamespace:
        return SimpleNamespace(terminate=lambda: closed.append("closed"))

    monkeypatch.setattr(asyncpg, "connect", connect)
    assert await database_at("postgresql://h/db").answers() is True
    assert closed == ["closed"]
