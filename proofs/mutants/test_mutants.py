"""Generated mutants, repeatable samples over all packages, and the outcomes of a run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from proofs.mutants.__main__ import Result, confirmed, tried
from proofs.mutants.coverage_map import CoverageMap
from proofs.mutants.mutant import ROOT, Mutant
from proofs.mutants.python_mutants import python_mutants
from proofs.mutants.sampling import (
    mutants_of,
    product_files,
    stale_entries,
)
from proofs.mutants.sql_mutants import schema_mutants
from proofs.mutants.statement_uses import places_of
from proofs.mutants.tree import Tree

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
