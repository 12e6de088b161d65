"""The published accuracy is the one in the documentation."""

from __future__ import annotations

from pathlib import Path

from contracts.base import Reaction
from detector.published import PUBLISHED

EVALUATION = Path(__file__).parents[3] / "docs" / "evaluation.md"


def test_published_figures_are_those_of_the_evaluation_page() -> None:
    [row] = [line for line in EVALUATION.read_text().splitlines() if line.startswith("| **agents_dev2** |")]
    cells = row.split("|")
    columns: dict[Reaction, int] = {"not_ok": 5, "ok": 8}
    for verdict, column in columns.items():
        right, checked = PUBLISHED[verdict]
        assert cells[column].strip().startswith(f"{right} of {checked},"), row
