"""Starts child processes that end with us, ends them, and reads what they complained of."""

import asyncio
import ctypes
import errno
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

_PR_SET_PDEATHSIG: Final = 1
_POLL_SECONDS: Final = 0.02
_DISK_FULL: Final = (os.strerror(errno.ENOSPC), "Check free disk space")


def say_nothing(_line: str) -> None:
    """Drop the line: the default of `say`."""


@dataclass(frozen=True, slots=True)
class Account:
    """A system user to run a child as, when we are root and it must not be."""

    name: str
    uid: int
    gid: int


def spawn(
    command: Sequence[str | Path],
    *,
    output: IO[bytes],
    environment: Mapping[str, str],
    account: Account | None = None,
    folder: Path = Path("/"),
    on_our_death: signal.Signals = signal.SIGTERM,
) -> subprocess.Popen[bytes]:
    """Start a child that gets `on_our_death` when this process dies, however it dies (Linux only).

    It runs in a session of its own, so that Ctrl-C in the terminal reaches us and not the child, and in `folder`:
    another user may not enter the one we are in. `output` gets what it prints.

    Raises:
        RuntimeError: called from another thread than the main one; the kernel would send `on_our_death` when that
            thread ends.
        OSError: the program cannot be run.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("An embedded server can only be started from the main thread.")
    return subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env=dict(environment),
        cwd=folder,
        start_new_session=True,
        # Python changes the user first and calls this after: the kernel forgets the signal at a change of user.
        preexec_fn=_die_with(os.getpid(), on_our_death),
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
    )


def _die_with(parent: int, death_signal: signal.Signals) -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl

    def after_fork() -> None:
        prctl(_PR_SET_PDEATHSIG, int(death_signal))
        if os.getppid() != parent:  # we died before the line above took effect
            os._exit(1)

    return after_fork


async def ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait until a child has ended, `seconds` at most; say whether it has."""
    deadline = time.monotonic() + seconds
    while process.poll() is None:
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True


async def end(process: subprocess.Popen[bytes], steps: Sequence[tuple[signal.Signals, float]]) -> None:
    """End a child: send each signal in turn and give it its seconds, until the child has ended."""
    for next_signal, seconds in steps:
        if process.poll() is not None:
            return
        process.send_signal(next_signal)
        if await ended(process, seconds):
            return


def last_complaint(log: Path, complaint: re.Pattern[str]) -> str:
    """The last line of a log that `complaint` finds, as its first group; the log's last line where none does.

    A full disk goes before all others, in the system's words: what else is complained of follows from it.
    """
    text = log.read_text(errors="replace")
    if any(mark in text for mark in _DISK_FULL):
        return _DISK_FULL[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in reversed(lines):
        if found := complaint.search(line):
            return found[1].strip()
    return lines[-1] if lines else "it left no message"
