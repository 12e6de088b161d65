"""Temporary folders for the data of servers that tests start."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

_MEMORY = Path("/dev/shm")
_ROOM = 2 * 1024**3
"""Free bytes below which the folders are on disk, because containers often have only 64 MB of shared memory."""


def server_folder() -> TemporaryDirectory[str]:
    """Return a folder in memory if there is room, otherwise on disk: half of PostgreSQL's start is waiting for the
    disk.

    Other users may enter it: under root, PostgreSQL runs as another user, who cannot enter pytest's own folders.
    """
    in_memory = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free >= _ROOM
    folder = TemporaryDirectory(prefix="af-", dir=_MEMORY if in_memory else None)
    Path(folder.name).chmod(0o755)
    return folder
