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
from pathlib import Path
from typing import Any, Final

from servicekit.clock import Clock
from servicekit.errors import Unavailable

IDLE_SECONDS: Final = 300.0
"""Time without requests, in seconds, after which the child process ends, which frees its memory.

With three seconds of processor time for a start, starts cost at most 1 % of a core.
"""


class ChildFailed(Exception):
    """Raised if a request failed or the child process died. The message is an error class or an exit code."""


class ChildProcess:
    """Child process that calls a function for each request. Call `close` at the end.

    The child process is started by the first request, and ends after IDLE_SECONDS without requests. It also ends when
    this process ends, even by SIGKILL.

    Args:
        work: Function to call, as "module:name". Its parameters are a connection pool, a clock and `options`; it
            returns an asynchronous function, which is called with the arguments of each request and returns a number.
        clock: The child process uses the time of this clock.
        database_url: URL of the service's database.
        schema: Schema of the service.
        migrations: Folder with the schema's migrations.
        options: Further parameters of `work`, as JSON values.
    """

    def __init__(
        self,
        work: str,
        clock: Clock,
        database_url: str,
        schema: str,
        migrations: Path,
        options: Mapping[str, Any],
        *,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._clock = clock
        self._settings = {
            "work": work,
            "database_url": database_url,
            "schema": schema,
            "migrations": str(migrations),
            "options": dict(options),
        }
        self._idle_seconds = idle_seconds
        self._process: asyncio.subprocess.Process | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        """Id of the child process, or None if it is not running."""
        return None if self._process is None else self._process.pid

    async def run(self, **arguments: object) -> int:
        """Call the function in the child process and return its result. Only one call may run at a time.

        Raises:
            ChildFailed: If the function raised an error, or the child process died.
            Unavailable: If the function raised a transient error.
        """
        if self._timer is not None:
            self._timer.cancel()
        try:
            response = await self._ask({"now": self._clock.now(), "arguments": arguments})
        except BaseException:
            # Otherwise the next call would read the response to this one.
            self._kill()
            raise
        self._timer = asyncio.get_running_loop().call_later(self._idle_seconds, self._kill)
        match response:
            case {"result": int(result)}:
                return result
            case {"is_transient": True}:
                raise Unavailable("a dependency of the child process", response["error"])
            case _:
                raise ChildFailed(response["error"])

    async def close(self) -> None:
        """End the child process, even during a call."""
        if self._timer is not None:
            self._timer.cancel()
        process = self._process
        self._kill()
        if process is not None:
            await process.wait()

    async def _ask(self, request: Mapping[str, object]) -> dict[str, Any]:
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
        raise ChildFailed(f"exit code {await process.wait()}")

    def _kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            self._process = None


async def _started() -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "servicekit.child_program"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        preexec_fn=os.setpgrp,  # Ctrl-C in a terminal must not end it before this process
    )


def _send(process: asyncio.subprocess.Process, request: Mapping[str, object]) -> None:
    """Write a request. If the process has died, reading its response fails."""
    assert process.stdin is not None
    process.stdin.write(json.dumps(request).encode() + b"\n")
