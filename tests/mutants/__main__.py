"""Break the code in many small ways, one at a time, and see whether the tests notice: `python -m mutants`.

Each mutant is applied to a copy of the working tree and the tests it names are run there. A survivor fails the run.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Literal

from mutants.catalogue import Mutant, catalogue, faults
from mutants.tree import Tree

Outcome = Literal["noticed", "survived", "error"]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one mutant. `detail` is the test that noticed it, or why the tests could not run."""

    name: str
    file: str
    outcome: Outcome
    detail: str
    seconds: float


def main() -> int:
    options = _options()
    mutants = catalogue()
    broken = faults(mutants)
    if broken:
        print("\n".join(broken), file=sys.stderr)
        return 2
    chosen = [one for one in mutants if not options.names or any(name in one.name for name in options.names)]
    if options.list or options.check:
        if options.list:
            print("\n".join(f"{one.name}\n    {one.file}\n    {' '.join(one.tests)}" for one in chosen))
        return 0
    if not chosen:
        print(f"No mutant's name holds {' or '.join(options.names)}.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        Path(folder).chmod(0o755)  # an embedded PostgreSQL below it may run as another user
        trees = [Tree(Path(folder) / str(number)) for number in range(min(options.jobs, len(chosen)))]
        sound = trees[0].sound(sorted({test for one in chosen for test in one.tests}))
        if sound.error or (sound.failed and not sound.which):
            print(f"The tests do not run: {sound.error}", file=sys.stderr)
            return 2
        for failing in sound.which:
            print(f"This fails without any mutant: {failing}", file=sys.stderr)
        results = _shown(_run(chosen, trees, sound.which), len(chosen))
    bad = [one for one in results if one.outcome != "noticed"]
    if options.json:
        print(json.dumps({"noticed": len(results) - len(bad), "results": [asdict(one) for one in results]}, indent=1))
    else:
        for one in bad:
            print(f"{one.outcome}: {one.name} ({one.file}) {one.detail}".rstrip())
        print(f"{len(results) - len(bad)} of {len(results)} mutants were noticed.")
    return 1 if bad else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only mutants whose name holds one of these")
    parser.add_argument("--jobs", type=int, default=2, help="copies of the tree at work at once (2)")
    parser.add_argument("--json", action="store_true", help="the results as JSON on standard output")
    parser.add_argument("--list", action="store_true", help="say which there are and run nothing")
    parser.add_argument("--check", action="store_true", help="only see whether all of them still apply")
    return parser.parse_args()


def _run(mutants: Sequence[Mutant], trees: Sequence[Tree], failing: Sequence[str] = ()) -> Iterator[Result]:
    """One result a mutant; those that count on a test which is `failing` anyway are errors."""
    free: SimpleQueue[Tree] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def one(mutant: Mutant) -> Result:
        if spoilt := mutant.counts_on(failing):
            return Result(mutant.name, mutant.file, "error", f"{spoilt} fails without it, too", 0.0)
        tree, began = free.get(), time.monotonic()
        try:
            run = tree.test(mutant.tests, mutant)
        finally:
            free.put(tree)
        outcome: Outcome = "error" if run.error else "noticed" if run.failed else "survived"
        return Result(mutant.name, mutant.file, outcome, run.error or run.first, round(time.monotonic() - began, 1))

    with ThreadPoolExecutor(len(trees)) as pool:
        futures: list[Future[Result]] = [pool.submit(one, mutant) for mutant in mutants]
        for future in as_completed(futures):
            yield future.result()


def _shown(results: Iterator[Result], total: int) -> list[Result]:
    """The results, each with a line on standard error as it comes."""
    seen = []
    for number, one in enumerate(results, 1):
        seen.append(one)
        print(f"[{number}/{total}] {one.outcome:8} {one.seconds:5.1f} s  {one.name}", file=sys.stderr, flush=True)
    return seen


if __name__ == "__main__":
    sys.exit(main())
