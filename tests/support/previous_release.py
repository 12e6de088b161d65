"""The source tree of the previous release, out of this clone's history."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PREVIOUS = ("v0.1.0", "d5266b09058972d5c323aeedbfdeedd77ac74c51")
"""Its tag, and its commit for clones without tags."""
FOLDERS = ("services", "libs")


def previous_release(folder: Path) -> Path:
    """Unpack the previous release below `folder`; skip the test if the clone does not have it."""
    for name in PREVIOUS:
        archive = subprocess.run(["git", "archive", name, *FOLDERS], cwd=ROOT, capture_output=True, check=False)
        if archive.returncode == 0:
            with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
                files.extractall(folder, filter="data")
            return folder
    pytest.skip(f"the history of this clone holds neither {' nor '.join(PREVIOUS)}")


def runs_from(tree: Path) -> Mapping[str, str]:
    """The environment of a process that imports the services and libraries of `tree`."""
    places = (tree / "services", tree / "libs", tree / "libs" / "agentkit")
    return {"PYTHONPATH": ":".join(map(str, places))}
