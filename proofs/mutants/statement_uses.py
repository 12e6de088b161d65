"""Python lines that use the SQL statement at a given line of a file `*.sql`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from proofs.mutants.mutant import ROOT

_TABLE = re.compile(r"\b(?:table|view|update|into|delete from|index \w+ on)\s+(\w+)")
_ENTRY = re.compile(r"^-- (?:name|fragment|function): (\w+)", re.MULTILINE)
_USE = re.compile(r"(?:\b(?:SQL|sql)\.|[\"'])(\w+)")
"""Name of a statement that an object gives, or a text that may be the name of a fragment."""
Place = tuple[str, int]
"""A Python file, relative to the root, and a line of it."""


def places_of(file: str, line: int) -> tuple[Place, ...]:
    """Return the uses of the statement at `line`, or of the statements that insert the fragment at `line`.

    For a line of a schema file, these are the uses of the statements that name its table.
    """
    if file.endswith("/schema.sql"):
        return _uses_of_table(file, line)
    texts, used = _folder(str(Path(file).parent))
    above = "".join(texts[Path(file).name].splitlines(keepends=True)[:line])
    return _uses(_ENTRY.findall(above)[-1:], texts, used)


def _uses_of_table(file: str, line: int) -> tuple[Place, ...]:
    above = "".join((ROOT / file).read_text("utf-8").splitlines(keepends=True)[:line])
    found: list[Place] = []
    for folder in (f"{Path(file).parts[0]}/{Path(file).parts[1]}/sql", "libs/servicekit/db/sql"):
        texts, used = _folder(folder)
        for table in _TABLE.findall(above)[-1:]:
            entries = (entry for text in texts.values() for entry in _entries(text).items())
            found += _uses([name for name, body in entries if re.search(rf"\b{table}\b", body)], texts, used)
    return tuple(found)


def _uses(names: Sequence[str], texts: Mapping[str, str], used: Mapping[str, Sequence[Place]]) -> tuple[Place, ...]:
    """Return the uses of named statements and fragments, and of the statements that contain these fragments."""
    entries = {name: body for text in texts.values() for name, body in _entries(text).items()}
    found = list(names)
    for name in found:  # grows: fragments are inserted into fragments, or passed to them
        within = re.compile(rf"\{{[^}}]*\b{name}\b")
        found += [other for other, body in entries.items() if within.search(body) and other not in found]
    return tuple(place for name in found for place in used.get(name, ()))


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
