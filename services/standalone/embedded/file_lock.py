"""A lock file that one process holds at a time, freed by the kernel when that process dies."""

import fcntl
import os
from pathlib import Path
from typing import IO


class FileLock:
    """The lock on one file, whose text is the process id of who holds it."""

    def __init__(self, file: Path) -> None:
        self._path = file
        self._file: IO[bytes] | None = None

    def take(self) -> bool:
        """Take the lock, also where this object has it already; False when another holds it.

        Raises:
            OSError: the file cannot be made.
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
        """The process id of who took it last, or "unknown"."""
        with self._path.open("rb") as file:
            return file.read(20).decode("ascii", "replace").strip() or "unknown"

    def give_back(self) -> None:
        """Free the lock; does nothing when this object does not hold it."""
        if self._file is not None:
            self._file.close()
            self._file = None


def lock_beside(directory: Path) -> FileLock:
    """The lock on a directory that is another program's: the file lies beside it."""
    return FileLock(directory.with_name(f"{directory.name}.lock"))
