"""Every named SQL statement: PostgreSQL plans it against the migrated schema, and code uses it with its values."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import NamedTuple

import asyncpg
import pytest

import chat_bridge.service
import feedback.service
import inference.service
from chat_bridge.sql import SQL as CHAT_BRIDGE
from feedback.sql import SQL as FEEDBACK
from inference.sql import SQL as INFERENCE
from inference.turns.vectors_postgres import WIRES
from servicekit.db.pools import open_pool
from servicekit.db.sql import SQL as SERVICEKIT
from servicekit.db.statements import Statement, Statements

ROOT = Path(__file__).parents[2]
FILLED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "services/inference": {
        "filters": (" and t.intent = :intent and t.user_id = :user_id and t.agent_id = :agent_id",),
        **{name: (WIRES["halfvec"].nth.format(place=f"k.{name}"),) for name in ("user_vector", "assistant_vector")},
    },
}
"""SQL for the slots of statements, by folder: one or more texts for each slot."""


class Folder(NamedTuple):
    """A folder of statements, and the services against whose schemas they run."""

    path: str
    statements: Statements
    schemas: Mapping[str, Path]


PAGES = (chat_bridge.service, feedback.service, inference.service)
SCHEMAS = {one.__package__ or "": Path(one.__file__ or "").parent / "migrations" for one in PAGES}
FOLDERS = (
    Folder("services/chat_bridge", CHAT_BRIDGE, {"chat_bridge": SCHEMAS["chat_bridge"]}),
    Folder("services/feedback", FEEDBACK, {"feedback": SCHEMAS["feedback"]}),
    Folder("services/inference", INFERENCE, {"inference": SCHEMAS["inference"]}),
    Folder("libs/servicekit/db", SERVICEKIT, {name: SCHEMAS[name] for name in ("chat_bridge", "feedback")}),
)
by_folder = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.path)


def filled(folder: Folder, statement: Statement) -> Iterator[Statement]:
    """Yield the statement with every combination of texts for its slots."""
    slots = [FILLED[folder.path][slot] for slot in statement.slots]
    for parts in product(*slots):
        yield statement.filled(**dict(zip(statement.slots, parts, strict=True))) if parts else statement


@by_folder
async def test_postgresql_plans_every_statement(postgres_url: str, folder: Folder) -> None:
    for schema, migrations in folder.schemas.items():
        pool = await open_pool(postgres_url, schema, migrations)
        failures = {}
        async with pool.acquire() as connection:
            for statement in (one for named in folder.statements for one in filled(folder, named)):
                transaction = connection.transaction()
                await transaction.start()
                try:
                    planned = re.match(r"select|insert|update|delete|with", statement.text)
                    # Without arguments asyncpg uses the simple protocol, which takes numbered values in an explanation.
                    await connection.execute(f"explain (generic_plan) {statement.text}" if planned else statement.text)
                except asyncpg.PostgresError as error:
                    failures[statement.name] = f"{error}\n{statement.text}"
                await transaction.rollback()
        await pool.close()
        assert failures == {}


class Use(NamedTuple):
    """A use of a statement: its place, and the keywords of `call`, the name of the method or "" for the statement."""

    place: str
    name: str
    call: str
    keywords: frozenset[str] | None


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
    used = uses()[package]
    assert {one.name for one in used} == statements.keys()
    for use in used:
        statement = statements[use.name]
        if use.keywords is None:
            continue
        if use.call == "filled":
            assert use.keywords == {*statement.slots}, use
        elif not use.call:
            assert use.keywords == {*statement.values}, use
        elif use.call == "bulk":
            assert use.keywords < {*statement.values}, use


@by_folder
def test_every_fragment_is_inserted(folder: Folder) -> None:
    text = "".join(path.read_text("utf-8") for path in sorted((ROOT / folder.path / "sql").glob("*.sql")))
    fragments = set(re.findall(r"^-- fragment: (\w+)", text, re.MULTILINE))
    assert fragments - set(re.findall(r"\{(\w+)", text)) == set()
