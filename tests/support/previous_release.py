"""The source tree of the previous release, from this clone's history."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).parents[2]
PREVIOUS = ("d5266b09058972d5c323aeedbfdeedd77ac74c51", "v0.1.0")
"""Commit of the previous release, and its tag, for clones of that tag alone."""
FOLDERS = ("services", "libs")


class HistoryMissing(Exception):
    """The clone does not have the previous release's commit."""


def previous_release(folder: Path) -> Path:
    """Unpack the previous release below `folder`. Raises HistoryMissing if the clone does not have it."""
    for name in PREVIOUS:
        archive = subprocess.run(["git", "archive", name, *FOLDERS], cwd=ROOT, capture_output=True, check=False)
        if archive.returncode == 0:
            with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
                files.extractall(folder, filter="data")
            return folder
    raise HistoryMissing(
        f"This clone's history does not hold the previous release ({PREVIOUS[1]}, {PREVIOUS[0][:7]}): run "
        "git fetch --unshallow."
    )


def runs_from(tree: Path) -> Mapping[str, str]:
    """Return the environment of a process that imports the services and libraries of `tree`."""
    places = (tree / "services", tree / "libs", tree / "libs" / "agentkit")
    return {"PYTHONPATH": ":".join(map(str, places))}
