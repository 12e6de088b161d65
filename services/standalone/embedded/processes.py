"""Child processes and file locks that end together with this process, however it ends.

Contains functions to start and end child processes, and to find the error messages in their logs.
"""

import asyncio
import ctypes
import errno
import fcntl
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


@dataclass(frozen=True, slots=True)
class Account:
    """System user for a child process that must not run as root."""

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
    """Start a child process, which on Linux receives a signal when this process dies for any reason.

    The child runs in its own session, so that Ctrl-C in the terminal does not reach it.

    Args:
        output: File for the child's stdout and stderr.
        account: User that runs the child, or None for the current user.
        folder: Working directory of the child. Another user may not have access to ours.
        on_our_death: Signal to send to the child when this process dies.

    Raises:
        RuntimeError: The caller is not in the main thread. The kernel would send `on_our_death` when that thread ends.
        OSError: The program cannot be run.
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
        # Python changes the user before it calls this. Changing the user afterwards would reset the signal.
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
        if os.getppid() != parent:  # the parent died before prctl took effect
            os._exit(1)

    return after_fork


async def ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait up to `seconds` for a child to end, and return True if it has."""
    deadline = time.monotonic() + seconds
    while process.poll() is None:
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True


async def end(process: subprocess.Popen[bytes], steps: Sequence[tuple[signal.Signals, float]]) -> None:
    """Send the signals in turn until the child exits, waiting after each for the given number of seconds."""
    for next_signal, seconds in steps:
        if process.poll() is not None:
            return
        process.send_signal(next_signal)
        if await ended(process, seconds):
            return


def last_complaint(log: Path, complaint: re.Pattern[str]) -> str:
    """Return the last error message in a log.

    This is the first group of the last match of `complaint`, or the last line of the log if nothing matches. An error
    about a full disk takes precedence, because it causes other errors.
    """
    text = log.read_text(errors="replace")
    if any(mark in text for mark in _DISK_FULL):
        return _DISK_FULL[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in reversed(lines):
        if match := complaint.search(line):
            return match[1].strip()
    return lines[-1] if lines else "it left no message"


class FileLock:
    """Lock on a file that contains the process id of the holder. The kernel releases it when that process dies."""

    def __init__(self, file: Path) -> None:
        self._path = file
        self._file: IO[bytes] | None = None

    def take(self) -> bool:
        """Try to acquire the lock, and return True if this object now holds it.

        Raises:
            OSError: The file cannot be created.
        """
        if self._file is not None:
            return True
        file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self._file = file
        file.truncate(0)
        file.write(f"{os.getpid()}\n".encode())
        file.flush()
        return True

    def holder(self) -> str:
        """Return the process id of the last holder, or "unknown"."""
        with self._path.open("rb") as file:
            return file.read(20).decode("ascii", "replace").strip() or "unknown"

    def give_back(self) -> None:
        """Release the lock if this object holds it."""
        if self._file is not None:
            self._file.close()
            self._file = None
