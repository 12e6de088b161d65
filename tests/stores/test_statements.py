"""Every named SQL statement: PostgreSQL plans it against the schema, and code uses it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import pytest

from chat_bridge.sql import SQL as CHAT_BRIDGE
from feedback.sql import SQL as FEEDBACK
from inference.sql import SQL as INFERENCE
from reporting.sql import SQL as REPORTING
from servicekit.db.pools import open_pool
from servicekit.db.sql import SQL as SERVICEKIT
from servicekit.db.statements import Statements
from tests.support.databases import SCHEMAS

ROOT = Path(__file__).parents[2]


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
    Folder("libs/servicekit/db", SERVICEKIT, {name: SCHEMAS[name] for name in ("feedback", "reporting")}),
)
by_folder = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.path)


@by_folder
async def test_postgresql_plans_every_statement_without_slots(postgres_url: str, folder: Folder) -> None:
    for schema, sql in folder.schemas.items():
        async with await open_pool(postgres_url, schema, sql) as pool, pool.acquire() as connection:
            for statement in folder.statements:
                if not statement.slots:
                    await plan(connection, statement.name, statement.text, statement.definition)


async def plan(connection: Any, name: str, text: str, made: str) -> None:
    """Plan a statement, or call its function with nulls. Raises AssertionError with the name if it is invalid."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        if "_rebuilt" in text and not text.startswith(("create", "drop")):
            await connection.execute(REPORTING.create_rebuilt.text)
        planned = re.match(r"\(?(select|insert|update|delete|with)\b", text)
        # Without arguments asyncpg uses the simple protocol, which takes numbered values in an explanation.
        await connection.execute(
            re.sub(r"\$\d+", "null", text) if made else f"explain (generic_plan) {text}" if planned else text
        )
    except asyncpg.PostgresError as error:
        raise AssertionError(f"{name}: {error}") from error
    finally:
        await transaction.rollback()


@by_folder
def test_code_uses_every_statement(folder: Folder) -> None:
    package = ROOT.joinpath(*Path(folder.path).parts[:2])
    code = "".join(path.read_text("utf-8") for kind in ("py", "sql") for path in package.rglob(f"*.{kind}"))
    used = set(re.findall(r"\b(?:(?:SQL|sql)\.|perform )(\w+)", code))
    assert {statement.name for statement in folder.statements} <= used
