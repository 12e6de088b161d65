"""State of the services, read directly from their tables and topics."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import asyncpg

from proofs.chaos.cluster import Cluster
from proofs.chaos.compare import Observations, Stored
from proofs.chaos.logs import announcements, letters
from proofs.oracle import Key, Shown, Slot

KEY = "tenant, project, conversation_id, source, user_id, agent_id, source_id"


async def watch_store(connection: asyncpg.Connection) -> None:
    """Let a database trigger record every state of each feedback record, among which every announcement must be."""
    await connection.execute(
        """
        create schema if not exists chaos;
        create table if not exists chaos.history (
            feedback_id uuid, revision bigint, feedback_type text, slots jsonb, overruled boolean);
        create or replace function chaos.note() returns trigger language plpgsql as $$
        begin
            insert into chaos.history values (
                new.feedback_id, new.revision, new.feedback_type, new.slots, new.overruled_by is not null);
            return null;
        end $$;
        create or replace trigger chaos_history after insert or update on feedback.feedback
            for each row execute function chaos.note();
        """
    )


async def observe(cluster: Cluster) -> Observations:
    bootstrap = cluster.kafka.bootstrap
    announced, dead_letters = await announcements(bootstrap), await letters(bootstrap)
    connection = await cluster.connect()
    try:
        return Observations(
            stored=await stored(connection),
            history=await history(connection),
            announced=announced,
            letters=dead_letters,
            parked=await parked(connection),
            people=await people_effective(connection),
            machine=await machine_effective(connection),
            messages=await reported_messages(connection),
            judged_turns=await judged_turns(connection),
        )
    finally:
        await connection.close()


async def history(connection: asyncpg.Connection) -> set[tuple[UUID, int, bool, str | None]]:
    states = set()
    for feedback_id, revision, kind, slots, overruled in await connection.fetch("select * from chaos.history"):
        shown = None if slots is None or overruled else _shown(kind, json.loads(slots))
        states.add((feedback_id, revision, shown is not None and shown.live, None if shown is None else shown.reaction))
    return states


async def stored(connection: asyncpg.Connection) -> dict[Key, Stored]:
    """Return every feedback record in the store, read from its slots."""
    records = {}
    for row in await connection.fetch(f"select {KEY}, feedback_type, slots, revision from feedback.feedback"):
        if row["slots"] is not None:
            records[Key(*row[:7])] = Stored(_shown(row["feedback_type"], json.loads(row["slots"])), row["revision"])
    return records


def _shown(kind: str, slots: dict[str, Any]) -> Shown:
    entry = max(slots.values(), key=lambda one: (one["present"], one["stamp"]))
    payload, live = entry["payload"], entry["present"]
    occurred_at = entry["stamp"][1]
    return Shown(
        kind,
        live,
        payload["reaction"] if live else None,
        payload["value"] if live else None,
        occurred_at,
        payload["turn_id"],
    )


async def parked(connection: asyncpg.Connection) -> set[tuple[str, str, str]]:
    rows = await connection.fetch("select tenant, project, value from chat_bridge.parked")
    return {(row[0], row[1], json.loads(row[2])["eventId"]) for row in rows}


async def people_effective(connection: asyncpg.Connection) -> dict[Slot, tuple[str, UUID]]:
    """Return the reactions of people that the reports count."""
    rows = await connection.fetch(
        "select tenant, project, conversation_id, turn_id, user_id, reaction, feedback_id from reporting.effective "
        "where origin = 'user'"
    )
    return {Slot(*row[:5]): (row[5], row[6]) for row in rows}


async def machine_effective(connection: asyncpg.Connection) -> dict[UUID, str]:
    rows = await connection.fetch("select feedback_id, reaction from reporting.effective where origin = 'machine'")
    return {row[0]: row[1] for row in rows}


async def reported_messages(connection: asyncpg.Connection) -> set[tuple[str, str, str, str]]:
    rows = await connection.fetch("select tenant, project, conversation_id, message_id from reporting.messages")
    return {(row[0], row[1], row[2], row[3]) for row in rows}


async def judged_turns(connection: asyncpg.Connection) -> dict[tuple[str, str, str, str], str]:
    """Return the turns that people have judged, as inference reports them to planners."""
    rows = await connection.fetch(
        "select tenant, project, conversation_id, turn_id, user_feedback_status from inference.turns "
        "where user_status is not null"
    )
    return {(row[0], row[1], row[2], row[3]): row[4] for row in rows}
