"""The previous release as it was shipped: wheels built from this clone's history."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).parents[2]
PREVIOUS = ("d5266b09058972d5c323aeedbfdeedd77ac74c51", "v0.1.0")
"""Commit of the previous release, and its tag, for clones of that tag alone."""
DISTRIBUTIONS = (".", "libs/agentkit")
"""The folders of the release's distributions."""


class HistoryMissing(Exception):
    """The clone does not have the previous release's commit."""


def previous_release(folder: Path) -> Path:
    """Build the previous release's wheels below `folder` and return the folder of their unpacked packages.

    pip fetches the build backend. Raises HistoryMissing if the clone does not have the release, and
    subprocess.CalledProcessError if the release cannot be built.
    """
    source, packages = folder / "source", folder / "packages"
    _check_out(source)
    for distribution in DISTRIBUTIONS:
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder / "wheels")]
        subprocess.run([*build, source / distribution], check=True)
    for wheel in (folder / "wheels").glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(packages)
    return packages


def _check_out(source: Path) -> None:
    for name in PREVIOUS:
        archive = subprocess.run(["git", "archive", name], cwd=ROOT, capture_output=True, check=False)
        if archive.returncode == 0:
            with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
                files.extractall(source, filter="data")
            return
    raise HistoryMissing(
        f"This clone's history does not hold the previous release ({PREVIOUS[1]}, {PREVIOUS[0][:7]}): run "
        "git fetch --unshallow."
    )


def runs_from(*folders: Path) -> Mapping[str, str]:
    """Return the environment of a process that imports its packages from `folders`."""
    return {"PYTHONPATH": ":".join(map(str, folders))}


def source_folders(tree: Path) -> tuple[Path, ...]:
    """Return the folders of the packages in a source tree."""
    return (tree / "services", tree / "libs", tree / "libs" / "agentkit")
