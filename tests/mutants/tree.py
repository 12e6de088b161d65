"""A copy of the working tree to break: what git knows and what it would add, never what it ignores."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants.catalogue import ROOT, Mutant

LONGEST_SECONDS = 240
"""After that a mutant's run is ended: the breakage made something wait for ever, and that is noticed."""
LONGEST_SOUND_SECONDS = 3_600
"""The same for the run of all tests without a mutant."""
_FAILED = 1
"""pytest's answer where tests ran and some failed."""


@dataclass(frozen=True, slots=True)
class Run:
    """How the tests ended: whether and which ones failed; `error` where they could not run at all."""

    failed: bool
    which: tuple[str, ...] = ()
    error: str = ""

    @property
    def first(self) -> str:
        return self.which[0] if self.which else ""


class Tree:
    """A copy of the project in `folder`, with its own imports."""

    def __init__(self, folder: Path, root: Path = ROOT) -> None:
        self.folder = folder
        command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        for name in filter(None, listed.split("\0")):
            source, target = root / name, folder / name
            if source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
        self._check_imports()

    def sound(self, tests: Sequence[str]) -> Run:
        """Run all of `tests` without a mutant; those that fail get a second chance, for the machine may be busy."""
        run = self._run(tests, LONGEST_SOUND_SECONDS)
        return self._run(run.which, LONGEST_SOUND_SECONDS) if run.failed and run.which else run

    def test(self, tests: Sequence[str], mutant: Mutant) -> Run:
        """Run `tests` with `mutant` in place up to the first failure; the copy is whole again afterwards."""
        file = self.folder / mutant.file
        whole = file.read_text("utf-8")
        file.write_text(mutant.applied_to(whole), "utf-8")
        try:
            return self._run(["-x", *tests], LONGEST_SECONDS)
        finally:
            file.write_text(whole, "utf-8")

    def _run(self, tests: Sequence[str], seconds: int) -> Run:
        options = ["-q", "-n", "0", "-m", "not real and not browser", "-p", "no:cacheprovider", "--no-header"]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        try:
            done = self._start(command, seconds)
        except subprocess.TimeoutExpired:
            return Run(True, (f"no end after {seconds} s",))
        lines = done.stdout.splitlines()
        if done.returncode in (0, _FAILED):
            failed = (line.split(" ", 1)[1] for line in lines if line.startswith(("FAILED ", "ERROR ")))
            return Run(done.returncode == _FAILED, tuple(line.partition(" - ")[0] for line in failed))
        return Run(False, error="; ".join(lines[-3:]) or done.stderr[-300:])

    def _start(self, command: list[str], seconds: int = LONGEST_SECONDS) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self._environment(), capture_output=True, text=True, timeout=seconds
        )

    def _environment(self) -> dict[str, str]:
        roots = os.pathsep.join(str(self.folder / name) for name in ("libs", "services"))
        # Without bytecode files: two versions of a file of the same size and second would share one.
        return {**os.environ, "PYTHONPATH": roots, "PYTHONDONTWRITEBYTECODE": "1"}

    def _check_imports(self) -> None:
        command = [sys.executable, "-c", "import servicekit, reporting; print(servicekit.__file__, reporting.__file__)"]
        places = self._start(command).stdout.split()
        if len(places) != 2 or not all(Path(place).is_relative_to(self.folder) for place in places):
            raise RuntimeError(f"the copy's tests would not import the copy's code, but {' '.join(places)}")
