"""Generated mutants, repeatable samples over all packages, and the outcomes of a run."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from proofs.mutants.__main__ import Result, confirmed, report, tried
from proofs.mutants.coverage_map import _OF_DECLARATIONS, _OF_SCHEMAS, CoverageMap, write_map
from proofs.mutants.mutant import ROOT, Mutant
from proofs.mutants.python_mutants import python_mutants
from proofs.mutants.sampling import (
    equivalents,
    mutants_of,
    package_of,
    product_files,
    sample,
    stale_entries,
    unobservable,
)
from proofs.mutants.sql_mutants import schema_mutants, sql_file_mutants
from proofs.mutants.statement_uses import places_of
from proofs.mutants.tree import Run, Tree
from proofs.mutants.typescript_mutants import TESTS as TYPESCRIPT
from proofs.mutants.typescript_mutants import install

CAUSE = "libs/servicekit/log/records.py"
TESTS = ("tests/unit/servicekit/test_producer.py",)


def lines_of(text: str) -> set[tuple[str, str]]:
    return {(mutant.kind, mutant.changed_lines(text)[1]) for mutant in python_mutants("x.py", text)}


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        ("a = b < c", "comparison", "a = b <= c"),
        ("a = b < c", "comparison", "a = b > c"),
        ("a = b not in c", "comparison", "a = b in c"),
        ("a = b and c", "condition", "a = b or c"),
        ("a = b and c", "dropped condition", "a = b"),
        ("a = not b", "condition", "a = b"),
        ("a = 7 * DAY", "arithmetic", "a = 7 // DAY"),
        ("a = 7 * DAY", "constant", "a = 8 * DAY"),
        ("a = 30", "constant", "a = 300"),
        ("a = True", "constant", "a = False"),
        ("def f():\n    return a", "return value", "return None"),
        ("def f():\n    if a: g()", "negated condition", "if not (a): g()"),
        ("async def f():\n    await g()", "missing await", "g()"),
        ("def f():\n    self.g()", "deleted statement", "pass"),
        ("a = 'ü' if b else c", "negated condition", "a = 'ü' if not (b) else c"),
        ("a = 'select b from c where d < $1 and e = $2'", "SQL comparison",
         "a = 'select b from c where d <= $1 and e = $2'"),
        ("a = 'select b from c where d < $1 and e is null'", "SQL dropped condition",
         "a = 'select b from c where d < $1'"),
        ("a = 'update c set d = $1, e = excluded.e where f = $2'", "SQL dropped column",
         "a = 'update c set d = $1 where f = $2'"),
        ("a = 'select b from c order by b desc limit 1'", "SQL order", "a = 'select b from c order by b asc limit 1'"),
    ],
)  # fmt: skip
def test_each_operator(text: str, kind: str, line: str) -> None:
    assert (kind, line) in lines_of(text)


@pytest.mark.parametrize(
    "text",
    [
        '"""Not 1 < 2."""',
        "def f(a: Literal[1]) -> int: ...",
        "assert a < b",
        "def f():\n    log.info('x', n=1)",
        "@dataclass(frozen=True)\nclass A: ...",
        "def f():\n    READ.labels('a').inc(2)",
        "a = list(zip(b, c, strict=True))",
    ],
)
def test_nothing_is_broken_that_no_test_could_notice(text: str) -> None:
    assert lines_of(text) == set()


def test_every_mutant_of_the_product_can_be_compiled() -> None:
    for file in product_files()[::20]:
        text = (ROOT / file).read_text("utf-8")
        for mutant in mutants_of(file, text):
            broken = mutant.applied_to(text)
            assert broken != text
            if file.endswith(".py"):
                ast.parse(broken)


def test_files_of_statements_are_broken_outside_of_comments() -> None:
    text = "-- name: find\n-- Not older < than.\nselect b from c -- d < e\nwhere d < :at and e = any(:ids::text[])\n"
    found = sql_file_mutants("services/x/sql/y.sql", text)
    assert {mutant.changed_lines(text)[1] for mutant in found} == {
        "where d <= :at and e = any(:ids::text[])",
        "where d < :at",
        "where e = any(:ids::text[])",
    }


def test_a_schema_file_is_broken_except_what_changes_no_result() -> None:
    text = """create table a (
    b bigint default 0, primary key (tenant, b));
create unique index only on a (b);
create index fast on a (b desc) where b is not null;
comment on table a is 'This and that';
create view v as select b from a
where b is not null;
"""
    found = schema_mutants("services/x/sql/schema.sql", text)
    assert sorted(mutant.changed_lines(text)[1] for mutant in found) == [
        "b bigint default 0, primary key (tenant));",
        "b bigint, primary key (tenant, b));",
        "create index only on a (b);",
        "where b is null;",
    ]


def test_the_tests_of_a_line_of_a_schema_file_are_those_of_the_statements_on_its_table() -> None:
    file = "services/chat_bridge/sql/schema.sql"
    lines = (ROOT / file).read_text("utf-8").splitlines()
    key = next(number for number, line in enumerate(lines, 1) if "primary key (event_id, topic, field" in line)
    assert {path for path, _ in places_of(file, key)} == {"services/chat_bridge/refused_store.py"}
    view = "services/inference/sql/schema.sql"
    counted = next(
        number for number, line in enumerate((ROOT / view).read_text().splitlines(), 1) if "explicit or" in line
    )
    assert {path for path, _ in places_of(view, counted)} == {"services/inference/turns/store_postgres.py"}


def test_strykers_mutants_of_the_client_are_replacements_of_its_text() -> None:
    if not install():
        pytest.skip("Stryker's mutants need Node 20, npm and its registry")
    for file in TYPESCRIPT:
        text = (ROOT / file).read_text("utf-8")
        found = mutants_of(file, text)
        assert len(found) > 20
        assert "ConditionalExpression" in {mutant.kind for mutant in found}
        assert all(mutant.applied_to(text) != text for mutant in found)


def test_the_tests_of_a_statement_are_those_of_its_uses() -> None:
    store = "services/chat_bridge/store_postgres.py"
    python = (ROOT / store).read_text("utf-8").splitlines()
    [found] = [number for number, line in enumerate(python, 1) if "SQL.find_messages" in line]
    [released] = [number for number, line in enumerate(python, 1) if "SQL.released_by" in line]
    file = "services/chat_bridge/sql/messages.sql"
    sql = (ROOT / file).read_text("utf-8").splitlines()
    [question] = [number for number, line in enumerate(sql, 1) if "order by q.at" in line]
    [finding] = [number for number, line in enumerate(sql, 1) if "select {key_of(m)}" in line]
    assert places_of(file, finding) == ((store, found),)
    assert {(store, found), (store, released)} < {*places_of(file, question)}
    covered = CoverageMap({store: {found: ["tests/stores/a.py::test_a"], 1: ["tests/stores/a.py::test_b"]}}, {})
    assert covered.is_executed(file, finding)
    assert covered.tests_of(file, finding, 20) == ["tests/stores/a.py::test_a"]


@pytest.mark.parametrize("file", [file for file in product_files() if "/sql/" in file])
def test_every_statement_and_fragment_has_a_use(file: str) -> None:
    lines = (ROOT / file).read_text("utf-8").splitlines()
    heads = [number for number, line in enumerate(lines, 1) if line.startswith(("-- name:", "-- func", "-- frag"))]
    assert [lines[number - 1] for number in heads if not places_of(file, number)] == []


def test_a_sample_is_the_same_for_a_seed_and_takes_packages_in_turn() -> None:
    nothing = CoverageMap({}, {})
    count = 3 * len({package_of(mutant.file) for mutant in sample(100, "a", nothing)})
    first = sample(count, "a", nothing)
    assert first == sample(count, "a", nothing)
    assert first != sample(count, "b", nothing)
    assert set(Counter(package_of(mutant.file) for mutant in first).values()) == {3}
    assert all(mutant.file.startswith("services/feedback/") for mutant in sample(5, "a", nothing, "services/feedback/"))


def test_lines_that_tests_run_come_first() -> None:
    """Two maps cover one half of the lines each: without weights, both halves together are chosen once."""
    file = "services/feedback/merge.py"
    lines = sorted({mutant.line for mutant in _of_file(file)})
    executed, chosen = 0, 0
    for run in (lines[::2], lines[1::2]):
        covered = CoverageMap({file: {line: ["tests/unit/a.py::test_a"] for line in run}}, {})
        for seed in range(20):
            first = sample(len(lines) // 4, str(seed), covered, file)
            executed += sum(mutant.line in run for mutant in first)
            chosen += len(first)
    assert executed > 0.58 * chosen > 50


def test_equivalent_mutants_are_left_out() -> None:
    known = equivalents()
    for mutant in (one for file in sorted({file for file, _, _ in known}) for one in _of_file(file)):
        text = (ROOT / mutant.file).read_text("utf-8")
        assert (mutant.file, *mutant.changed_lines(text)) not in known


def test_every_equivalent_mutant_is_a_mutant_of_the_tree(tmp_path: Path) -> None:
    assert stale_entries() == []
    murmur2, seed = "libs/contracts/murmur2.py", "_SEED: Final = 0x9747B28C"
    entry = f'[[equivalent]]\nfile = "{murmur2}"\nreason = "x"\n'
    listed = tmp_path / "equivalents.toml"
    listed.write_text(
        f"{entry}before = '{seed}'\nafter = '_SEED: Final = 25380583800'\n"
        f"{entry}before = '{seed}'\nafter = '_SEED: Final = 2'\n"
        f"{entry}before = 'no such line'\nafter = 'pass'\n"
        "[[equivalent]]\nfile = 'libs/gone.py'\nreason = 'x'\nbefore = 'a'\nafter = 'b'\n"
        "[[unobservable]]\nline = '^_SEED'\n[[unobservable]]\nline = '^_NO_SUCH_NAME'\n",
        "utf-8",
    )
    stale = ["libs/gone.py: a", f"{murmur2}: {seed}", f"{murmur2}: no such line", "^_NO_SUCH_NAME"]
    assert sorted(stale_entries(listed)) == sorted(stale)


def test_what_changes_no_result_is_left_out() -> None:
    pattern = unobservable()
    assert pattern.search("_AT_ONCE: Final = 5_000") and pattern.search("BATCH = 500")
    assert not pattern.search("SWEEP_SECONDS: Final = 3_600.0") and not pattern.search("TEXT_LIMIT = 10_000")


def _of_file(file: str) -> list[Mutant]:
    return sample(10_000, "a", CoverageMap({}, {}), file)


def test_the_most_specific_tests_are_chosen_within_their_time() -> None:
    wide, near, slow = "tests/unit/a.py::test_wide", "tests/unit/b.py::test_near", "tests/unit/c.py::test_slow"
    lines = {"x.py": {1: [wide, near, slow], 2: [near]}, "y.py": {number: [wide] for number in range(50)}}
    covered = CoverageMap(lines, {wide: 1.0, near: 1.0, slow: 90.0})
    assert covered.tests_of("x.py", 1, 20) == [near, wide]
    assert covered.tests_of("x.py", 9, 20) == [near, wide, *_OF_DECLARATIONS], "it runs at import"
    assert covered.tests_of("x.py", 1, 2) == [near]
    assert covered.tests_of("z.py", 1, 20) == []
    assert covered.tests_of("services/feedback/sql/schema.sql", 1, 20) == [*_OF_SCHEMAS]
    for test in (*_OF_DECLARATIONS, *_OF_SCHEMAS):
        file, _, function = test.partition("::")
        assert function in (ROOT / file).read_text("utf-8")


def of(before: str, after: str) -> Mutant:
    text = (ROOT / CAUSE).read_text("utf-8")
    start = text.index(before)
    return Mutant(CAUSE, start, start + len(before), after, "by hand", text.count("\n", 0, start) + 1, before)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tree]:
    copy = Tree(tmp_path_factory.mktemp("copy"))
    yield copy
    copy.close()


def test_a_mutant_is_noticed_in_a_copy_and_the_tree_stays_whole(tree: Tree) -> None:
    condition = "own if raw.coordinates.topic in FOREIGN else "
    run = tree.test(TESTS, of(condition, ""), 120)
    assert (run.failed, run.error) == (True, "")
    assert "test_producer.py" in run.first
    assert not tree.test(TESTS, of(condition, condition + "False or "), 120).failed
    assert tree.test(TESTS, of("from __future__", "from __past__"), 120).failed
    for root in (ROOT, tree.folder):
        assert condition in (root / CAUSE).read_text("utf-8")
    with pytest.raises(ValueError, match="has changed"):
        of(condition, "").applied_to("")


@pytest.mark.parametrize(
    ("file", "before", "after", "test"),
    [
        ("libs/agentkit/agent_feedback_kit/timeline/refresh.py", '"[NEW FEEDBACKS]"', '"[NEW]"',
         "tests/unit/agentkit/test_timeline.py"),
        ("libs/contracts/murmur2.py", "_SEED: Final = 0", "_SEED: Final = 1", "tests/unit/contracts/test_records.py"),
        ("services/feedback/reward.py", "INFERRED_VALUES[verdict]", "0.0", "tests/unit/feedback/test_reward.py"),
    ],
)  # fmt: skip
def test_the_copys_code_is_tested_wherever_it_lies(tree: Tree, file: str, before: str, after: str, test: str) -> None:
    text = (ROOT / file).read_text("utf-8")
    start = text.index(before)
    mutant = Mutant(file, start, start + len(before), after, "by hand", text.count("\n", 0, start) + 1, before)
    assert tree.test([test], mutant, 120).failed


def test_a_test_that_fails_without_the_mutant_notices_nothing(tree: Tree) -> None:
    folder = tree.folder / "tests" / "unit" / "servicekit"
    for name, text in (
        ("test_broken.py", "import no_such_module\n"),
        ("test_red.py", "def test_red(): assert False\n"),
        # pytest-timeout does not cover the import of a module.
        ("test_hangs.py", "import signal\nsignal.pause()\n"),
    ):
        (folder / name).write_text(text, "utf-8")
    mutant = of("from __future__", "from __past__")
    results = {}
    for test in (*TESTS, *(f"tests/unit/servicekit/{name}" for name in ("test_broken.py", "test_red.py::test_red"))):
        run = tree.test((test,), mutant, 120)
        assert run.failed
        results[test] = Result(mutant, "noticed", run.first, 1, 0.0)
    outcomes = [one.outcome for one in confirmed(list(results.values()), tree, 120)]
    assert outcomes == ["noticed", "error", "error"]
    assert tree.run(["tests/unit/servicekit/test_hangs.py"], 1).error == "no end after 2 s"


def test_a_mutant_without_end_is_noticed_if_its_tests_end_without_it(tree: Tree) -> None:
    text = (ROOT / CAUSE).read_text("utf-8")
    start = text.index("from __future__")
    start = text.index("\n", start) + 1
    endless = Mutant(CAUSE, start, start, "while True: pass\n", "by hand", text.count("\n", 0, start) + 1, "")
    one = tried(tree, endless, TESTS, 10)
    assert (one.outcome, one.detail) == ("noticed", "")


def test_a_process_that_ends_is_an_error_and_starts_again(tree: Tree) -> None:
    killing = tree.folder / "tests" / "unit" / "servicekit" / "test_killing.py"
    killing.write_text("import os\ndef test_kills(): os.kill(os.getppid(), 9)\n", "utf-8")
    run = tree.run([str(killing.relative_to(tree.folder))], 120)
    assert not run.failed and run.error
    assert tree.run(TESTS, 120) == Run(False)


def test_sources_that_change_during_a_run_are_named(tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    gone = Mutant(CAUSE, 0, 3, "new", "by hand", 1, "old")
    run = tree.test(TESTS, gone, 120)
    assert run.error == f"{CAUSE} has changed since the mutant was made."
    assert report([Result(gone, "error", run.error, 1, 0.0)], 80, as_json=False) == 1
    assert f"{CAUSE} changed during the run: at its line 1, 'old' became 'new'." in capsys.readouterr().out


def recorded(tests: Path) -> CoverageMap:
    """Run a file of tests with coverage, and return the map of the product's lines."""
    environment = {**os.environ, "MUTANTS_COVERAGE": str(tests.parent / "coverage")}
    options = ("-q", "-p", "proofs.mutants.recording", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", *options, str(tests)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    write_map(ROOT, tests.parent)
    return CoverageMap.read(tests.parent / "map.json")


def test_a_fixture_of_a_module_is_run_by_all_of_its_tests(tmp_path: Path) -> None:
    shared = tmp_path / "test_shares.py"
    shared.write_text(
        "import contracts.murmur2, pytest\n"
        "@pytest.fixture(scope='module')\n"
        "def hashed(): return contracts.murmur2.murmur2(bytes(5))\n"
        "def test_runs_it(hashed): assert hashed\n"
        "def test_reads_it(hashed): assert hashed\n",
        "utf-8",
    )
    file = "libs/contracts/murmur2.py"
    covered = recorded(shared)
    within = max(
        number for number, line in enumerate((ROOT / file).read_text("utf-8").splitlines(), 1) if "return" in line
    )
    names = {test.partition("::")[2] for test in covered.lines[file][within]}
    assert names == {"test_runs_it", "test_reads_it"}


def test_lines_of_processes_that_tests_start_are_recorded(tmp_path: Path) -> None:
    started = tmp_path / "test_starts.py"
    started.write_text(
        "import subprocess, sys, contracts.murmur2\n"
        "def test_starts_a_process():\n"
        "    subprocess.run([sys.executable, '-c', 'from contracts.murmur2 import murmur2; murmur2(bytes(5))'],"
        " check=True)\n"
        "def test_imports_a_module():\n"
        "    import contracts.intervals\n",
        "utf-8",
    )
    covered = recorded(started)
    text = (ROOT / "libs/contracts/murmur2.py").read_text("utf-8").splitlines()
    [within] = [number for number, line in enumerate(text, 1) if line.strip().startswith("return ")][-1:]
    [imported] = [number for number, line in enumerate(text, 1) if line.startswith("_MASK")]
    assert covered.is_executed("libs/contracts/murmur2.py", within)
    assert not covered.is_executed("libs/contracts/murmur2.py", imported)
    intervals = (ROOT / "libs/contracts/intervals.py").read_text("utf-8").splitlines()
    [constant] = [number for number, line in enumerate(intervals, 1) if line.startswith("Z")]
    assert not covered.is_executed("libs/contracts/intervals.py", constant), "a test that imports it reads no constant"
