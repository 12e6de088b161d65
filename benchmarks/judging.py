"""How fast messages are judged: `inference_throughput` in processes of its own, by words alone and with sentences."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, Final

from inference.minilm_files import present

ENCODERS: Final = ("none", "minilm")


def judging(times: int) -> dict[str, Any]:
    """By sentence encoder the run with the middle rate; an encoder that does not lie on this machine is left out."""
    return {name: _middle([_one(name) for _ in range(times)]) for name in ENCODERS if name == "none" or present()}


def _one(encoder: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.inference_throughput", "--json", "--sentence-encoder", encoder]
    told: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return told


def _middle(runs: list[dict[str, Any]]) -> dict[str, Any]:
    return sorted(runs, key=lambda one: one["messages_per_cpu_second"])[len(runs) // 2]
