"""Control of a process's wall clock, for every library in it: libfaketime reads the offset from a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

LIBRARIES = tuple(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
"""Location of Debian's package libfaketime; empty if it is not installed."""


class WallClock:
    """File with the offset of a process's clock in seconds. Monotonic clocks stay correct."""

    def __init__(self, file: Path) -> None:
        if not LIBRARIES:
            raise RuntimeError("a clock that jumps needs libfaketime: apt-get install libfaketime")
        self._file = file
        self.set(0)

    def set(self, seconds: int) -> None:
        """Set the offset, which the process sees within a second."""
        beside = self._file.with_suffix(".next")
        beside.write_text(f"{seconds:+d}s\n")
        beside.replace(self._file)

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "LD_PRELOAD": str(LIBRARIES[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }
