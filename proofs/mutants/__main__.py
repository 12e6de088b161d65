"""Mutation tests: `python -m proofs.mutants` applies small changes to the code, and reports those that no test detects.

Each mutant of a sample is applied to a copy of the working tree, in which the tests of its line are run.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Literal

from proofs.mutants.coverage_map import EVERYWHERE, MAP, CoverageMap, function_of, record
from proofs.mutants.mutant import ROOT, Mutant
from proofs.mutants.sampling import EQUIVALENTS, package_of, sample, stale_entries
from proofs.mutants.tree import Run, Tree
from proofs.mutants.typescript_mutants import SECONDS, install
from proofs.mutants.typescript_mutants import TESTS as TYPESCRIPT

Outcome = Literal["noticed", "survived", "error"]
BUDGET_SECONDS = 20.0
"""Estimated duration of the tests that are chosen for a mutant."""
WHOLE_SUITE_SECONDS = 3_600


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome of one mutant. `detail` is the test that detected it, or the reason why the tests could not run."""

    mutant: Mutant
    outcome: Outcome
    detail: str
    tests: int
    seconds: float


def main() -> int:
    options = _options()
    if options.record is not None:
        return record(options.record)
    if not MAP.exists():
        print(
            "No map of the tests that run each line: make it with `python -m proofs.mutants --record`.", file=sys.stderr
        )
        return 2
    if stale := stale_entries():
        print(f"{EQUIVALENTS.name} lists what is no mutant of the tree:\n" + "\n".join(stale), file=sys.stderr)
        return 2
    covered = CoverageMap.read()
    mutants = sample(options.n, options.seed, covered, options.name, TYPESCRIPT if install() else ())
    if options.list:
        print("\n\n".join(_diff(one) for one in mutants))
        return 0
    print(f"{len(mutants)} mutants of seed {options.seed}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        Path(folder).chmod(0o755)  # an embedded PostgreSQL below it may run as another user
        trees = [Tree(Path(folder) / str(number)) for number in range(options.jobs)]
        try:
            results = _shown(_run(mutants, trees, covered, options.seconds), len(mutants))
            if options.full:
                results = [_again(one, trees[0]) if one.outcome == "survived" else one for one in results]
            results = confirmed(results, trees[0], options.seconds)
        finally:
            for tree in trees:
                tree.close()
    return report(results, options.share, as_json=options.json)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m proofs.mutants", description=__doc__)
    parser.add_argument("-n", type=int, default=60, help="mutants (60)")
    parser.add_argument("--seed", default=time.strftime("%Y-%m-%d"), help="what selects them (the date)")
    parser.add_argument("--name", default="", help="only files whose path holds this")
    parser.add_argument("--share", type=float, default=80, help="per cent that must be noticed (80)")
    parser.add_argument("--seconds", type=int, default=30, help="the most that a mutant's tests may take (30)")
    parser.add_argument("--jobs", type=int, default=2, help="copies of the tree at work at once (2)")
    parser.add_argument("--full", action="store_true", help="run all tests on those that survive")
    parser.add_argument("--json", action="store_true", help="the results as JSON on standard output")
    parser.add_argument("--list", action="store_true", help="print the mutants as diffs and run nothing")
    parser.add_argument(
        "--record",
        nargs=argparse.REMAINDER,
        metavar="ARGUMENT",
        help="record the lines of all tests, or add those that pytest's arguments select",
    )
    return parser.parse_args()


def _run(mutants: Sequence[Mutant], trees: Sequence[Tree], covered: CoverageMap, seconds: int) -> Iterator[Result]:
    free: SimpleQueue[Tree] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def one(mutant: Mutant) -> Result:
        tests = covered.tests_of(mutant.file, mutant.line, BUDGET_SECONDS)
        if not tests:
            return Result(mutant, "survived", "no test runs its file", 0, 0.0)
        tree = free.get()
        try:
            return tried(tree, mutant, tests, seconds)
        finally:
            free.put(tree)

    with ThreadPoolExecutor(len(trees)) as pool:
        futures: list[Future[Result]] = [pool.submit(one, mutant) for mutant in mutants]
        for future in as_completed(futures):
            yield future.result()


def tried(tree: Tree, mutant: Mutant, tests: Sequence[str], seconds: int) -> Result:
    """Run `tests` on a mutant. Tests that have no end with it alone have noticed it."""
    began, seconds = time.monotonic(), max(seconds, SECONDS.get(mutant.file, 0))
    run = tree.test(tests, mutant, seconds)
    if not run.has_ended and not tree.run(["-x", *tests], seconds).error:
        run = Run(True)
    outcome: Outcome = "error" if run.error else "noticed" if run.failed else "survived"
    return Result(mutant, outcome, run.error or run.first, len(tests), round(time.monotonic() - began, 1))


def confirmed(results: Sequence[Result], tree: Tree, seconds: int) -> list[Result]:
    """Return the results, with an error for each mutant whose test also fails without it."""
    noticed_by = {function_of(one.detail) for one in results if one.outcome == "noticed" and one.detail}
    fails_anyway = tree.failing(noticed_by, seconds) if noticed_by else set()
    return [
        replace(one, outcome="error", detail=f"without it, too: {one.detail}")
        if one.outcome == "noticed" and function_of(one.detail) in fails_anyway
        else one
        for one in results
    ]


def _again(survivor: Result, tree: Tree) -> Result:
    """Run all tests on a mutant that the selected ones did not detect."""
    began = time.monotonic()
    run = tree.test(EVERYWHERE, survivor.mutant, WHOLE_SUITE_SECONDS)
    outcome: Outcome = "error" if run.error else "noticed" if run.failed else "survived"
    return Result(survivor.mutant, outcome, run.error or run.first, -1, round(time.monotonic() - began, 1))


def _shown(results: Iterator[Result], total: int) -> list[Result]:
    """Return the results, and print a line on standard error for each."""
    seen = []
    for number, one in enumerate(results, 1):
        seen.append(one)
        where = f"{one.mutant.file}:{one.mutant.line}"
        print(f"[{number}/{total}] {one.outcome:8} {one.seconds:5.1f} s  {one.mutant.kind}: {where}", file=sys.stderr)
    return seen


def report(results: Sequence[Result], share: float, *, as_json: bool) -> int:
    """Print the undetected mutants and the share of detected ones. Returns the exit status: 0 from `share` % on."""
    noticed = [one for one in results if one.outcome == "noticed"]
    if as_json:
        print(json.dumps([asdict(one) for one in results], indent=1))
    else:
        for one in results:
            if one.outcome != "noticed":
                print(f"{one.outcome} ({one.tests} tests) {one.detail}\n{_diff(one.mutant)}\n")
    packages: dict[str, list[Result]] = defaultdict(list)
    for one in results:
        packages[package_of(one.mutant.file)].append(one)
    for package, own in sorted(packages.items()):
        print(f"{package}: {sum(one.outcome == 'noticed' for one in own)} of {len(own)}", file=sys.stderr)
    reached = 100 * len(noticed) / max(1, len(results))
    print(
        f"{len(noticed)} of {len(results)} mutants were noticed: {reached:.0f} %, {share:g} % wanted.", file=sys.stderr
    )
    return 0 if results and reached >= share else 1


def _diff(mutant: Mutant) -> str:
    """Return the mutant as a diff, or as one sentence if its file has changed since."""
    try:
        return mutant.diff((ROOT / mutant.file).read_text("utf-8"))
    except (OSError, ValueError):
        change = f"{mutant.before!r} became {mutant.after!r}"
        return f"{mutant.file} changed during the run: at its line {mutant.line}, {change}."


if __name__ == "__main__":
    sys.exit(main())
