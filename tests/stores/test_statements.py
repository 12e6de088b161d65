"""Every named SQL statement: PostgreSQL plans it against the schema, and code uses it with its values."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg
import pytest

from chat_bridge.sql import SQL as CHAT_BRIDGE
from contracts.instants import DAY
from feedback.sql import SQL as FEEDBACK
from inference.sql import SQL as INFERENCE
from reporting.feedback.search import _statement as _search
from reporting.figures.dimension_votes import (
    choices_slots,
    feedback_holds,
    narrowed_to,
    source_of,
    value_of,
)
from reporting.figures.rollup_counts import judgements, reasons_given, steps, votes
from reporting.model.dimensions import dimension
from reporting.model.projection import FeedbackRow
from reporting.model.selection import NONE_GIVEN, Filters, Project, TimeSpan, conditions, where
from reporting.pages.queries.breakdown import WITH_SPARKS, WITHOUT_SPARKS
from reporting.sql import SQL as REPORTING
from reporting.turns.artifacts import KINDS, Search
from reporting.turns.artifacts import _statement as _artifacts
from servicekit.db.pools import open_pool
from servicekit.db.sql import SQL as SERVICEKIT
from servicekit.db.statements import Statement, Statements
from tests.support.databases import SCHEMAS

ROOT = Path(__file__).parents[2]
AT, SPAN = Project("acme", "support"), TimeSpan(DAY // 2, 40 * DAY)
EVERY = Filters(
    agent_id="a",
    agent_version="1",
    model="m",
    reaction="ok",
    origins=("user",),
    feedback_type="verdict",
    tag="intent",
    min_confidence=0.5,
    user_id="u",
    conversation_id="c",
    detector="d",
    decided_by="rules",
    given_by="person",
    source="post",
    issue=1,
    unreviewed=True,
    bundle_id="b",
    track_id="k",
    intent="i",
    user_type="t",
    strategy="s",
    thread="h",
    attributes={"arm": "a"},
)
WHERE = where(AT, SPAN, EVERY.replace(text="x"))[0]
Parts = Sequence[Mapping[str, str]]
FILLED: Mapping[tuple[str, ...], Parts] = {
    ("filters",): [{"filters": " and t.intent = :intent and t.user_id = :user_id and t.agent_id = :agent_id"}],
    ("narrowed",): [{"narrowed": ""}, {"narrowed": " and e.agent_id = :agent_id and e.model = :model"}],
    ("where",): [{"where": WHERE}],
    ("view", "where"): [
        {"view": view, "where": WHERE} for view in ("effective", "live_feedback", "effective_or_overruled")
    ],
    ("source",): [
        {"source": source.sql}
        for filters in (NONE_GIVEN, Filters(agent_id="a"), EVERY)
        for source in (
            votes(AT, SPAN, filters),
            steps(AT, SPAN, filters, [SPAN.start]),
            reasons_given(AT, SPAN, filters),
        )
    ],
}
"""SQL for the slots of statements, by the names of the slots."""
BY_NAME: Mapping[str, Parts] = {
    "count_judgements": [{"source": judgements(AT, SPAN, filters).sql} for filters in (NONE_GIVEN, EVERY)],
    "break_down": [{"source": votes(AT, SPAN, NONE_GIVEN).sql, **slots} for slots in (WITH_SPARKS, WITHOUT_SPARKS)],
    "growing_issues": [
        {"view": "effective", "narrowed": conditions(AT, SPAN, filters)[1]} for filters in (NONE_GIVEN, EVERY)
    ],
    "count_ratings": [{"view": "effective", "where": WHERE}],
    "count_values": [
        {
            "source": source_of(by, AT, SPAN, filters).sql,
            "value": value_of(by),
            "narrowed": narrowed_to(by, to_values=True)[0],
        }
        for by in (dimension("version"), dimension("attributes.arm"))
        for filters in (NONE_GIVEN, EVERY)
    ],
    "list_choices": [choices_slots(agent) for agent in (None, "a")],
    "count_by_person": [
        {
            "view": "effective",
            "where": WHERE,
            "holds": feedback_holds(dimension(name))[0],
            "counts": "false",
        }
        for name in ("version", "bundle", "strategy")
    ],
    "list_reasons": [
        {"source": reasons_given(AT, SPAN, filters, rules=rules).sql}
        for filters in (NONE_GIVEN, EVERY)
        for rules in (False, True)
    ],
}
"""SQL for the slots of single statements."""
COMPOSED = {"search", "search_text", "search_artifacts"}
"""Statements whose slots `QUERIES` fill."""
QUERIES = [
    *(
        _search(AT, SPAN, filters, 3, after, newer=newer)
        for filters in (NONE_GIVEN, EVERY, Filters(text="x"), Filters(text="x", feedback_type="implicit"))
        for after, newer in ((None, False), ((1, UUID(int=1)), True))
    ),
    *(
        _artifacts(AT, Search(KINDS, "c", user, ("turn:t", "x"), 0, ((">", 1), ("<=", 2)), oldest, 3), payload)
        for user, oldest, payload in (("u", True, True), (None, False, False))
    ),
]


class Folder(NamedTuple):
    """A folder of statements, and the services against whose schemas they run."""

    path: str
    statements: Statements
    schemas: Mapping[str, str]


FOLDERS = (
    Folder("services/chat_bridge", CHAT_BRIDGE, {"chat_bridge": SCHEMAS["chat_bridge"]}),
    Folder("services/feedback", FEEDBACK, {"feedback": SCHEMAS["feedback"]}),
    Folder("services/inference", INFERENCE, {"inference": SCHEMAS["inference"]}),
    Folder("services/reporting", REPORTING, {"reporting": SCHEMAS["reporting"]}),
    Folder("libs/servicekit/db", SERVICEKIT, {name: SCHEMAS[name] for name in ("chat_bridge", "feedback")}),
)
by_folder = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.path)


def filled(statement: Statement) -> Iterator[Statement]:
    """Yield the statement with SQL in its slots; nothing for those of COMPOSED."""
    if not statement.slots:
        yield statement
    elif statement.name not in COMPOSED:
        for parts in BY_NAME.get(statement.name) or FILLED[statement.slots]:
            yield statement.filled(**parts)


@by_folder
async def test_postgresql_plans_every_statement(postgres_url: str, folder: Folder) -> None:
    given = [(one.name, one.text, one.definition) for named in folder.statements for one in filled(named)]
    given += [("a composed query", text, "") for text, *_ in QUERIES] if folder.statements is REPORTING else []
    for schema, sql in folder.schemas.items():
        pool = await open_pool(postgres_url, schema, sql)
        async with pool.acquire() as connection:
            failures = {name: error for name, *one in given if (error := await planning_error(connection, *one))}
        await pool.close()
        assert failures == {}


async def planning_error(connection: Any, text: str, made: str) -> str | None:
    """Return why PostgreSQL does not plan a statement; of a function, one of its statements with nulls for values."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        if "_rebuilt" in text and not text.startswith(("create", "drop")):
            await connection.execute(REPORTING.create_rebuilt.text)
        if made:  # exists already
            await connection.execute(re.sub(r"\$\d+", "null", text))
            return None
        planned = re.match(r"\(?(select|insert|update|delete|with)\b", text)
        # Without arguments asyncpg uses the simple protocol, which takes numbered values in an explanation.
        await connection.execute(f"explain (generic_plan) {text}" if planned else text)
    except asyncpg.PostgresError as error:
        return f"{error}\n{text}"
    finally:
        await transaction.rollback()
    return None


class Use(NamedTuple):
    """A use of a statement: its place, and the keywords of `call`, the name of the method or "" for the statement."""

    place: str
    name: str
    call: str
    keywords: frozenset[str] | None


@cache
def uses() -> Mapping[str, list[Use]]:
    """Return the uses of statements in the product's code, by the package `sql` that they are from."""
    found: dict[str, list[Use]] = defaultdict(list)
    for path in sorted([*ROOT.glob("libs/**/*.py"), *ROOT.glob("services/**/*.py")]):
        tree = ast.parse(path.read_text("utf-8"))
        imported = {
            alias.asname or alias.name: node.module
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module and node.module.endswith(".sql")
            for alias in node.names
        }
        if "SQL" in imported:
            imported["sql"] = imported["SQL"]  # a parameter whose default is SQL
        parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported:
                place = f"{path.relative_to(ROOT)}:{node.lineno}"
                found[imported[node.value.id]].append(Use(place, node.attr, *_call(node, parents)))
    return found


def _call(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> tuple[str, frozenset[str] | None]:
    """Return the method that is called on the statement `node`, with its keywords; None if they are not all named."""
    parent, method = parents[node], ""
    if isinstance(parent, ast.Attribute):
        node, method = parent, parent.attr
        parent = parents[node]
    if not isinstance(parent, ast.Call) or parent.func is not node:
        return method, None
    names = [keyword.arg for keyword in parent.keywords]
    return method, None if None in names else frozenset(name for name in names if name)


@by_folder
def test_code_names_every_statement_and_no_other(folder: Folder) -> None:
    package = ".".join(Path(folder.path).parts[1:]) + ".sql"
    statements = {one.name: one for one in folder.statements}
    used = [use for use in uses()[package] if use.name not in ("part", "schema")]
    assert {use.name for use in used} == statements.keys()
    for use in used:
        if use.keywords is None:
            continue
        statement = statements[use.name]
        if use.call == "filled":
            assert use.keywords == {*statement.slots}, use
        elif not use.call:
            assert use.keywords == {*statement.values}, use
        elif use.call == "bulk":
            assert use.keywords < {*statement.values}, use


@by_folder
def test_every_fragment_is_inserted(folder: Folder) -> None:
    text = "".join(path.read_text("utf-8") for path in sorted((ROOT / folder.path / "sql").glob("*.sql")))
    code = [path.read_text("utf-8") for path in (ROOT / folder.path).rglob("*.py")]
    named = re.findall(r"""["'](\w+)["']""", "".join(one for one in code if "SQL.part" in one))
    inserted = {*re.findall(r"(?:[{(]|, )(\w+)(?=[^{}]*\})", text), *named}  # as it is, or as the argument of another
    assert set(re.findall(r"^-- fragment: (\w+)", text, re.MULTILINE)) - inserted == set()


def test_a_feedback_records_upserts_name_every_field() -> None:
    names = FeedbackRow._fields[1:]
    for text in (REPORTING.apply_batch.definition, REPORTING.replace_changed.text):
        assert [name for name in names if f" {name} = excluded.{name}," not in f" {text}".replace("\n", " ")] == []
    compared = REPORTING.replace_changed.text.partition("is distinct from")[2]
    assert [name for name in names if not re.search(rf"excluded\.{name}\b", compared)] == []
