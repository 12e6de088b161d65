"""Child process with low priority, for work that would delay the consumers and routes of a service.

All threads of a Python process share one interpreter lock, so a computation in a thread delays the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from servicekit.clock import Clock
from servicekit.db.schema import schema_version
from servicekit.errors import StartError, Unavailable

IDLE_SECONDS: Final = 300.0
"""Time without calls, in seconds, after which the child process ends, which frees its memory.

With three seconds of processor time for a start, starts cost at most 1 % of a core.
"""
RETRY_SECONDS: Final = 10.0
"""Delay before a start after the child process has died, in seconds. It doubles with each death until a call succeeds,
up to IDLE_SECONDS."""
DEADLINE_SECONDS: Final = 1800.0
"""Maximum time of a call, in seconds. Then the child process counts as hung and is replaced."""
_END_SECONDS: Final = 2.0
"""Time that the child process has to end by itself, in seconds. It rolls back its transaction meanwhile."""


class ChildFailed(Exception):
    """Raised if a call failed, or the child process died or hung.

    The message is an error class, an exit code or the exceeded deadline.
    """


class ChildTimes(NamedTuple):
    """Times of a child process in seconds: see IDLE_SECONDS, RETRY_SECONDS and DEADLINE_SECONDS."""

    idle: float = IDLE_SECONDS
    retry: float = RETRY_SECONDS
    deadline: float = DEADLINE_SECONDS


TIMES: Final = ChildTimes()


class ChildProcess:
    """Child process that calls a function. Call `close` at the end.

    The child process is started by the first call, and ends after IDLE_SECONDS without calls. It also ends when this
    process ends, even by SIGKILL.

    Args:
        work: Function in the child process, as "module:name". Its parameters are a connection pool, a clock and
            `options`; it returns the asynchronous function to call, whose result is a number.
        clock: The child process uses the time of this clock.
        database_url: URL of the service's database.
        schema: Schema of the service, whose tables exist already.
        sql: SQL that creates the schema. The child process ends if it is of another release, with other SQL.
        options: Further parameters of `work`, as JSON values.
    """

    def __init__(
        self,
        work: str,
        clock: Clock,
        database_url: str,
        schema: str,
        sql: str,
        options: Mapping[str, Any],
        times: ChildTimes = TIMES,
    ) -> None:
        self._clock = clock
        self._settings = {
            "work": work,
            "database_url": database_url,
            "schema": schema,
            "schema_version": schema_version(sql),
            "options": dict(options),
        }
        self._times = times
        self._process: asyncio.subprocess.Process | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._deaths = 0
        """Number of deaths since the last successful call."""
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        """Id of the child process, or None if it is not running."""
        return None if self._process is None else self._process.pid

    async def run(self, **arguments: object) -> int:
        """Call the function in the child process and return its result. Only one call may run at a time.

        Raises:
            ChildFailed: If the function raised another error, or the child process died or exceeded the deadline.
            StartError: If the function raised one.
            Unavailable: If the function raised a transient error.
        """
        if self._timer is not None:
            self._timer.cancel()
        try:
            response = await self._ask({"now": self._clock.now(), "arguments": arguments})
            outcome = _outcome(response)
        except BaseException:
            # Otherwise the next call would read the response to this one.
            self._end()
            raise
        self._deaths = 0
        self._timer = asyncio.get_running_loop().call_later(self._times.idle, self._end)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def close(self) -> None:
        """End the child process, even during a call."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._end()
        await asyncio.gather(*self._ending)

    async def _ask(self, request: Mapping[str, object]) -> dict[str, Any]:
        """Send a request to the child process, starting it if necessary, and return its response."""
        process = self._process
        if process is None or process.returncode is not None:
            process = await self._start()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(_line(request))
            async with asyncio.timeout(self._times.deadline):
                line = await process.stdout.readline()
        except TimeoutError:
            self._deaths += 1
            raise ChildFailed(f"no response within {self._times.deadline:g} s") from None
        except (OSError, RuntimeError):  # uvloop raises a RuntimeError if the child has closed the pipe
            line = b""
        if not line:
            self._deaths += 1
            raise ChildFailed(f"exit code {await process.wait()}")
        response: dict[str, Any] = json.loads(line)
        return response

    async def _start(self) -> asyncio.subprocess.Process:
        if self._deaths:
            await asyncio.sleep(retry_delay(self._deaths, self._times.retry))
        if self._is_closed:
            raise ChildFailed("closed")
        process = self._process = await asyncio.create_subprocess_exec(
            # Without -P, modules in the working directory would replace ours.
            *(sys.executable, "-P", "-m", "servicekit.child_program"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            preexec_fn=os.setpgrp,  # Ctrl-C in a terminal must not end it before this process
        )
        if self._is_closed:
            raise ChildFailed("closed")
        assert process.stdin is not None
        process.stdin.write(_line({**self._settings, "log_level": logging.getLevelName(logging.getLogger().level)}))
        return process

    def _end(self) -> None:
        """Begin to end the child process."""
        if self._process is not None:
            task = asyncio.get_running_loop().create_task(_ended(self._process))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            self._process = None


def _outcome(response: Mapping[str, Any]) -> int | Exception:
    """Return the result in a response, or the error to raise. Raises ChildFailed if the response has another form."""
    match response:
        case {"result": int(result)}:
            return result
        case {"why": str(why)}:
            return StartError(why)
        case {"error": str(error), "is_transient": True}:
            return Unavailable("a dependency of the child process", error)
        case {"error": str(error)}:
            return ChildFailed(error)
    raise ChildFailed("a response of another form")


def retry_delay(deaths: int, retry_seconds: float = RETRY_SECONDS) -> float:
    """Return the delay before the next start after one or more deaths, in seconds."""
    return min(IDLE_SECONDS, retry_seconds * 2.0 ** min(deaths - 1, 10))


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Close the standard input of a child process, and kill the process if it does not end."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _END_SECONDS)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _line(message: Mapping[str, object]) -> bytes:
    return json.dumps(message).encode() + b"\n"
