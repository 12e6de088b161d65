"""Tables with rows about a person: a subject access returns them, and an erasure changes them or states why not."""

from __future__ import annotations

from dataclasses import dataclass

from servicekit.db.statements import Statement


@dataclass(frozen=True, slots=True)
class Holds:
    """Table with rows about people. `rows` selects those of a person as `held`, one JSON object per row.

    `stays` is the reason why an erasure leaves the rows, or empty.
    """

    table: str
    rows: Statement
    stays: str = ""
