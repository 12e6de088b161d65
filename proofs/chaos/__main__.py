"""`python -m proofs.chaos --minutes N --seed S`; also `… selfcheck`, `… outage --minutes N`, `… brokers`."""

from __future__ import annotations

import argparse
import logging
import random
import sys
from pathlib import Path

import uvloop

from proofs.chaos.lanes import EDGES
from proofs.chaos.report import print_result
from proofs.chaos.run import Options, run


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m proofs.chaos", description="Real faults on real parts; exit code 1 unless all is well."
    )
    parser.add_argument("what", nargs="?", default="run", choices=("run", "selfcheck", "outage", "brokers"))
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--rate", type=float, default=300.0, help="events per second")
    parser.add_argument("--keep", type=Path, default=None, help="a folder to keep logs, ledger and data in")
    parser.add_argument("--only", default=None, help="selfcheck: one planted bug")
    parser.add_argument(
        "--edges",
        default="none",
        help=f"faults before the others, with commas between, all, or none: {', '.join(EDGES)} (default: %(default)s)",
    )
    given = parser.parse_args()
    edges = {"all": tuple(EDGES), "none": ()}.get(given.edges, tuple(given.edges.split(",")))
    if unknown := sorted(set(edges) - set(EDGES)):
        parser.error(f"no such fault: {', '.join(unknown)}")
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    seed = random.randrange(1_000_000) if given.seed is None else given.seed
    if given.what == "selfcheck":
        from proofs.chaos.selfcheck import selfcheck

        return uvloop.run(selfcheck(seed, given.only, given.rate))
    if given.what == "outage":
        from proofs.chaos.outage import outage

        return uvloop.run(outage(given.minutes, seed, given.rate, given.keep))
    if given.what == "brokers":
        from proofs.chaos.broker_faults import ReplicatedCluster, broker_lane

        options = Options(given.minutes, seed, given.rate, keep=given.keep, servers=ReplicatedCluster)
        result = uvloop.run(run(options, broker_lane))
        print_result(result)
        return 0 if result.ok else 1
    result = uvloop.run(run(Options(given.minutes, seed, given.rate, keep=given.keep, edges=edges)))
    print_result(result)
    return 0 if result.ok else 1


if __name__ == "__main__":
    sys.exit(main())
