"""Start and stop of a service process: nothing stays open, and a stop has a deadline."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Any

import pytest
from pydantic_settings import SettingsConfigDict

import servicekit.launcher
from servicekit.definition import ServiceDefinition
from servicekit.errors import Unavailable
from servicekit.launcher import _start, _started
from servicekit.service import Service, ServiceContext
from servicekit.settings import Settings
from tests.support.waits import PATIENCE_SECONDS

NEVER_STOPS = """
import asyncio, importlib
from servicekit import launcher
from servicekit.periodic import Periodic
from servicekit.service import Service, ServiceContext

async def never(self):
    print("stopping", flush=True)
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass

async def started(program, traces):
    service = Service(program.name, launcher.ServiceContext("localhost:1"))
    service.stop = never.__get__(service)
    print("started", flush=True)
    return service

launcher._start, launcher.STOP_SECONDS = started, 0.5
asyncio.run(launcher.run_program(importlib.import_module("feedback.service").PROGRAM, "127.0.0.1", 0, "t" * 16))
"""


class SomeSettings(Settings):
    model_config = SettingsConfigDict(env_prefix="SOME_")

    broker: str = "localhost:1"
    database_url: str = "postgresql://localhost:1/none"


async def test_what_a_failed_build_has_opened_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    async def no_topics(*_: Any, **__: Any) -> None:
        return None

    async def opens(_: SomeSettings, service: Service) -> None:
        service.resources.callback(closed.append, "pool")
        raise Unavailable("the second database")

    monkeypatch.setattr(servicekit.launcher, "ensure_topics", no_topics)
    with pytest.raises(Unavailable):
        await _started(ServiceDefinition("chat_bridge", SomeSettings, opens))
    assert closed == ["pool"]


async def test_a_process_whose_stop_hangs_ends_by_itself() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", NEVER_STOPS, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    while not (await process.stdout.readline()).startswith(b"started"):
        assert process.returncode is None
    process.send_signal(signal.SIGTERM)
    out, errors = await asyncio.wait_for(process.communicate(), 30)
    assert b"stopping" in out
    assert (process.returncode, b"Timeout" in errors) == (1, True)


async def test_a_task_that_drops_a_cancellation_does_not_hold_the_stop() -> None:
    dropped = 0

    async def drops_one() -> None:
        nonlocal dropped
        while not dropped:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                dropped += 1
        await asyncio.sleep(3600)

    service = Service("feedback", ServiceContext("localhost:1"))
    service.every("drops_one", 3600, drops_one)
    service.periodics.start()
    await asyncio.sleep(0)
    await asyncio.wait_for(service.stop(), PATIENCE_SECONDS)
    assert dropped == 1 and all(task.cancelled() for task in service.periodics._tasks)


async def test_a_start_is_repeated_while_a_dependency_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[Exception] = [Unavailable("the database"), OSError("refused")]
    started = object()

    async def starts(*_: Any) -> Any:
        if raised:
            raise raised.pop()
        return started

    monkeypatch.setattr(servicekit.launcher, "_started", starts)
    program: Any = ServiceDefinition("chat_bridge", SomeSettings, None)  # type: ignore[arg-type]
    assert await _start(program) is started
    assert not raised


async def test_a_start_that_a_bug_ends_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    async def starts(*_: Any) -> Any:
        raise KeyError("a bug")

    monkeypatch.setattr(servicekit.launcher, "_started", starts)
    program: Any = ServiceDefinition("chat_bridge", SomeSettings, None)  # type: ignore[arg-type]
    with pytest.raises(KeyError):
        async with asyncio.timeout(PATIENCE_SECONDS):
            await _start(program)
