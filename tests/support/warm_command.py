"""Runs of the command line in forks of a process that has imported its libraries, which take most of a short run.

Each run is a process of its own with its own environment, signals and end, as if a user had started it. Only its
imports come for free: tests/unit/standalone/test_loaded_modules.py and runs of COMMAND test these.

`python -m tests.support.warm_command` reads one JSON request per line, `{"arguments": [...], "environment": {...},
"seconds": n}`, and answers each with `{"code": exit code or null, "out": text, "err": text}`; null means that the run
took longer than `seconds`.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn

from tests.support.command import COMMAND, HANG_SECONDS, Ended

_ROOT = Path(__file__).parents[2]
_MODULES = ("asyncpg", "confluent_kafka", "httpx", "numpy", "standalone.cli.app", "standalone.one_process.stack")
_one_at_a_time = Lock()


async def agent_feedback_warm(*arguments: str | Path, within: float = HANG_SECONDS, **environment: str) -> Ended:
    """Run the command like `agent_feedback`, one at a time per process."""
    request = {"arguments": [*map(str, arguments)], "environment": {**os.environ, **environment}, "seconds": within}
    answer = await asyncio.to_thread(_answer, json.dumps(request))
    if answer["code"] is None:
        raise AssertionError(f"did not end within {within} s: {answer['err'][-2000:]}")
    return Ended(answer["code"], answer["out"], answer["err"])


def _answer(request: str) -> Any:
    with _one_at_a_time:
        process = _started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(request + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())


@lru_cache
def _started() -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", __name__], cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(process.communicate)  # closes its input, at which it ends
    return process


def main() -> None:
    for module in _MODULES:
        importlib.import_module(module)
    gc.freeze()
    for line in sys.stdin:
        request = json.loads(line)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = _forked(request, out.fileno(), err.fileno())
            texts = [(file.seek(0), file.read().decode())[1] for file in (out, err)]
        print(json.dumps({"code": code, "out": texts[0], "err": texts[1]}), flush=True)


def _forked(request: Any, out: int, err: int) -> int | None:
    child = os.fork()
    if child == 0:
        _become(request, out, err)
    ended, _, _ = select.select([waiting := os.pidfd_open(child)], [], [], request["seconds"])
    os.close(waiting)
    if not ended:
        with contextlib.suppress(ProcessLookupError):  # before the child has a group of its own
            os.killpg(child, signal.SIGKILL)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if ended else None


def _become(request: Any, out: int, err: int) -> NoReturn:
    """Run the command in this fork, and end like it."""
    os.setsid()
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = [str(COMMAND), *request["arguments"]]
    from standalone.__main__ import main as command

    command()
    raise SystemExit


if __name__ == "__main__":
    main()
