"""The mutants as data: small breakages of the code, each with the tests that must notice it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLES = Path(__file__).parent / "tables"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One breakage: in `file`, `before` becomes `after`. `tests` are arguments of pytest; `table` holds it."""

    name: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]
    table: str

    def counts_on(self, failing: Iterable[str]) -> str | None:
        """The first of the `failing` tests that is among this mutant's, None where none is."""
        return next((test for test in failing if any(test.startswith(own) for own in self.tests)), None)

    def applied_to(self, text: str) -> str:
        """`text` with the breakage in it. Raises ValueError unless `before` stands in it exactly once."""
        if self.before == self.after:
            raise ValueError("`before` and `after` are the same")
        match text.count(self.before):
            case 1:
                return text.replace(self.before, self.after)
            case 0:
                raise ValueError(f"`before` no longer stands in {self.file}: write it as the code reads today")
            case count:
                raise ValueError(f"`before` stands {count} times in {self.file}: make it longer")


def catalogue(tables: Path = TABLES) -> list[Mutant]:
    """All mutants, table by table; those that name no tests have their table's. Raises KeyError for a missing field."""
    found = []
    for path in sorted(tables.glob("*.toml")):
        table = tomllib.loads(path.read_text("utf-8"))
        for given in table["mutant"]:
            tests = tuple(given.get("tests") or table.get("tests", ()))
            found.append(Mutant(given["name"], given["file"], given["before"], given["after"], tests, path.name))
    return found


def faults(mutants: list[Mutant], root: Path = ROOT) -> list[str]:
    """What keeps mutants from being run, one sentence each; empty where all apply."""
    found: list[str] = []
    names: set[str] = set()
    for mutant in mutants:
        where = f"tests/mutants/tables/{mutant.table}, {mutant.name!r}"
        if mutant.name in names:
            found.append(f"{where}: the name is taken")
        names.add(mutant.name)
        try:
            mutant.applied_to((root / mutant.file).read_text("utf-8"))
        except (OSError, ValueError) as error:
            found.append(f"{where}: {error}")
        missing = [test for test in mutant.tests if not (root / test.partition("::")[0]).exists()]
        if missing or not mutant.tests:
            found.append(f"{where}: no such tests: {', '.join(missing) or 'none is named'}")
    return found
