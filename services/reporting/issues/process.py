"""Runner of the issue job in a child process with low priority.

In the service's own process, encoding and grouping would delay the consumers and the HTTP API by tenths of a second,
because all threads of a process share one interpreter.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
from functools import partial
from typing import Any, Final

import asyncpg

from reporting.issues.job import IssueJob, issue_encoder
from servicekit import Clock, Unavailable

IDLE_SECONDS: Final = 300.0
"""Time without work, in seconds, after which the child process ends and frees the memory of the encoder.

A start takes three seconds of processor time, so starts cost at most 1 % of a core.
"""


class IssueProcessError(Exception):
    """Raised if the issue job failed or its process died. The message is an error class or an exit code."""


class IssueProcess:
    """Runner of the issue job in a child process. Call `catch_up` repeatedly, and `close` at the end.

    The child process is started when there is work, and ends after IDLE_SECONDS without work. It also ends when this
    process ends, even by SIGKILL.

    Args:
        pool: Pool of the service, for the work that needs no encoder.
        clock: Clock of the job. The child process uses its time too.
        database_url: URL of the service's database.
        sentence_encoder: The setting REPORTING_SENTENCE_ENCODER.
    """

    def __init__(self, pool: asyncpg.Pool, clock: Clock, database_url: str, sentence_encoder: str) -> None:
        self._job = IssueJob(pool, clock, partial(issue_encoder, sentence_encoder))
        self._clock = clock
        self._settings = {"database_url": database_url, "sentence_encoder": sentence_encoder}
        self._process: asyncio.subprocess.Process | None = None
        self._worked_at = 0.0

    @property
    def pid(self) -> int | None:
        """Id of the child process, or None if it is not running."""
        return None if self._process is None else self._process.pid

    async def catch_up(self) -> int:
        """Do the issue job's work, in the child process unless it needs no encoder.

        Returns:
            The number of changed turns (see `IssueJob.catch_up`).

        Raises:
            IssueProcessError: If the job failed in the child process, or the child process died.
            Unavailable: If the job failed because the database did not respond.
        """
        now = self._clock.monotonic()
        if await self._job.tidy():
            self._worked_at = now
            return await self._run(is_locked=False)
        if now - self._worked_at >= IDLE_SECONDS:
            await self.close()
        return 0

    async def work(self) -> int:
        """Do the work of `catch_up` in the child process. The caller must hold the issue lock.

        Raises the same errors as `catch_up`.
        """
        return await self._run(is_locked=True)

    async def close(self) -> None:
        """End the child process. A run that is interrupted changes nothing or is completed by a later run."""
        process = self._process
        self._kill()
        if process is not None:
            await process.wait()

    async def _run(self, *, is_locked: bool) -> int:
        try:
            response = await self._ask({"now": self._clock.now(), "is_locked": is_locked})
        except BaseException:
            # Otherwise the next request would read the response to this one.
            self._kill()
            raise
        match response:
            case {"changed": int(changed)}:
                return changed
            case {"is_transient": True}:
                raise Unavailable("the database")
            case _:
                raise IssueProcessError(response["error"])

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request to the child process, starting it if necessary, and return its response."""
        process = self._process
        if process is None:
            process = self._process = await _started()
            _send(process, {**self._settings, "log_level": logging.getLevelName(logging.getLogger().level)})
        _send(process, request)
        assert process.stdout is not None
        if line := await process.stdout.readline():
            response: dict[str, Any] = json.loads(line)
            return response
        raise IssueProcessError(f"exit code {await process.wait()}")

    def _kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            self._process = None


async def _started() -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "reporting.issues"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        preexec_fn=os.setpgrp,  # Ctrl-C in a terminal must not end it before this process
    )


def _send(process: asyncio.subprocess.Process, request: dict[str, Any]) -> None:
    """Write a request. If the process has died, reading its response fails."""
    assert process.stdin is not None
    process.stdin.write(json.dumps(request).encode() + b"\n")
