"""Generator of the tables of the detector's rules in docs/inference.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from detector.explain import CAP_HEADS, RULE_HEADS, cap_rows, rule_rows

PAGE = Path(__file__).parents[1] / "docs" / "inference.md"


def text(page: str) -> str:
    """Return the page with the tables inserted between their marks, such as `<!-- end of rules -->`."""
    for name, heads, rows in (("rules", RULE_HEADS, rule_rows()), ("caps", CAP_HEADS, cap_rows())):
        before, begin, rest = page.partition(f"<!-- {name}, made by `make docs` -->\n")
        _, end, after = rest.partition(f"<!-- end of {name} -->")
        page = f"{before}{begin}\n{_table(heads, rows)}\n{end}{after}"
    return page


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (heads, ["---"] * len(heads), *rows))


def files() -> dict[Path, str]:
    """Return the text of the page, with its generated part, by path."""
    return {PAGE: text(PAGE.read_text("utf-8"))}
