"""Comparison of our HTTP server with uvicorn's on h11, on requests of any form.

python -m proofs.edges [--cases N] [--seed N]
"""

from __future__ import annotations

import argparse
import logging
import sys

import uvloop

from proofs.edges.run import compare


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m proofs.edges", description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL + 1)
    comparison = uvloop.run(compare(options.seed, options.cases))
    print(f"{comparison.cases:,} cases; intended differences:")
    for name, count in comparison.named.most_common():
        print(f"  {count:6,} {name}")
    for finding in comparison.findings[:20]:
        print(finding)
    print(f"{len(comparison.findings)} other differences (--seed {options.seed})")
    sys.exit(bool(comparison.findings))


if __name__ == "__main__":
    main()
