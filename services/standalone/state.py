"""The state folder: one run at a time, and what a run leaves for the next."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from pathlib import Path
from typing import Any, Self

from servicekit.failures import StartError

DEFAULT_STATE = Path(".agent-feedback")


class StateFolder:
    """An exclusive hold on a folder. Use as a context manager. Raises StartError where another run holds it."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._lock: int | None = None

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StartError(f"The state folder {self.path} cannot be used: {error.strerror}.") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._lock, 20).decode("ascii", "replace").strip() or "unknown"
            os.close(self._lock)
            raise StartError(
                f"The state folder {self.path} is in use by another run (process {holder}): "
                "stop that one, or choose another folder with --state."
            ) from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        return self

    def __exit__(self, *_: object) -> None:
        (self.path / "run.json").unlink(missing_ok=True)
        if self._lock is not None:
            os.close(self._lock)

    def token(self, given: str | None) -> str:
        """The access token: the one given, else the one kept, else a fresh one, which is kept."""
        if given:
            return given
        file = self.path / "token"
        if file.exists():
            return file.read_text().strip()
        token = secrets.token_urlsafe(24)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as out:
            out.write(token)
        return token

    def announce(self, facts: dict[str, Any]) -> None:
        """Leave word of this run (address, broker) for other commands, readable by this user only."""
        descriptor = os.open(self.path / "run.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as out:
            json.dump(facts, out)


def running(path: Path) -> dict[str, Any]:
    """What the run on that state folder says of itself. Raises StartError where none is running."""
    try:
        facts: dict[str, Any] = json.loads((path / "run.json").read_text())
    except (OSError, ValueError):
        raise StartError(f"Nothing runs on {path.absolute()}: start it with `agent-feedback up`.") from None
    return facts
