"""Position of an import, stored in a file next to the imported one. A killed import continues from it.

Losing the file is harmless, because importing rows again changes nothing.
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
    """Rows that an import has read, by outcome. `rejected` contains the first rejected lines with reasons.

    `sent` counts rows written to the log, by verdict. `skipped` counts rows that are deliberately not imported, by
    reason.
    """

    rows: int = 0
    sent: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    rejections: int = 0
    rejected: list[tuple[int, str]] = field(default_factory=list)

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """Build the progress from stored facts. Raises TypeError, KeyError or ValueError."""
        rejected = [(int(line), str(reason)) for line, reason in facts["rejected"]]
        return cls(**{**facts, "rejected": rejected})


class PositionFile:
    """File with the progress of an import of `source` with the given `settings`."""

    def __init__(self, source: Path, settings: str) -> None:
        self.path = source.with_name(f"{source.name}.position.json")
        about = source.stat()
        self._key = sha256(f"{about.st_size} {about.st_mtime_ns} {settings}".encode()).hexdigest()

    def read(self) -> ImportProgress | None:
        """Return an unfinished import's progress; None if none is unfinished, or the file or settings have changed."""
        try:
            found = json.loads(self.path.read_text("utf-8"))
            return ImportProgress.of(found["progress"]) if found["import"] == self._key else None
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def write(self, progress: ImportProgress) -> None:
        """Replace the file. Errors are ignored, for example if the folder is not writable."""
        part = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        try:
            part.write_text(json.dumps({"import": self._key, "progress": asdict(progress)}), "utf-8")
            part.replace(self.path)
        except OSError:
            part.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the file after the import is complete."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
