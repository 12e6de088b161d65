"""Copy of the working tree for mutants: tracked and new files, without ignored ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from proofs.mutants.mutant import ROOT, Mutant
from proofs.mutants.typescript_mutants import WIDGET, build_widget
from proofs.mutants.warm import WarmPytest

_FAILED = 1
"""pytest's exit status if tests ran and some failed."""
_BROKEN = (2, 4)
"""pytest's exit statuses if tests, or what they share, cannot be imported."""


@dataclass(frozen=True, slots=True)
class Run:
    """Result of a test run: the failed tests, or `error` if they could not run at all."""

    failed: bool
    which: tuple[str, ...] = ()
    error: str = ""
    has_ended: bool = True

    @property
    def first(self) -> str:
        return self.which[0] if self.which else ""


class Tree:
    """Copy of the project in `folder`, which imports its own modules."""

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
        self._pytest = WarmPytest(folder, self._environment())

    def test(self, arguments: Sequence[str], mutant: Mutant, seconds: int) -> Run:
        """Run pytest with `arguments` and `mutant` in place, up to the first failure; then restore the copy.

        A test that takes longer than `seconds` fails, because a mutant may wait without end.
        """
        file = self.folder / mutant.file
        try:
            whole = file.read_text("utf-8")
            broken = mutant.applied_to(whole)
        except (OSError, ValueError):
            return Run(False, error=f"{mutant.file} has changed since the mutant was made.")
        self._write(mutant.file, broken)
        try:
            return self.run(["-x", *arguments], seconds)
        finally:
            self._write(mutant.file, whole)

    def _write(self, file: str, text: str) -> None:
        (self.folder / file).write_text(text, "utf-8")
        if file == WIDGET:
            build_widget(self.folder)

    def run(self, arguments: Sequence[str], seconds: int) -> Run:
        """Run pytest with `arguments` on the unchanged copy."""
        options = ["-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", f"--timeout={seconds}"]
        status, output = self._pytest.run([*options, *arguments], 2 * seconds)
        if status is None:
            return Run(False, error=f"no end after {2 * seconds} s", has_ended=False)
        lines = output.splitlines()
        failed = (
            line.split(" ", 1)[1] for line in lines if line.startswith(("FAILED ", "ERROR tests/", "ERROR proofs/"))
        )
        which = tuple(line.partition(" - ")[0] for line in failed)
        if status in (0, _FAILED):
            return Run(status == _FAILED, which)
        if status in _BROKEN:
            return Run(True, which or (arguments[-1],))
        return Run(False, error="; ".join(lines[-3:]))

    def failing(self, tests: Collection[str], seconds: int) -> set[str]:
        """Return those of `tests`, functions or modules, that fail or cannot be imported without any mutant."""
        together = self.run(sorted(tests), seconds * max(1, len(tests)))
        if not together.failed and not together.error:
            return set()
        return {test for test in tests if (alone := self.run([test], seconds)).failed or alone.error}

    def close(self) -> None:
        self._pytest.close()

    def _environment(self) -> dict[str, str]:
        roots = os.pathsep.join(str(self.folder / name) for name in ("libs", "libs/agentkit", "services"))
        # Without bytecode files: two versions of a file of the same size and second would share one.
        return {**os.environ, "PYTHONPATH": roots, "PYTHONDONTWRITEBYTECODE": "1"}

    def _check_imports(self) -> None:
        names = ("agent_feedback_kit", "servicekit", "reporting")
        printed = "; ".join(f"import {name}; print({name}.__file__)" for name in names)
        command = [sys.executable, "-c", printed]
        done = subprocess.run(
            command, cwd=self.folder, env=self._environment(), capture_output=True, text=True, timeout=60
        )
        places = done.stdout.split()
        if len(places) != len(names) or not all(Path(place).is_relative_to(self.folder) for place in places):
            raise RuntimeError(f"the copy's tests would not import the copy's code, but {' '.join(places)}")
