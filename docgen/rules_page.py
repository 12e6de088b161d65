"""Generator of the table of the detector's rules in docs/inference.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from detector.explain import RULE_HEADS, rule_rows

PAGE = Path(__file__).parents[1] / "docs" / "inference.md"


def text(page: str) -> str:
    """Return the page with the table inserted between its marks."""
    before, begin, rest = page.partition("<!-- rules, made by `make docs` -->\n")
    _, end, after = rest.partition("<!-- end of rules -->")
    return f"{before}{begin}\n{_table(RULE_HEADS, rule_rows())}\n{end}{after}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (heads, ["---"] * len(heads), *rows))


def files() -> dict[Path, str]:
    """Return the text of the page, with its generated part, by path."""
    return {PAGE: text(PAGE.read_text("utf-8"))}
