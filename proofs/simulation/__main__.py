"""Runs many seeds, or repeats one: `python -m proofs.simulation --seeds 10000`, `… --seed 42`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from proofs.simulation.one_seed import Verdict, run_seed

SHOWN = 5
"""Number of failing seeds that are described."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10_000, help="how many")
    parser.add_argument("--seed", type=int, help="this one only")
    options = parser.parse_args()
    seeds = range(options.seeds) if options.seed is None else [options.seed]
    began = time.monotonic()
    faults: Counter[str] = Counter()
    events = 0
    failed: list[Verdict] = []
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(seeds))) as pool:
        verdicts = pool.map(run_seed, seeds, chunksize=max(1, min(20, len(seeds) // 20)))
        for verdict in verdicts:
            faults.update(verdict.faults)
            events += verdict.events
            if verdict.broken:
                failed.append(verdict)
    for verdict in failed[:SHOWN]:
        print(f"Seed {verdict.seed} (history {verdict.fingerprint}, faults {verdict.faults}):")
        for promise in verdict.broken:
            print(f"  {promise}")
    injected = ", ".join(f"{count} {name}" for name, count in faults.most_common())
    print(f"{len(seeds)} histories, {events} events, {sum(faults.values())} faults ({injected}).")
    print(f"{len(failed)} broke a promise. {time.monotonic() - began:.0f} s.")
    if failed:
        print("Again: " + " ".join(f"--seed {verdict.seed}" for verdict in failed[:20]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
