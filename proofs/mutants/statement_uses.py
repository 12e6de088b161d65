"""Python lines that use the SQL statement at a given line of a file `*.sql`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from proofs.mutants.mutant import ROOT

_TABLE = re.compile(r"\b(?:table|update|into|delete from|index \w+ on)\s+(\w+)")
_ENTRY = re.compile(r"^-- (?:name|fragment|function): (\w+)", re.MULTILINE)
_USE = re.compile(r"(?:\b(?:SQL|sql)\.|[\"'])(\w+)")
"""Name of a statement that an object gives, or a text that may be the name of a fragment."""
Place = tuple[str, int]
"""A Python file, relative to the root, and a line of it."""


def places_of(file: str, line: int) -> tuple[Place, ...]:
    """Return the uses of the statement at `line`, or of the statements that insert the fragment at `line`.

    For a line of a migration, these are the uses of the statements that name its table.
    """
    if "/migrations/" in file:
        return _uses_of_table(file, line)
    texts, used = _folder(str(Path(file).parent))
    above = "".join(texts[Path(file).name].splitlines(keepends=True)[:line])
    names = _ENTRY.findall(above)[-1:]
    entries = {name: body for text in texts.values() for name, body in _entries(text).items()}
    for name in names:  # grows: fragments are inserted into fragments, or passed to them
        within = re.compile(rf"\{{[^}}]*\b{name}\b")
        names += [other for other, body in entries.items() if within.search(body) and other not in names]
    return tuple(place for name in names for place in used.get(name, ()))


def _uses_of_table(file: str, line: int) -> tuple[Place, ...]:
    above = "".join((ROOT / file).read_text("utf-8").splitlines(keepends=True)[:line])
    found: list[Place] = []
    for folder in (f"{Path(file).parts[0]}/{Path(file).parts[1]}/sql", "libs/servicekit/db/sql"):
        texts, used = _folder(folder)
        entries = {name: body for text in texts.values() for name, body in _entries(text).items()}
        for table in _TABLE.findall(above)[-1:]:
            named = [name for name, body in entries.items() if re.search(rf"\b{table}\b", body)]
            found += [place for name in named for place in used.get(name, ())]
    return tuple(found)


def _entries(text: str) -> dict[str, str]:
    _, *parts = _ENTRY.split(text)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@cache
def _folder(folder: str) -> tuple[Mapping[str, str], Mapping[str, list[Place]]]:
    """Return the texts of the SQL files in `folder`, and the uses of each statement."""
    owner = ROOT / Path(folder).parent
    package = ".".join([*Path(folder).parts[1:]])
    used: dict[str, list[Place]] = {}
    for path in sorted((owner if package != "servicekit.db.sql" else owner.parent).rglob("*.py")):
        text = path.read_text("utf-8")
        if f"from {package} import SQL" not in text:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for name in _USE.findall(line):
                used.setdefault(name, []).append((str(path.relative_to(ROOT)), number))
    return {file.name: file.read_text("utf-8") for file in (ROOT / folder).glob("*.sql")}, used
