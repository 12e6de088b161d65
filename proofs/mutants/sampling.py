"""Seeded selection of mutants: the same share of every package; lines that a test runs are preferred."""

from __future__ import annotations

import random
import re
import subprocess
import tomllib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from proofs.mutants.coverage_map import CoverageMap
from proofs.mutants.mutant import ROOT, Mutant
from proofs.mutants.python_mutants import python_mutants
from proofs.mutants.sql_mutants import schema_mutants, sql_file_mutants
from proofs.mutants.typescript_mutants import TESTS, typescript_mutants

EQUIVALENTS = Path(__file__).with_name("equivalents.toml")
_UNEXECUTED = 0.1
"""The weight of a line that no test runs, compared with one that a test runs."""
_AT_IMPORT = 0.5
"""The weight of a line that runs at import."""


def product_files() -> list[str]:
    """Return the files of libs and services with Python, named SQL statements or tables."""
    patterns = ("libs/*.py", "services/*.py", "libs/*.sql", "services/*.sql")
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(file for file in listed.stdout.split() if (ROOT / file).is_file())


def mutants_of(file: str, text: str) -> list[Mutant]:
    """Return all mutants of a product file."""
    if file in TESTS:
        return typescript_mutants(file, text)
    if file.endswith("/schema.sql"):
        return schema_mutants(file, text)
    return sql_file_mutants(file, text) if file.endswith(".sql") else python_mutants(file, text)


def package_of(file: str) -> str:
    return "/".join(Path(file).parts[:2])


def equivalents(path: Path = EQUIVALENTS) -> set[tuple[str, str, str]]:
    """Return the (file, line before, line after) of mutants that change no behaviour."""
    return {(one["file"], one["before"], one["after"]) for one in tomllib.loads(path.read_text("utf-8"))["equivalent"]}


def unobservable(path: Path = EQUIVALENTS) -> re.Pattern[str]:
    """Return the pattern of lines whose mutants change no result."""
    return re.compile("|".join(f"(?:{one['line']})" for one in tomllib.loads(path.read_text("utf-8"))["unobservable"]))


def stale_entries(path: Path = EQUIVALENTS) -> list[str]:
    """Return what `path` lists although no mutant of the tree is it: a change of the code left the entry behind."""
    stale = []
    for file, before, after in sorted(equivalents(path)):
        text = (ROOT / file).read_text("utf-8") if (ROOT / file).is_file() else ""
        # Stryker's mutants need npm; for TypeScript, the line is enough.
        if before not in text or (
            file not in TESTS and all(one.changed_lines(text) != (before, after) for one in mutants_of(file, text))
        ):
            stale.append(f"{file}: {before}")
    lines = {
        line.strip() for file in [*product_files(), *TESTS] for line in (ROOT / file).read_text("utf-8").split("\n")
    }
    patterns = (one["line"] for one in tomllib.loads(path.read_text("utf-8"))["unobservable"])
    return [*stale, *(pattern for pattern in patterns if not any(map(re.compile(pattern).search, lines)))]


def sample(count: int, seed: str, covered: CoverageMap, named: str = "", further: Collection[str] = ()) -> list[Mutant]:
    """Return at most `count` mutants of product and `further` files whose path contains `named`.

    Packages alternate. Within a package, a mutant's weight depends on its line and on how rare its operator is.
    """
    rng = random.Random(seed)
    known, changes_no_result = equivalents(), unobservable()
    packages: dict[str, list[tuple[float, Mutant]]] = defaultdict(list)
    for file in [*product_files(), *further]:
        if named not in file:
            continue
        text = (ROOT / file).read_text("utf-8")
        for mutant in mutants_of(file, text):
            before, after = mutant.changed_lines(text)
            if (file, before, after) not in known and not changes_no_result.search(before):
                packages[package_of(file)].append((_weight(mutant, covered), mutant))
    return _in_turn({package: _ranked(found, rng) for package, found in sorted(packages.items())}, count)


def _weight(mutant: Mutant, covered: CoverageMap) -> float:
    if covered.is_executed(mutant.file, mutant.line):
        return 1.0
    return _AT_IMPORT if covered.tests_of(mutant.file, mutant.line, 1) else _UNEXECUTED


def _ranked(found: Sequence[tuple[float, Mutant]], rng: random.Random) -> list[Mutant]:
    """Weighted sampling without replacement (Efraimidis and Spirakis): the greatest keys are first."""
    kinds: dict[str, int] = defaultdict(int)
    for _, mutant in found:
        kinds[mutant.kind] += 1
    keyed = [
        (rng.random() ** (kinds[mutant.kind] ** 0.5 / weight), number) for number, (weight, mutant) in enumerate(found)
    ]
    return [found[number][1] for _, number in sorted(keyed, reverse=True)]


def _in_turn(packages: Mapping[str, Sequence[Mutant]], count: int) -> list[Mutant]:
    """Yield one mutant of each package in turn, at most one per line."""
    chosen: list[Mutant] = []
    lines: set[tuple[str, int]] = set()
    left = {package: list(mutants) for package, mutants in packages.items()}
    while len(chosen) < count and any(left.values()):
        for mutants in left.values():
            mutant = _next(mutants, lines)
            if mutant is not None and len(chosen) < count:
                chosen.append(mutant)
                lines.add((mutant.file, mutant.line))
    return chosen


def _next(mutants: list[Mutant], lines: Collection[tuple[str, int]]) -> Mutant | None:
    while mutants:
        mutant = mutants.pop(0)
        if (mutant.file, mutant.line) not in lines:
            return mutant
    return None
