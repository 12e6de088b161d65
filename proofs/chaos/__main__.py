"""`python -m proofs.chaos --minutes N --seed S --faults KIND,…`; also `python -m proofs.chaos selfcheck`."""

from __future__ import annotations

import argparse
import logging
import random
import sys
from pathlib import Path

import uvloop

from proofs.chaos.lanes import EDGES
from proofs.chaos.report import print_result
from proofs.chaos.run import BROKERS, LANES, Options, run
from proofs.chaos.selfcheck import selfcheck


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m proofs.chaos", description="Real faults on real parts; exit code 1 unless all is well."
    )
    parser.add_argument("what", nargs="?", default="run", choices=("run", "selfcheck"))
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--rate", type=float, default=300.0, help="events per second")
    parser.add_argument("--keep", type=Path, default=None, help="a folder to keep logs, ledger and data in")
    parser.add_argument("--only", default=None, help="selfcheck: one planted bug")
    parser.add_argument(
        "--faults",
        default=",".join(LANES),
        help=f"with commas between: {', '.join(LANES)}, and before these {', '.join(EDGES)};"
        f" or {BROKERS} alone (default: %(default)s)",
    )
    options = parser.parse_args()
    faults = tuple(options.faults.split(","))
    if faults != (BROKERS,) and (unknown := sorted({*faults}.difference(LANES, EDGES))):
        parser.error(f"no such fault, or not with others: {', '.join(unknown)}")
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    if options.what == "selfcheck":
        return uvloop.run(selfcheck(seed, options.only, options.rate))
    result = uvloop.run(run(Options(options.minutes, seed, options.rate, keep=options.keep, faults=faults)))
    print_result(result)
    return 1 if result.errors else 0


if __name__ == "__main__":
    sys.exit(main())
