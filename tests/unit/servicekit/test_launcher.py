"""Start and stop of a service process: nothing stays open, and a stop has a deadline."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import weakref
from typing import Any

import pytest
from pydantic_settings import SettingsConfigDict

import servicekit.launcher
from servicekit.definition import ServiceDefinition
from servicekit.errors import StartError, Unavailable
from servicekit.garbage_collection import YOUNG, tune_gc
from servicekit.launcher import _start, _started
from servicekit.service import Periodic, Service, ServiceContext
from servicekit.settings import Settings
from tests.support.waits import PATIENCE_SECONDS

NEVER_STOPS = """
import asyncio, importlib
from servicekit import launcher
from servicekit.service import Periodic, Service, ServiceContext

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


async def test_what_a_failed_build_has_opened_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    async def no_topics(*_: Any, **__: Any) -> None:
        return None

    async def opens(_: SomeSettings, service: Service) -> None:
        service.resources.callback(closed.append, "pool")
        raise Unavailable("the second database")

    monkeypatch.setattr(servicekit.launcher, "ensure_topics", no_topics)
    with pytest.raises(Unavailable):
        await _started(ServiceDefinition("chat_bridge", SomeSettings, opens, "nothing"))
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
    service.every(Periodic("drops_one", 3600, drops_one))
    service._tasks = [asyncio.create_task(service._run(periodic)) for periodic in service._periodics]
    await asyncio.sleep(0)
    await asyncio.wait_for(service.stop(), PATIENCE_SECONDS)
    assert dropped == 1 and all(task.cancelled() for task in service._tasks)


def test_a_process_is_prepared_before_its_program_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    for part in ("configure_logging", "raise_again", "read_env_file"):
        monkeypatch.setattr(servicekit.launcher, part, lambda part=part: done.append(part))
    monkeypatch.setattr(servicekit.launcher, "run_program", lambda *given: given)
    monkeypatch.setattr("servicekit.launcher.uvloop.run", done.append)
    monkeypatch.setenv("AGENT_FEEDBACK_TOKEN", "t" * 16)
    program: Any = ServiceDefinition("chat_bridge", SomeSettings, None, "nothing")  # type: ignore[arg-type]
    monkeypatch.setattr("sys.argv", ["chat_bridge", "--host", "::1", "--port", "65535"])
    servicekit.launcher.main(program)
    *parts, ran = done
    assert sorted(parts) == ["configure_logging", "raise_again", "read_env_file"]
    assert ran == (program, "::1", 65535, "t" * 16)


@pytest.mark.parametrize("port", ["-1", "65536", "http"])
def test_a_port_that_is_none_is_refused(
    port: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program: Any = ServiceDefinition("chat_bridge", SomeSettings, None, "nothing")  # type: ignore[arg-type]
    monkeypatch.setattr("sys.argv", ["chat_bridge", "--port", port])
    with pytest.raises(SystemExit) as ended:
        servicekit.launcher.main(program)
    assert ended.value.code == 2
    assert "--port" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [(StartError("The setting is missing."), 3, "The setting is missing.\n"), (KeyboardInterrupt(), 130, "")],
)
def test_a_program_that_cannot_start_says_why_and_an_interrupted_one_says_nothing(
    error: BaseException,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fails(_: object) -> None:
        raise error

    for part in ("configure_logging", "raise_again", "read_env_file", "run_program"):
        monkeypatch.setattr(servicekit.launcher, part, lambda *_: None)
    monkeypatch.setattr("servicekit.launcher.uvloop.run", fails)
    program: Any = ServiceDefinition("chat_bridge", SomeSettings, None, "nothing")  # type: ignore[arg-type]
    monkeypatch.setattr("sys.argv", ["chat_bridge"])
    with pytest.raises(SystemExit) as ended:
        servicekit.launcher.main(program)
    assert (ended.value.code, capsys.readouterr().err) == (code, said)


async def test_a_started_process_has_created_no_topics_and_tunes_its_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []

    async def topics(cluster: object, **options: Any) -> None:
        done.append((str(cluster), options["create"]))

    async def build(_: SomeSettings, service: Service) -> None:
        done.append("build")

    async def start(service: Service) -> None:
        done.append("start")

    monkeypatch.setattr(servicekit.launcher, "ensure_topics", topics)
    monkeypatch.setattr(Service, "start", start)
    monkeypatch.setattr(servicekit.launcher, "tune_gc", lambda: done.append("tune_gc"))
    service = await _started(ServiceDefinition("chat_bridge", SomeSettings, build, "nothing"))
    await service.stop()
    assert done == ["build", ("localhost:1", False), "start", "tune_gc"]


def test_the_tuned_collector_leaves_what_was_there_and_collects_less_often() -> None:
    class Node:
        """An object that is only reachable from itself."""

    gc.freeze()  # the objects of other tests, which take seconds to look through
    exempt, before = gc.get_freeze_count(), gc.get_threshold()
    gc.set_threshold(700)  # other tests run commands in this process, which have tuned its collector already
    node: Any = Node()
    node.itself = node
    gone, kept = weakref.ref(node), [[number] for number in range(100)]
    del node
    try:
        tune_gc()
        assert gone() is None, "garbage is not kept"
        assert gc.get_freeze_count() >= exempt + len(kept)
        assert gc.get_threshold()[0] == YOUNG > 700
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


async def test_a_start_is_repeated_while_a_dependency_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[Exception] = [Unavailable("the database"), OSError("refused")]
    started = object()

    async def starts(*_: Any) -> Any:
        if raised:
            raise raised.pop()
        return started

    monkeypatch.setattr(servicekit.launcher, "_started", starts)
    program: Any = ServiceDefinition("chat_bridge", SomeSettings, None, "nothing")  # type: ignore[arg-type]
    assert await _start(program) is started
    assert not raised


async def test_a_start_that_a_bug_ends_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    async def starts(*_: Any) -> Any:
        raise KeyError("a bug")

    monkeypatch.setattr(servicekit.launcher, "_started", starts)
    program: Any = ServiceDefinition("chat_bridge", SomeSettings, None, "nothing")  # type: ignore[arg-type]
    with pytest.raises(KeyError):
        async with asyncio.timeout(PATIENCE_SECONDS):
            await _start(program)
