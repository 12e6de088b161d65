"""Lock file that only one process can hold, and that the kernel releases when the process dies."""

import fcntl
import os
from pathlib import Path
from typing import IO


class FileLock:
    """Lock on a file that contains the process id of the holder."""

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
