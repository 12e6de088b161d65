"""Reliability diagram of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any


def plot(report: Mapping[str, Any], path: Path) -> None:
    """Write the reliability diagram of a report to a PNG file. Requires matplotlib."""
    figure_module: Any = import_module("matplotlib.figure")
    bins = report["reliability"]
    figure = figure_module.Figure(figsize=(5, 5), dpi=120)
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=1)
    axes.scatter(
        [b["confidence"] for b in bins],
        [b["accuracy"] for b in bins],
        s=[20 + b["rows"] / 2 for b in bins],
        color="#2a6f97",
    )
    axes.set(xlabel="confidence", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1))
    axes.set_title(f"{report['rows']} rows, ECE {report['ece']:.3f}")
    figure.savefig(path)
