"""Records to publish, and the ledger of acknowledged ones, which is on disk before any other step."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from proofs.chaos.poison import Headers

MESSAGE, REPLY, REACTION = "chat.message.ingested", "chat.message.reply.ingested", "chat.message.reaction.ingested"
EXPLICIT = "feedback.explicit.received"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One record to publish. `scattered`: on any partition, without a key; `wait` in seconds before it is sent."""

    topic: str
    key: str
    value: bytes | None
    headers: Headers = ()
    is_poison: bool = False
    scattered: bool = False
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class Entry:
    """Acknowledged record. `value` is its text, or None for poison, of which only the SHA-256 is kept.

    A record that was accepted over HTTP has partition and offset -1. `log_time` is in milliseconds.
    """

    topic: str
    partition: int
    offset: int
    sha256: str
    value: str | None
    log_time: int = -1

    @property
    def coordinates(self) -> tuple[str, int, int]:
        return self.topic, self.partition, self.offset


def digest(value: bytes | None) -> str:
    """Return the SHA-256 of a value; `none` for None."""
    return "none" if value is None else hashlib.sha256(value).hexdigest()


class Ledger:
    """File of entries, each flushed to the disk."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")
        self.path = path
        self.count = 0
        self._lock = threading.Lock()

    def write(self, entries: Sequence[Entry]) -> None:
        lines = [json.dumps(asdict(entry), ensure_ascii=False) + "\n" for entry in entries]
        with self._lock:  # several writers, each in a thread
            self._file.writelines(lines)
            self._file.flush()
            os.fsync(self._file.fileno())
            self.count += len(entries)

    def close(self) -> None:
        self._file.close()


def entries_of(path: Path) -> Iterator[Entry]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield Entry(**json.loads(line))
