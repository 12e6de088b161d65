"""Hundreds of histories of crashes, delays, duplicates and reorderings, and checks that planted bugs are detected."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from proofs.simulation.one_seed import run_seed
from proofs.simulation.planted import PLANTED
from proofs.simulation.processes import WITHOUT_SWEEP

SEEDS, PARTS = 200, 10
"""Seeds within which every planted bug must be detected; also run without a bug. `make stress` runs more."""
WITHOUT = 80
"""Seeds of histories without a sweep."""


@pytest.mark.parametrize("part", range(PARTS))
def test_every_history_keeps_the_promises(part: int) -> None:
    verdicts = [run_seed(seed) for seed in range(part, SEEDS, PARTS)]
    assert [f"seed {v.seed}: {'; '.join(v.broken)}" for v in verdicts if v.broken] == []
    assert min(v.events for v in verdicts) >= 50
    assert min(sum(v.faults.values()) for v in verdicts) >= 5


@pytest.mark.parametrize("part", range(2))
def test_every_wait_ends_without_a_sweep(part: int) -> None:
    verdicts = [run_seed(seed, WITHOUT_SWEEP) for seed in range(part, WITHOUT, 2)]
    assert [f"seed {v.seed}: {'; '.join(v.broken)}" for v in verdicts if v.broken] == []


def test_the_unexpected_happens_often() -> None:
    seen = sum((Counter(run_seed(seed).faults) for seed in range(20)), Counter[str]())
    assert seen["unexpected"] >= 10


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_seen(bug: str) -> None:
    assert any(run_seed(seed, PLANTED[bug]).broken for seed in range(SEEDS))


def test_a_seed_replays_exactly_even_in_another_process() -> None:
    first, again = run_seed(7), run_seed(7)
    assert first == again
    assert run_seed(8).fingerprint != first.fingerprint
    script = "from proofs.simulation.one_seed import run_seed; print(run_seed(7).fingerprint)"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONHASHSEED": "99"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == first.fingerprint
