"""The mutants still apply to the code as it reads, cover what they must, and the tool tells noticed from survived."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mutants.catalogue import ROOT, Mutant, catalogue, faults
from mutants.tree import Tree

LEAST = 60
DECIDING = (
    "libs/servicekit/kafka/{delivery,subscriber,producer,records,positions,dead_letters,erasing}.py",
    "libs/servicekit/kafka/{bug_rate_breaker,bounded_fetch,unpacking,members,stall}.py",
    "services/*/store_*.py",
    "services/*/consumer.py",
    "services/*/turns/search_postgres.py",
    "services/*/turns/statements.py",
    "services/chat_bridge/{batch,parking,translate}.py",
    "services/feedback/{reward,merge,erasure,announce,writer,registry,registry_postgres}.py",
    "services/inference/{announce,neighbours}.py",
    "services/reporting/mirror/{adopting,mirror,object_store,objects,receipts}.py",
    "services/reporting/projection.py",
    "services/reporting/queries/*.py",
    "services/standalone/{ledger,dlq,fates}.py",
)
"""Files that load, join, write, commit or decide: each has a mutant."""
WITHOUT = {
    "services/feedback/store_mongo.py": "needs a server; the store contract holds it in tests/ports",
    "services/inference/store_memory.py": "for tests",
}
"""Files among them that have none, and why."""
MUTANT = Mutant(
    "a stranger's cause is believed",
    "libs/servicekit/kafka/records.py",
    "return own if raw.coordinates.topic in FOREIGN else header(raw.headers, CAUSE) or own",
    "return header(raw.headers, CAUSE) or own",
    ("tests/unit/servicekit/test_cause.py",),
    "here",
)


def deciding() -> set[str]:
    found: set[str] = set()
    for pattern in DECIDING:
        before, _, rest = pattern.partition("{")
        names, _, after = rest.partition("}")
        for name in names.split(","):
            found |= {str(file.relative_to(ROOT)) for file in ROOT.glob(f"{before}{name}{after}")}
    return {file for file in found if not file.endswith("__init__.py")}


def test_all_mutants_still_apply() -> None:
    assert faults(catalogue()) == []


def test_whatever_loads_joins_writes_commits_or_decides_has_a_mutant() -> None:
    mutants = catalogue()
    assert len(mutants) >= LEAST
    bare = deciding() - {mutant.file for mutant in mutants} - WITHOUT.keys()
    assert not bare, "give each of these a mutant in tests/mutants/tables, or say in WITHOUT why it needs none"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"before": "no such line"}, "`before` no longer stands in libs/servicekit/kafka/records.py"),
        ({"before": "return"}, "times in libs/servicekit/kafka/records.py: make it longer"),
        ({"after": MUTANT.before}, "`before` and `after` are the same"),
        ({"file": "libs/gone.py"}, "No such file"),
        ({"tests": ("tests/gone.py",)}, "no such tests: tests/gone.py"),
        ({"tests": ()}, "none is named"),
    ],
)
def test_a_mutant_that_cannot_be_run_is_a_fault(change: dict[str, object], why: str) -> None:
    (fault,) = faults([replace(MUTANT, **change)])  # type: ignore[arg-type]
    assert why in fault
    assert "tests/mutants/tables/here" in fault


def test_two_mutants_of_one_name_are_a_fault() -> None:
    assert faults([MUTANT, MUTANT]) == [
        'tests/mutants/tables/here, "a stranger\'s cause is believed": the name is taken'
    ]


def test_a_mutant_is_noticed_in_a_copy_and_the_tree_stays_whole(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    assert not tree.sound(MUTANT.tests).failed
    run = tree.test(MUTANT.tests, MUTANT)
    assert (run.failed, run.error) == (True, "")
    assert "test_cause.py" in run.first
    harmless = replace(MUTANT, after=f"{MUTANT.before}  # the same")
    assert not tree.test(MUTANT.tests, harmless).failed
    for root in (ROOT, tmp_path):
        assert MUTANT.before in (root / MUTANT.file).read_text("utf-8")
    assert tree.sound(["tests/unit/servicekit/test_cause.py::no_such_test"]).error


def test_the_command_selects_by_name_and_answers_as_json() -> None:
    command = [sys.executable, "-m", "mutants", "--json", "a stranger's cause is believed"]
    done = subprocess.run(
        command, cwd=ROOT, env={"PYTHONPATH": "tests", "PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert (printed["noticed"], [one["outcome"] for one in printed["results"]]) == (1, ["noticed"])
    assert "[1/1] noticed" in done.stderr


def test_a_mutant_that_counts_on_a_failing_test_is_no_proof() -> None:
    failing = "tests/unit/servicekit/test_cause.py::test_a_cause"
    assert MUTANT.counts_on([failing]) == failing
    assert replace(MUTANT, tests=("tests/unit",)).counts_on([failing]) == failing
    assert MUTANT.counts_on(["tests/unit/servicekit/test_delivery.py::test_a_cause"]) is None
