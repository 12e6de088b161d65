"""Archive of all stored data about a person, from the tables, the feedback store, the log and the object store."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import asyncpg
from pydantic_core import from_json

from contracts.erasure import Person
from contracts.instants import format_instant
from contracts.topics import TOPICS
from feedback.model import to_document
from feedback.store import Store
from reporting.mirror.object_store import ObjectStore
from reporting.settings import ReportingSettings
from servicekit.clock import Clock
from servicekit.db.pools import open_readonly
from servicekit.errors import StartError
from servicekit.log.cluster import Bootstrap
from servicekit.log.reader import records_of
from servicekit.settings import read_settings
from standalone.operations.log_access import LogTarget, database_answers, store_of
from standalone.operations.service_databases import service_databases
from standalone.programs import PROGRAMS
from standalone.subject_access.own_parts import own_event, own_object, readable
from standalone.terminal import say

Rows = list[dict[str, Any]]
NOT_INCLUDED = (
    "Other people's messages, also where they stand beside the person's; answers of agents are included.",
    "Vectors and digests computed from the person's texts.",
    "Names of alert rules and notes on issues, which operators write; API keys and the access log.",
    "Data of other systems: the chat services, receivers of webhooks, exports, backups, a language model.",
    "Rows that an earlier erasure has renamed to a pseudonym.",
)


async def archive_of(person: Person, target: LogTarget, database_url: str | None, clock: Clock) -> dict[str, Any]:
    """Return all stored data about a person as JSON.

    Args:
        database_url: Database to use instead of those in the settings, or None.

    Raises:
        StartError: A database or the log does not respond, or the object store is not configured.
    """
    tables = await _rows_of(person, database_url)
    async with store_of(target) as store:
        records = await _feedback_of(person, store)
    log, unreadable = await _log_of(person, target.bootstrap)
    return {
        "tenant": person.tenant,
        "user": person.user_id,
        "made_at": format_instant(clock.now()),
        "not_included": list(NOT_INCLUDED),
        "tables": {name: [readable(row) for row in rows] for name, rows in tables.items()},
        "feedback_store": records,
        "log": log,
        "unreadable_records": unreadable,
        "objects": await _objects_of(person, tables["reporting.hosted_artifacts"]),
    }


async def _rows_of(person: Person, database_url: str | None) -> dict[str, Rows]:
    """Return the person's rows in all services by `schema.table`, including tables without any."""
    tables: dict[str, Rows] = {}
    databases = {database.service: database for database in reversed(service_databases(database_url))}
    for program in PROGRAMS:
        service, database = program.name, databases[program.name]
        await database_answers(database.url)
        connection = await open_readonly(database.url, service, say=say)
        try:
            for table, select in program.holds.items():
                rows = await connection.fetch(*select(**person._asdict()))
                tables[f"{service}.{table}"] = [json.loads(row["held"]) for row in rows]
        except (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError):
            raise StartError(
                f"The tables of {service} are missing, or of another version: start the service once."
            ) from None
        finally:
            await connection.close()
    return tables


async def _feedback_of(person: Person, store: Store) -> Rows:
    records = [
        {"feedback_id": str(record.feedback_id), **to_document(record)}
        async for page in store.scan_person(person)
        for record in page
    ]
    return [
        {name: str(value) if isinstance(value, UUID) else value for name, value in fields.items()} for fields in records
    ]


async def _log_of(person: Person, bootstrap: Bootstrap) -> tuple[dict[str, Rows], Rows]:
    """Return the person's events by topic, and the positions of unreadable records that contain the person's id."""
    topics = [name for topic in TOPICS for name in (topic.name, topic.dead_letters)]
    events: dict[str, Rows] = {}
    unreadable: Rows = []
    name = person.user_id.encode()
    async for records in records_of(bootstrap, topics, say=say):
        for record in records:
            if not isinstance(record.value, bytes):
                continue
            position = {"partition": record.partition, "offset": record.offset, "written_at": _time_of(record)}
            try:
                event = own_event(from_json(record.value), person)
            except (ValueError, RecursionError):
                if name in record.value:
                    unreadable.append({"topic": record.topic, **position})
                continue
            if event is not None:
                events.setdefault(record.topic, []).append({**position, "event": event})
    return events, unreadable


def _time_of(record: Any) -> str:
    return format_instant(record.timestamp * 1_000)


async def _objects_of(person: Person, artifacts: Rows) -> Rows:
    """Return the person's parts of the objects in the object store.

    Raises:
        StartError: Objects with data about the person exist, but no object store is configured.
    """
    if not artifacts:
        return []
    url = read_settings(ReportingSettings).artifact_store_url
    if url is None:
        raise StartError("There are artifacts of the person: set ARTIFACT_STORE_URL to the store that holds them.")
    store = ObjectStore(url)
    objects = []
    for row in artifacts:
        body = await store.get(row["name"])
        if body is not None:
            objects.append({"name": row["name"], "content": own_object(json.loads(body), row, person)})
    return objects
