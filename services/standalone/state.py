"""State folder of a run. Its lock allows one run at a time, and the next run continues with its files."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from servicekit.errors import StartError
from standalone.embedded.processes import FileLock

DEFAULT_STATE = Path(".agent-feedback")


_MODE = 0o711 if os.geteuid() == 0 else 0o700
"""Permissions of the folder.

If root starts PostgreSQL, the server runs as another user, who must be able to enter the folder.
"""


class StateFolder:
    """Context manager that holds an exclusive lock on a state folder.

    Raises:
        StartError: Another run holds the lock.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._lock = FileLock(self.path / "lock")

    def __enter__(self) -> Self:
        with self.writing():
            fresh = not self.path.exists()
            self.path.mkdir(parents=True, exist_ok=True)
            if fresh:
                self.path.chmod(_MODE)
            is_locked = self._lock.take()
        if not is_locked:
            raise StartError(
                f"The state folder {self.path} is in use by another run (process {self._lock.holder()}): "
                "stop that one, or choose another folder with --state."
            )
        return self

    def __exit__(self, *_: object) -> None:
        (self.path / "run.json").unlink(missing_ok=True)
        self._lock.give_back()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Raise StartError if the folder cannot be written in this context, for example because the disk is full."""
        try:
            yield
        except OSError as error:
            raise StartError(f"The state folder {self.path} cannot be used: {error.strerror}.") from None

    def token(self, chosen: str | None) -> str:
        """Return the access token: `chosen` if there is one, otherwise the stored token, which is created if missing.

        An empty file, which a full disk may leave behind, counts as missing.
        """
        file = self.path / "token"
        if chosen or (file.exists() and (chosen := file.read_text("utf-8", "replace").strip())):
            return chosen
        token = secrets.token_urlsafe(24)
        unfinished = self.path / "token.part"
        with self.writing():
            unfinished.unlink(missing_ok=True)
            descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as out:
                out.write(token)
            unfinished.replace(file)
        return token

    def announce(self, facts: dict[str, Any]) -> None:
        """Write the run's addresses and access token for other commands, to a file that only this user can read."""
        with self.writing():
            descriptor = os.open(self.path / "run.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w") as out:
                json.dump(facts, out)


def running(path: Path) -> dict[str, Any]:
    """Return the addresses and the access token of the run that uses this state folder.

    Raises:
        StartError: Nothing is running.
    """
    try:
        facts: dict[str, Any] = json.loads((path / "run.json").read_text())
    except (OSError, ValueError):
        raise StartError(f"Nothing runs on {path.absolute()}: start it with `agent-feedback up`.") from None
    return facts


def running_database(path: Path) -> str | None:
    """Return the database of the run that uses this state folder, or None if nothing is running."""
    return str(running(path)["database"]) if (path / "run.json").exists() else None
