"""Command `agent-feedback` as a fork of a process that has imported its libraries, which take most of a short run.

Each run is a process of its own with its own arguments, environment, folder, standard streams, signals and end, as if a
user had started it (`warm_stub.py`). Only its imports come for free: runs of COMMAND and
tests/unit/standalone/test_stack.py test these.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NoReturn

_ROOT: Final = Path(__file__).parents[2]
_STUB: Final = Path(__file__).with_name("warm_stub.py")
_MODULES: Final = (
    "asyncpg",
    "confluent_kafka",
    "httpx",
    "numpy",
    "standalone.cli.app",
    "standalone.one_process.up",
    "wordllama",
)


@lru_cache
def warm_command() -> tuple[str, ...]:
    """Return the words that begin a command line, as `(COMMAND,)` does. The first call starts the server."""
    folder = tempfile.TemporaryDirectory()
    path = f"{folder.name}/socket"
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen()
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, str(listening.fileno())],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        pass_fds=[listening.fileno()],
    )
    listening.close()
    atexit.register(folder.cleanup)
    atexit.register(process.communicate)  # closes its input, at which it ends
    return (sys.executable, "-I", "-S", str(_STUB), path)


def main() -> None:
    listening = socket.socket(fileno=int(sys.argv[1]))
    for module in _MODULES:
        importlib.import_module(module)
    gc.freeze()
    events = selectors.DefaultSelector()
    events.register(sys.stdin, selectors.EVENT_READ)
    events.register(listening, selectors.EVENT_READ)
    while True:
        for key, _ in events.select():
            if key.fileobj is sys.stdin:
                return
            if key.fileobj is listening:
                stub, _ = listening.accept()
                _run(stub, events)
            elif key.data is not None:
                _end(key, events)


def _run(stub: socket.socket, events: selectors.BaseSelector) -> None:
    """Fork, run the requested command in the fork, and watch both ends."""
    try:
        header, streams, _, _ = socket.recv_fds(stub, 4, 3)
        with stub.makefile("rb") as sent:
            request = json.loads(sent.read(int.from_bytes(header, "big")))
    except (OSError, ValueError):  # the stub was killed before it had sent its request
        stub.close()
        return
    fork = os.fork()
    if fork == 0:
        _become(request, streams, [key.fd for key in events.get_map().values()] + [stub.fileno()])
    for stream in streams:
        os.close(stream)
    with contextlib.suppress(OSError):  # the stub was killed meanwhile: it is readable, so its fork is killed, too
        stub.sendall(b"%d\n" % fork)
    ended = os.pidfd_open(fork)
    events.register(ended, selectors.EVENT_READ, (fork, ended, stub))
    events.register(stub, selectors.EVENT_READ, (fork, ended, stub))


def _end(key: selectors.SelectorKey, events: selectors.BaseSelector) -> None:
    """Tell the stub how its fork ended. If the stub was killed, kill the fork."""
    fork, ended, stub = key.data
    if stub.fileno() < 0:  # both ends were ready at once, and this one is closed already
        return
    if key.fileobj is stub:
        with contextlib.suppress(ProcessLookupError):  # before the fork has a group of its own
            os.killpg(fork, signal.SIGKILL)
        os.kill(fork, signal.SIGKILL)
    _, status = os.waitpid(fork, 0)
    for watched in (ended, stub):
        events.unregister(watched)
    with contextlib.suppress(OSError):
        stub.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    os.close(ended)
    stub.close()


def _become(request: Any, streams: list[int], inherited: list[int]) -> NoReturn:
    """Run the command in this fork, and end like it."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for descriptor in {*streams, *inherited} - {0, 1, 2}:
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = ["agent-feedback", *request["arguments"]]
    from standalone.__main__ import main as command

    command()
    raise SystemExit


if __name__ == "__main__":
    main()
