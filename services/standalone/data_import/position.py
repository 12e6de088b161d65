"""Progress of an import, stored in a file next to the imported one.

An import that was killed continues from the stored position. Losing the file does no harm, because importing a row
again changes nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Self


@dataclass
class ImportProgress:
    """Number of rows that an import has read, by outcome.

    Attributes:
        rows: Number of rows read.
        sent: Number of rows written to the log, by verdict.
        skipped: Number of rows left out on purpose, by reason.
        values: Number of rows by verdict and value; rows whose value has no verdict are under `missing`.
        repeated: Number of imported rows that judge an answer which another row judges for the same person.
        rejections: Number of rejected rows.
        rejected: Line numbers and reasons of the first rejected rows.
    """

    rows: int = 0
    sent: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    values: dict[str, dict[str, int]] = field(default_factory=dict)
    repeated: int = 0
    rejections: int = 0
    rejected: list[tuple[int, str]] = field(default_factory=list)

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """Build the progress from its stored JSON.

        Raises:
            TypeError, KeyError, ValueError: The JSON is malformed.
        """
        rejected = [(int(line), str(reason)) for line, reason in facts["rejected"]]
        return cls(**{**facts, "rejected": rejected})


class PositionFile:
    """File with the progress of importing `source`.

    A stored progress is used only if neither the source file nor `settings` has changed since.
    """

    def __init__(self, source: Path, settings: str) -> None:
        self.path = source.with_name(f"{source.name}.position.json")
        about = source.stat()
        self._key = sha256(f"{about.st_size} {about.st_mtime_ns} {settings}".encode()).hexdigest()

    def read(self) -> ImportProgress | None:
        """Return the progress of an unfinished import.

        Returns None if there is none, or if the imported file or the settings have changed since.
        """
        try:
            found = json.loads(self.path.read_text("utf-8"))
            return ImportProgress.of(found["progress"]) if found["import"] == self._key else None
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def write(self, progress: ImportProgress) -> None:
        """Write the progress, ignoring errors such as a folder that is not writable."""
        part = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        try:
            part.write_text(json.dumps({"import": self._key, "progress": asdict(progress)}), "utf-8")
            part.replace(self.path)
        except OSError:
            part.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the file once the import is complete."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
