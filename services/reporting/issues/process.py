"""Child process with low priority that keeps issues up to date: `run_process` starts it, and `main` is its program.

All threads of a Python process share one interpreter lock, so in a thread the job would delay the consumers and routes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import structlog
import uvloop

from detector.encoders import EncoderChoice
from reporting.issues.job import IssueJob, issue_encoder
from reporting.sql import SQL
from servicekit.clock import SystemClock
from servicekit.db.pools import open_pool
from servicekit.errors import StartError
from servicekit.logging import configure_logging, frames

LIFE_SECONDS: Final = 300.0
"""Time in seconds after which the process ends, which frees its memory.

A start that groups turns takes two seconds of processor time, so starts cost at most 0.7 % of a core.
"""
PAUSE_SECONDS: Final = 10.0
"""Time between two runs of the job in the process, in seconds."""
RETRY_SECONDS: Final = 60.0
"""Delay after a process that failed, in seconds."""
DEADLINE_SECONDS: Final = 1800.0
"""Time in seconds after which the process counts as hung and is killed."""
NICENESS: Final = 10
"""Niceness added to the parent's, and that of this process's session. On busy cores, the parent gets nine times the
processor time of this process."""
_OOM_SCORE: Final = "500"
"""Value added to the process's OOM score, so that the kernel kills this process rather than its parent."""
_ROLLBACK_SECONDS: Final = 1.0
"""Maximum time for the rollback after the parent has ended or stopped this process, in seconds."""
log = structlog.get_logger(part="issue process")


class IssueProcessFailed(Exception):
    """Raised if the process failed. The message is its exit code; the process has logged the error."""


async def run_process(
    database_url: str,
    encoder: EncoderChoice,
    life: float = LIFE_SECONDS,
    retry: float = RETRY_SECONDS,
    deadline: float = DEADLINE_SECONDS,
) -> None:
    """Keep issues up to date in a child process, which ends after `life` seconds.

    It also ends, without its unfinished work, if this call is cancelled or if this process ends, even by SIGKILL.

    Raises:
        IssueProcessFailed: `retry` seconds after the process has failed.
        TimeoutError: If the process has hung and was killed.
    """
    process = await asyncio.create_subprocess_exec(
        # Without -P, modules in the working directory would replace ours. In a session of its own, it gets no Ctrl-C.
        *(sys.executable, "-P", "-m", __name__),
        stdin=asyncio.subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},  # waiting threads would spin
    )
    assert process.stdin is not None
    level = logging.getLevelName(logging.getLogger().level)
    try:
        process.stdin.write(json.dumps([level, database_url, encoder, life]).encode() + b"\n")
        async with asyncio.timeout(deadline):
            code = await process.wait()
    except TimeoutError:
        process.kill()
        raise
    finally:
        process.stdin.close()
    if code:
        await asyncio.sleep(retry)
        raise IssueProcessFailed(f"exit code {code}")


async def work(database_url: str, encoder: EncoderChoice, life: float, pause: float = PAUSE_SECONDS) -> None:
    """Run the job repeatedly for `life` seconds, with `pause` seconds between two runs.

    Raises StartError if the tables are those of another release, which was installed while the service was running.
    """
    end = time.monotonic() + life
    async with await open_pool(database_url, "reporting", SQL.schema, size=1) as pool:
        job = IssueJob(pool, SystemClock(), partial(issue_encoder, encoder))
        await job.catch_up()
        while time.monotonic() < end:
            await asyncio.sleep(pause)
            await job.catch_up()


def main() -> None:
    """Run the job until its time is over or the parent closes standard input."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a service manager sends it to all processes; the parent ends this
    os.nice(NICENESS)
    with suppress(OSError):
        # Outside a control group, Linux shares the cores between sessions first, and niceness counts only within one.
        Path("/proc/self/autogroup").write_text(str(NICENESS))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)
    level, *options = json.loads(sys.stdin.readline())
    configure_logging(level)
    try:
        uvloop.run(_until_the_parent_ends(*options))
    except asyncio.CancelledError:
        return
    except Exception as error:
        # Other messages may contain user text.
        why = {"why": str(error)} if isinstance(error, StartError) else {}
        log.error("issue_process_failed", error=type(error).__name__, where=frames(error), **why)
        sys.exit(1)


async def _until_the_parent_ends(database_url: str, encoder: EncoderChoice, life: float) -> None:
    loop, working = asyncio.get_running_loop(), asyncio.current_task()
    assert working is not None

    def wait_for_the_parent() -> None:
        while os.read(0, 1):
            pass
        loop.call_soon_threadsafe(working.cancel)
        time.sleep(_ROLLBACK_SECONDS)
        os._exit(0)  # a normal exit would wait for a thread that still computes

    threading.Thread(target=wait_for_the_parent, daemon=True).start()
    await work(database_url, encoder, life)


if __name__ == "__main__":
    main()
