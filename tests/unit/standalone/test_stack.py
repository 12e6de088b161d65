"""The services of one process: readiness, lag, warnings, and the end of accepted work."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from servicekit.service import Service, ServiceContext
from standalone.embedded.backpressure import Backpressure
from standalone.embedded.processes import Account, end, ended, last_complaint, spawn
from standalone.one_process.stack import Stack, together
from tests.support.waits import PATIENCE_SECONDS

AROUND = ServiceContext("localhost:1")


class Part(Service):
    """Service that reads no log: `left` is its number of unconsumed records at each question, the last one stays."""

    def __init__(self, name: Any, why: str | None = None, left: tuple[int, ...] = (0,)) -> None:
        super().__init__(name, AROUND)
        self.asked = 0
        self._why = why
        self._left = left

    async def not_ready(self) -> str | None:
        return self._why

    async def lag(self) -> int:
        self.asked += 1
        return self._left[min(self.asked, len(self._left)) - 1]


def stack_of(*parts: Part, backpressure: Backpressure | None = None) -> Stack:
    stack = Stack(AROUND, "", backpressure)
    stack.services = {part.name: part for part in parts}
    return stack


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([], "the services are starting"),
        ([Part("a"), Part("b")], None),
        ([Part("a"), Part("b", "b waits")], "b waits"),
        ([Part("a", "a waits"), Part("b", "b waits")], "a waits"),
    ],
)
async def test_a_stack_is_ready_once_all_its_services_are(parts: list[Part], why: str | None) -> None:
    assert await stack_of(*parts).not_ready() == why


async def test_all_accepted_work_is_processed_before_the_end() -> None:
    backpressure, part = Backpressure(), Part("a", left=(3, 2, 0, 0))
    stack = stack_of(part, Part("b"), backpressure=backpressure)
    assert backpressure.room(1)
    assert await stack.drain(PATIENCE_SECONDS) is True
    assert part.asked == 4, "once more after nothing was left"
    assert not backpressure.room(1), "no more work is accepted"
    assert await stack_of(Part("a")).drain(PATIENCE_SECONDS) is True


async def test_work_that_is_not_processed_in_time_is_told() -> None:
    assert await stack_of(Part("a", left=(1,)), backpressure=Backpressure()).drain(0.05) is False


async def test_records_written_between_two_questions_are_waited_for() -> None:
    part, seen = Part("a"), list[int]()
    stack = stack_of(part)

    def progress(left: int) -> None:
        seen.append(left)
        if len(seen) < 3:
            part.batch_producer.produced["feedback.created"] += 1

    async with asyncio.timeout(PATIENCE_SECONDS):
        await stack.quiet(progress)
    assert seen == [0, 0, 0]
    stack.intake.produced["chat.message.ingested"] += 5
    assert stack.produced == Counter({"feedback.created": 2, "chat.message.ingested": 5})


async def test_the_results_of_work_together_are_in_order_and_a_failure_ends_the_rest() -> None:
    ended: list[str] = []

    async def done(value: int) -> int:
        return value

    async def endless() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("endless")
        return 0

    async def fails() -> int:
        raise ValueError("no database")

    assert await together(done(1), done(2)) == [1, 2]
    with pytest.raises(ValueError, match="no database"):
        await together(endless(), fails(), endless())
    assert ended == ["endless", "endless"]


# Child processes: how they are started and ended, and the error that their log tells.

COMPLAINT = re.compile("(?:FATAL|error):(.*)")


IGNORES = (
    "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it left no message"),
        ("FATAL: one \nerror: two \nmore\n", "two"),
        ("error: one\nNo space left on device: x\nerror: two", "No space left on device"),
        ("caf\xe9 error: one", "one"),
    ],
)
def test_the_reason_is_the_last_error_of_the_log(tmp_path: Path, text: str, reason: str) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(text.encode("latin-1"))
    assert last_complaint(log, COMPLAINT) == reason


def started(folder: Path, *command: str, account: Account | None = None) -> tuple[subprocess.Popen[bytes], Path]:
    out = folder / "out"
    with out.open("wb") as output:
        environment = {"ONLY": "this", "PATH": os.environ["PATH"]}
        return spawn(command, output=output, environment=environment, account=account, folder=folder), out


@pytest.mark.timeout(180)
async def test_a_child_has_its_own_session_folder_and_environment(tmp_path: Path) -> None:
    process, out = started(tmp_path, "/bin/sh", "-c", "pwd; cat; echo $ONLY; echo wrong >&2; exec sleep 600")
    assert os.getsid(process.pid) == process.pid, "Ctrl-C in our terminal must not reach it"
    while out.read_text().split() != [str(tmp_path), "this", "wrong"]:
        assert not await ended(process, 0)
    await end(process, [(signal.SIGKILL, 10)])
    assert await ended(process, 0)


@pytest.mark.timeout(180)
async def test_a_child_that_ignores_a_signal_gets_the_next_one(tmp_path: Path) -> None:
    process, out = started(tmp_path, sys.executable, "-S", "-c", IGNORES)
    while not out.read_text():
        assert not await ended(process, 0)
    await end(process, [(signal.SIGINT, 0.02)])
    assert process.poll() is None
    await end(process, [(signal.SIGINT, 0.02), (signal.SIGTERM, 10), (signal.SIGKILL, 10)])
    assert process.poll() == -signal.SIGTERM
    await end(process, [(signal.SIGKILL, 10)])
    assert process.poll() == -signal.SIGTERM, "it has ended already"


PARENT = """
import os, signal, sys
sys.path[:0] = sys.argv[2:]
from standalone.embedded.processes import spawn
with open(os.devnull, "wb") as output:
    child = spawn(["sleep", "600"], output=output, environment=os.environ, on_our_death=signal.SIGKILL)
print(child.pid, flush=True)
os._exit(0)
"""


@pytest.mark.timeout(180)
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_a_child_ends_with_its_parent() -> None:
    done = subprocess.run([sys.executable, "-c", PARENT, "", *sys.path], capture_output=True, text=True, check=True)
    status = Path(f"/proc/{int(done.stdout)}/stat")
    while True:
        try:
            if status.read_text().rpartition(")")[2].split()[0] == "Z":
                break
        except (FileNotFoundError, ProcessLookupError):
            break


# Modules that a command loads: one that needs no server or detector starts without their libraries.

SERVERS = {"aiokafka", "asyncpg", "confluent_kafka", "fastapi", "faststream", "pymongo", "uvicorn"}


DETECTOR = {"numpy", "onnxruntime", "re2", "tokenizers", "wordllama"}


CLIENTS = {"agent_feedback_kit", "contracts.base", "httpx", "structlog", "uvloop"}


LOADED = """
import json, sys
from standalone.__main__ import main
sys.argv = ["agent-feedback", *sys.argv[1:]]
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)))
"""


@pytest.mark.parametrize(
    ("arguments", "code", "needless"),
    [
        (["--help"], 0, SERVERS | DETECTOR | CLIENTS),
        (["up", "--replay", "no/such/file"], 2, SERVERS | DETECTOR | CLIENTS),
        (["topics", "--json"], 0, SERVERS | DETECTOR),
        (["erase", "--tenant", "acme", "--user", "ann", "--yes", "--state", "nowhere"], 3, SERVERS | DETECTOR),
        (["explain", "No, that is wrong.", "--sentence-encoder", "none"], 0, SERVERS),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_a_command_loads_only_its_own_libraries(
    arguments: list[str], code: int, needless: set[str], tmp_path: Path
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert ended.returncode == code, ended.stderr
    loaded = set(json.loads(ended.stdout.splitlines()[-1]))
    assert "typer" in loaded
    assert sorted(needless & loaded) == []
