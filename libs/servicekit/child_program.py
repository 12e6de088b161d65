"""Program of a child process, which `child_process.py` starts.

Reads JSON lines from standard input: first the settings, then a request for each call. Writes the response to each
request to standard output.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TextIO

import uvloop

from servicekit.clock import SystemClock
from servicekit.db.pools import open_existing_pool
from servicekit.db.schema import schema_version
from servicekit.error_kinds import is_transient
from servicekit.errors import StartError
from servicekit.logging import configure_logging, frames, logger

NICENESS: Final = 10
"""Niceness added to the parent's. On busy cores, the parent gets nine times the processor time of this process."""
_OOM_SCORE: Final = "500"
"""Added to the process's score if memory runs out, so that the kernel ends this process rather than its parent."""
_CONNECTIONS: Final = 3
_ROLLBACK_SECONDS: Final = 1.0
"""Maximum time for the cancellation of a call at the end, in seconds."""
log = logger("child process")


class _RequestClock(SystemClock):
    """Clock with the time of the last request, in microseconds."""

    time = 0

    def now(self) -> int:
        return self.time


def main() -> None:
    """Respond to requests until standard input is closed."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # a service manager sends them to all processes; the parent ends this one
    os.nice(NICENESS)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)
    responses = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is not a response
    try:
        uvloop.run(_serve(responses))
    except Exception as error:
        log.error("child_process_failed", error=type(error).__name__, where=frames(error), **_sentence_of(error))
        sys.exit(1)


async def _serve(responses: TextIO) -> None:
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    settings = json.loads(await lines.readline())
    configure_logging(settings["log_level"])
    requests: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    responding = asyncio.create_task(_respond(settings, requests, responses))
    reading = asyncio.create_task(_read(lines, requests))
    await asyncio.wait({responding, reading}, return_when=asyncio.FIRST_COMPLETED)
    if responding.done():
        responding.result()
    responding.cancel()
    await asyncio.wait({responding}, timeout=_ROLLBACK_SECONDS)
    # A normal exit would wait for a thread that still computes.
    os._exit(0)


async def _read(lines: asyncio.StreamReader, requests: asyncio.Queue[dict[str, Any]]) -> None:
    """Pass on requests until standard input is closed."""
    while line := await lines.readline():
        requests.put_nowait(json.loads(line))


async def _respond(settings: dict[str, Any], requests: asyncio.Queue[dict[str, Any]], responses: TextIO) -> None:
    """Call the function for each request, and write the result or the error.

    Raises StartError if this program and its parent are of different releases.
    """
    if schema_version(import_module(f"{settings['schema']}.sql").SQL.schema) != settings["schema_version"]:
        raise StartError("Another release was installed while the service was running; restart the service.")
    pool = await open_existing_pool(settings["database_url"], settings["schema"], size=_CONNECTIONS)
    clock = _RequestClock()
    module, _, name = settings["work"].partition(":")
    call = getattr(import_module(module), name)(pool, clock, **settings["options"])
    while True:
        request = await requests.get()
        clock.time = request["now"]
        try:
            response: dict[str, Any] = {"result": await call(**request["arguments"])}
        except Exception as error:
            facts = {"error": type(error).__name__, **_sentence_of(error)}
            log.warning("child_call_failed", work=settings["work"], where=frames(error), **facts)
            response = {**facts, "is_transient": is_transient(error)}
        responses.write(json.dumps(response) + "\n")
        responses.flush()


def _sentence_of(error: Exception) -> dict[str, str]:
    """Return the sentence of an error that tells an operator what to do. Other messages may contain user text."""
    return {"why": str(error)} if isinstance(error, StartError) else {}


if __name__ == "__main__":
    main()
