"""Speed of judging: runs of `inference_throughput` in separate processes, with words alone and with the encoder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from detector.encoders.minilm_files import present

ENCODERS: Final = ("none", "minilm")


def judging(times: int, recorded: Path) -> list[dict[str, Any]]:
    """Return the run with the median rate, for each kind of conversation and each sentence encoder.

    Missing encoders are skipped.
    """
    encoders = [name for name in ENCODERS if name == "none" or present()]
    sources: dict[str, list[str]] = {"made": [], "recorded": ["--recorded", str(recorded)]}
    return [
        {"conversations": source} | _middle([_one([*options, "--sentence-encoder", encoder]) for _ in range(times)])
        for source, options in sources.items()
        for encoder in encoders
    ]


def _one(options: list[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.inference_throughput", "--json", *options]
    measured: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return measured


def _middle(runs: list[dict[str, Any]]) -> dict[str, Any]:
    return sorted(runs, key=lambda one: one["messages_per_cpu_second"])[len(runs) // 2]
