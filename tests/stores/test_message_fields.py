"""A field that is added to the declaration of message fields: all four indexes store it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import chat_bridge.service
import chat_bridge.sql
import feedback.service
import feedback.sql
import inference.service
import inference.sql
import reporting.service
import reporting.sql
from chat_bridge.model import IndexedMessage, indexed
from chat_bridge.store_postgres import PostgresMessageStore
from contracts.chat import ChatMessageIngested
from contracts.message_fields import MESSAGE_FIELDS
from contracts.versions import version_of
from feedback.registry import RegisteredMessage, registered
from feedback.registry_postgres import PostgresRegistry
from inference.handlers import indexed as message_of_conversation
from inference.store import IndexedMessage as MessageOfConversation
from inference.store_postgres import PostgresConversationStore
from reporting.model.projection import MessageRow, message_row
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.db.database import Database
from servicekit.db.pools import open_pool
from servicekit.db.statements import Statements
from tests.support.databases import SCHEMAS
from tests.support.reporting_events import message

Write = Callable[[Database, ChatMessageIngested], Awaitable[Any]]
ADDED = {"language": "text"}


async def replaced(pool: Database, sql: Statements) -> Statements:
    """Create the functions of `sql`. Returns `sql`."""
    for statement in sql:
        if signature := re.match(r"create function (\w+\([^)]*\))", statement.definition):
            await pool.execute(f"drop function if exists {signature[1]}; {statement.definition}")
    return sql


async def to_bridge(pool: Database, event: ChatMessageIngested) -> None:
    sql = await replaced(pool, chat_bridge.sql.statements({**MESSAGE_FIELDS, **ADDED}))
    await PostgresMessageStore(pool, sql).index([indexed(event, "acme", "support", version_of(event))])


async def to_inference(pool: Database, event: ChatMessageIngested) -> None:
    sql = await replaced(pool, inference.sql.statements({**MESSAGE_FIELDS, **ADDED}))
    await PostgresConversationStore(pool, sql).index([message_of_conversation(event)])


async def to_reporting(pool: Database, event: ChatMessageIngested) -> None:
    sql = await replaced(pool, reporting.sql.statements({**MESSAGE_FIELDS, **ADDED}))
    await PostgresReadModels(pool, sql).apply(messages=[message_row(event)])


async def to_registry(pool: Database, event: ChatMessageIngested) -> None:
    sql = await replaced(pool, feedback.sql.statements({**MESSAGE_FIELDS, **ADDED}))
    await PostgresRegistry(pool, sql).add([registered(event)])


@pytest.mark.parametrize(
    ("service", "table", "row", "write"),
    [
        (chat_bridge.service, "messages", IndexedMessage, to_bridge),
        (inference.service, "messages", MessageOfConversation, to_inference),
        (reporting.service, "messages", MessageRow, to_reporting),
        (feedback.service, "messages", RegisteredMessage, to_registry),
    ],
    ids=["chat_bridge", "inference", "reporting", "feedback"],
)
async def test_every_index_stores_an_added_field_of_the_greatest_version(
    own_database: str, monkeypatch: pytest.MonkeyPatch, service: Any, table: str, row: type, write: Write
) -> None:
    """The field's value is the version's own bytes, so the stored value shows which version it is from."""
    monkeypatch.setattr(row, "language", property(lambda one: one.version.hex()), raising=False)
    pool = await open_pool(own_database, service.__package__, SCHEMAS[service.__package__], size=1)
    try:
        await pool.execute(f"alter table {table} add column language text")
        first, edited = (message("m1", content=text, agent="bot", at=at) for at, text in enumerate(("Nine.", "Ten.")))
        for event, kept in ((first, first), (edited, edited), (first, edited)):
            await write(pool, event)
            assert await pool.fetchval(f"select language from {table}") == version_of(kept).hex()
    finally:
        await pool.close()
