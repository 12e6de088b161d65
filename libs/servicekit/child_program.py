"""Program of a child process, which `child_process.py` starts.

Reads JSON lines from standard input: first the settings, then a request for each call. Writes the response to each
request to standard output.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import uvloop

from servicekit.allocator import share_one_arena
from servicekit.clock import SystemClock
from servicekit.db.pools import open_pool
from servicekit.error_kinds import is_transient
from servicekit.logging import configure_logging, frames, logger

NICENESS: Final = 10
"""Niceness added to the parent's. On busy cores, the parent gets nine times the processor time of this process."""
_CONNECTIONS: Final = 3
log = logger("child process")


class _RequestClock(SystemClock):
    """Clock with the time of the last request, in microseconds."""

    time = 0

    def now(self) -> int:
        return self.time


def main() -> None:
    """Respond to requests until standard input is closed."""
    os.nice(NICENESS)
    share_one_arena()
    try:
        uvloop.run(_serve())
    except Exception as error:
        log.error("child_process_failed", error=type(error).__name__, where=frames(error))
        sys.exit(1)


async def _serve() -> None:
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    settings = json.loads(await lines.readline())
    configure_logging(settings["log_level"])
    requests: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    responding = asyncio.create_task(_respond(settings, requests))
    reading = asyncio.create_task(_read(lines, requests))
    await asyncio.wait({responding, reading}, return_when=asyncio.FIRST_COMPLETED)
    if responding.done():
        responding.result()
    # The parent has ended. A normal exit would wait for a thread that still computes.
    os._exit(0)


async def _read(lines: asyncio.StreamReader, requests: asyncio.Queue[dict[str, Any]]) -> None:
    """Pass on requests until standard input is closed."""
    while line := await lines.readline():
        requests.put_nowait(json.loads(line))


async def _respond(settings: dict[str, Any], requests: asyncio.Queue[dict[str, Any]]) -> None:
    """Call the function for each request, and write the result or the class of the error."""
    pool = await open_pool(
        settings["database_url"],
        settings["schema"],
        Path(settings["migrations"]),
        size=_CONNECTIONS,
        say=lambda text: log.info("waiting", what=text),
        plan="indexed",
    )
    clock = _RequestClock()
    module, _, name = settings["work"].partition(":")
    call = getattr(import_module(module), name)(pool, clock, **settings["options"])
    while True:
        request = await requests.get()
        clock.time = request["now"]
        try:
            response: dict[str, Any] = {"result": await call(**request["arguments"])}
        except Exception as error:
            log.warning("child_call_failed", work=settings["work"], error=type(error).__name__, where=frames(error))
            response = {"error": type(error).__name__, "is_transient": is_transient(error)}
        sys.stdout.write(json.dumps(response) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
