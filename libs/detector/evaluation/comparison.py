"""Compare two measurements of the detector on the same rows, with confidence intervals."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detector.evaluation.rows import Row, UnknownRows
from detector.model import Verdict

RESAMPLES: Final = 2_000
_SEED: Final = 1
_PERCENTILES: Final = (2.5, 97.5)


class RowOutcome(NamedTuple):
    """Outcome for one row, without any text.

    Attributes:
        label: The correct label.
        gate: The correct label for the gate, the stricter verdict.
        called: The label assigned by the detector.
        announced: The announced reaction, if any.
    """

    label: str
    gate: str
    called: str
    announced: str | None


class Difference(NamedTuple):
    """A rate before and after a change to the detector, with the 95 % confidence interval of the difference.

    A rate whose denominator is zero is None, and the interval is then -1 to 1.
    """

    figure: str
    before: float | None
    after: float | None
    low: float
    high: float

    @property
    def is_noise(self) -> bool:
        """True if the difference may be due to chance, i.e. if its interval contains 0."""
        return self.low <= 0 <= self.high


Outcomes = Mapping[str, RowOutcome]
"""Outcomes by the row's digest."""
_Share = tuple[Callable[[RowOutcome], bool], Callable[[RowOutcome], bool]]
"""Definition of a rate: the condition for the denominator, and the condition for the numerator."""
FIGURES: Final[Mapping[str, _Share]] = {
    "accuracy": (lambda row: True, lambda row: row.called == row.label),
    "announced rejections: precision": (lambda row: row.announced == "not_ok", lambda row: row.label == "rejected"),
    "announced rejections: recall": (lambda row: row.label == "rejected", lambda row: row.announced == "not_ok"),
    "announced ok: precision": (lambda row: row.announced == "ok", lambda row: row.gate == "ok"),
    "announced ok: recall": (lambda row: row.gate == "ok", lambda row: row.announced == "ok"),
}


def outcomes(rows: Sequence[Row], called: Sequence[str], verdicts: Sequence[Verdict]) -> dict[str, RowOutcome]:
    """Return the outcome for each row, keyed by a digest of the row.

    `called` contains the labels assigned by the detector.
    """
    return {
        _digest(row): RowOutcome(
            str(row["label"]), str(row["gate"]), label, verdict.reaction if verdict.emitted else None
        )
        for row, label, verdict in zip(rows, called, verdicts, strict=True)
    }


def differences(before: Outcomes, after: Outcomes) -> list[Difference]:
    """Compare two measurements on the rows that they have in common.

    The confidence intervals are computed by a paired bootstrap: each resample uses the same rows of both measurements.
    """
    shared = sorted(before.keys() & after.keys())
    drawn = np.random.default_rng(_SEED).multinomial(len(shared), [1 / len(shared)] * len(shared), RESAMPLES)
    return [_difference(name, [[side[key] for key in shared] for side in (before, after)], drawn) for name in FIGURES]


def by_file(before: Mapping[str, Outcomes], after: Mapping[str, Outcomes]) -> dict[str, list[Difference]]:
    """Compare two measurements for each file that occurs in both.

    Raises:
        UnknownRows: No file has rows that occur in both measurements.
    """
    shared = {name: rows for name, rows in after.items() if before.get(name, {}).keys() & rows.keys()}
    if not shared:
        raise UnknownRows("The saved outcomes and these files share no labelled message")
    return {name: differences(before[name], rows) for name, rows in shared.items()}


def write(path: Path, measured: Mapping[str, Outcomes]) -> None:
    """Write the outcomes to a JSON file, keyed by the name of the evaluated file. Texts are not included."""
    path.write_text(json.dumps(measured))


def read(path: Path) -> dict[str, dict[str, RowOutcome]]:
    """Read a file written by `write`.

    Raises:
        UnknownRows: The file has a different format.
    """
    try:
        files = json.loads(path.read_bytes())
        return {name: {key: RowOutcome(*outcome) for key, outcome in rows.items()} for name, rows in files.items()}
    except (ValueError, RecursionError, TypeError, AttributeError):
        raise UnknownRows(f"{path} was not written by `evaluate --save`") from None


def _difference(name: str, sides: Sequence[Sequence[RowOutcome]], drawn: NDArray[np.int64]) -> Difference:
    (before, drawn_before), (after, drawn_after) = (_share(FIGURES[name], side, drawn) for side in sides)
    if before is None or after is None:
        return Difference(name, before, after, -1.0, 1.0)
    low, high = np.percentile(drawn_after - drawn_before, _PERCENTILES)
    return Difference(name, before, after, float(low), float(high))


def _share(
    figure: _Share, side: Sequence[RowOutcome], drawn: NDArray[np.int64]
) -> tuple[float | None, NDArray[np.float64]]:
    """Return the rate `figure` of a measurement `side` over all its rows, and over each resample in `drawn`.

    The rate over all rows is None if its denominator is 0.
    """
    counted, hit = (np.array([test(row) for row in side]) for test in figure)
    share = float(hit[counted].mean()) if counted.any() else None
    return share, (drawn @ (counted & hit)) / np.maximum(1, drawn @ counted)


def _digest(row: Row) -> str:
    canonical = json.dumps(row, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:24]
