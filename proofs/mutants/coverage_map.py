"""Map from each line of the product to the tests that run it, recorded by `python -m proofs.mutants --record`."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from coverage import CoverageData

from proofs.mutants.mutant import ROOT
from proofs.mutants.recording import OF_FILE
from proofs.mutants.statement_uses import Place, places_of
from proofs.mutants.typescript_mutants import TESTS as TYPESCRIPT

FOLDER = ROOT / ".agent-feedback" / "mutants"
MAP = FOLDER / "map.json"
EVERYWHERE = ("-m", "not real and not browser and not bridges and not monitoring and not helm")
_OF_SCHEMAS = ("tests/stores/test_schema_keys.py",)
"""Tests of the tables."""
_OF_DECLARATIONS = (
    "tests/unit/test_size_limits.py",
    "tests/unit/test_time_limits.py",
)
"""Tests that compare the models' and settings' limits and defaults with the documents; they run few lines of each."""
_FILE_SECONDS = {"flow": 8.0, "ports": 3.0, "simulation": 3.0, "clients": 10.0, "tables": 6.0}
"""Start-up of the servers that a folder's tests share, in seconds."""


class CoverageMap:
    """Lines by file, each with the tests that run it; `seconds` are the durations of tests."""

    def __init__(self, lines: Mapping[str, Mapping[int, Sequence[str]]], seconds: Mapping[str, float]) -> None:
        self.lines = lines
        self._seconds = seconds
        self._breadth: dict[str, int] = defaultdict(int)
        for by_line in lines.values():
            for tests in by_line.values():
                for test in tests:
                    self._breadth[test] += 1

    @classmethod
    def read(cls, path: Path = MAP) -> CoverageMap:
        """Read the recorded map. Raises FileNotFoundError if none was recorded."""
        said = json.loads(path.read_text("utf-8"))
        names = said["tests"]
        lines = {
            file: {int(line): [names[number] for number in tests] for line, tests in by_line.items()}
            for file, by_line in said["lines"].items()
        }
        return cls(lines, said["seconds"])

    def is_executed(self, file: str, line: int) -> bool:
        """Return True if a test runs the line; an import alone does not count.

        A line of SQL runs where its statement is used.
        """
        if file in TYPESCRIPT:
            return True
        return any(self.lines.get(path, {}).get(number) for path, number in _places(file, line))

    def tests_of(self, file: str, line: int, budget: float) -> list[str]:
        """Return the tests to run for a line, the most specific first, of about `budget` seconds in total.

        For a line that runs at import, these are the tests of the file, because others read a table's rows, and those
        that compare declarations with documents.
        """
        if file in TYPESCRIPT:
            return list(TYPESCRIPT[file])
        places = _places(file, line)
        in_file: dict[str, int] = defaultdict(int)
        for path in {path for path, _ in places}:
            for tests in self.lines.get(path, {}).values():
                for test in tests:
                    in_file[test] += 1
        running = {test for path, number in places for test in self.lines.get(path, {}).get(number, ())}
        candidates = running or list(in_file)
        ranked = sorted(
            candidates, key=lambda test: (self._cost(test) > budget / 2, -in_file[test] / self._breadth[test], test)
        )
        chosen: list[str] = []
        files: set[str] = set()
        left = budget
        for test in ranked:
            file_of_test = test.partition("::")[0]
            cost = self._seconds.get(test, 0.1) + (0 if file_of_test in files else self._start_up(file_of_test))
            if chosen and cost > left:
                continue
            chosen.append(test)
            files.add(file_of_test)
            left -= cost
        return [*chosen, *(test for test in _of_tables(file, chosen, is_run=bool(running)) if test not in chosen)]

    def _cost(self, test: str) -> float:
        return self._seconds.get(test, 0.1) + self._start_up(test.partition("::")[0])

    @staticmethod
    def _start_up(file: str) -> float:
        return _FILE_SECONDS.get(Path(file).parts[1], 0.5)


def _of_tables(file: str, chosen: Sequence[str], *, is_run: bool) -> Sequence[str]:
    """Return the tests to add for a line of a schema file, or for a line of Python that runs at import only."""
    if file.endswith("/schema.sql"):
        return _OF_SCHEMAS
    return _OF_DECLARATIONS if chosen and not is_run and file.endswith(".py") else ()


def _places(file: str, line: int) -> Sequence[Place]:
    return places_of(file, line) if file.endswith(".sql") else [(file, line)]


def record(arguments: Sequence[str]) -> int:
    """Run all tests with coverage and write the map, or add the tests that `arguments` select to the last recording.

    Returns pytest's exit status.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("coverage.*") if not arguments else ():
        old.unlink()
    environment = {**os.environ, "MUTANTS_COVERAGE": str(FOLDER / "coverage")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "proofs.mutants.recording", "-n", "2", "--dist", "worksteal"]
    status = subprocess.run([*command, *EVERYWHERE, *arguments], cwd=ROOT, env=environment, check=False).returncode
    write_map(ROOT)
    return status


def write_map(root: Path, folder: Path = FOLDER) -> None:
    """Merge the data files of the last recording in `root` into the map in `folder`.

    A test, or a process that it starts, may import a module. The lines outside of functions still count as run at
    import: the tests that read a constant are others.
    """
    found: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    at_import: dict[str, frozenset[int]] = {}
    seconds: dict[str, float] = defaultdict(float)
    for path in sorted(folder.glob("coverage.*")):
        if path.suffix == ".json":
            for test, taken in json.loads(path.read_text("utf-8")).items():
                seconds[function_of(test)] += taken
            continue
        data = CoverageData(str(path))
        data.read()
        for file, line, contexts in _contexts(data, root):
            if file not in at_import:
                at_import[file] = _outside_of_functions(root / file)
            found[file][line] |= contexts - {""} if line not in at_import[file] else set()
    of_file: dict[str, set[str]] = defaultdict(set)
    for test in seconds:
        of_file[test.partition("::")[0] + OF_FILE].add(test)
    for by_line in found.values():
        for line, tests in by_line.items():
            by_line[line] = {one for test in tests for one in of_file.get(test, {test})}
    names = sorted({test for by_line in found.values() for tests in by_line.values() for test in tests})
    numbers = {name: number for number, name in enumerate(names)}
    lines = {
        file: {line: sorted(numbers[test] for test in tests) for line, tests in by_line.items()}
        for file, by_line in found.items()
    }
    (folder / MAP.name).write_text(json.dumps({"tests": names, "seconds": seconds, "lines": lines}), "utf-8")


def _outside_of_functions(path: Path) -> frozenset[int]:
    """Return the lines of a module that run when it is imported; none of a template, or if the file is gone."""
    if path.suffix != ".py" or not path.is_file():
        return frozenset()
    text = path.read_text("utf-8")
    functions = (one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    within = {line for one in functions for line in range(one.body[0].lineno, (one.end_lineno or 0) + 1)}
    return frozenset(range(1, text.count("\n") + 2)) - within


def _contexts(data: CoverageData, root: Path) -> Iterator[tuple[str, int, set[str]]]:
    """Yield the file, the line and the tests that run it; "" means a run outside of any test."""
    for measured in data.measured_files():
        file = str(Path(measured).relative_to(root))
        for line, contexts in data.contexts_by_lineno(measured).items():
            yield file, line, {function_of(context) for context in contexts}


def function_of(test: str) -> str:
    """Return a test's name without its parameters, which may contain any characters."""
    return test.partition("[")[0]
