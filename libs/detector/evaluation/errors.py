"""Find the detector's worst errors on labelled rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from detector.evaluation.rows import Row
from detector.model import Verdict

#: Maximum number of characters of a printed text.
SHOWN: Final = 160


def worst(rows: Sequence[Row], verdicts: Sequence[Verdict], count: int) -> list[dict[str, Any]]:
    """Return the `count` worst errors, most confident first. Announced errors come before all others."""
    wrong = [
        (not v.emitted, -v.confidence, number)
        for number, (row, v) in enumerate(zip(rows, verdicts, strict=True))
        if v.feedback != row["label"] and not (v.status_only and row["label"] == "neutral")
    ]
    return [side_by_side(rows[number], verdicts[number]) for _, _, number in sorted(wrong)[:count]]


def side_by_side(row: Row, verdict: Verdict) -> dict[str, Any]:
    """Return the label and the shortened texts of a row together with its verdict."""
    return {
        "id": row.get("id"),
        "label": row.get("label"),
        "said": verdict.feedback,
        "confidence": verdict.confidence,
        "announced": verdict.emitted,
        "decided_by": verdict.decided_by,
        "rules": list(verdict.rules),
        "message": cut(str(row["message"])),
        "previous_assistant": cut(_answer(row)),
    }


def cut(text: str) -> str:
    """Return the text on one line, shortened to `SHOWN` characters."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


def _answer(row: Row) -> str:
    history: Sequence[Mapping[str, Any]] = row.get("history", ())
    answers = [turn["text"] for turn in history if turn["role"] == "assistant"]
    return str(row.get("previous_assistant") or (answers[-1] if answers else ""))
