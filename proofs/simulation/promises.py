"""Invariants that hold after all faults have ended. Each check returns its first difference in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from contracts.feedback import FeedbackCreated
from contracts.headers import revision_named
from contracts.topics import BY_NAME, FEEDBACK_CREATED
from feedback.announce import message_of
from feedback.model import Record
from proofs.simulation.history import Said
from proofs.simulation.recount import Recount, recount
from proofs.simulation.world import World
from reporting.model.projection import feedback_row
from servicekit.log.records import Coordinates, RawRecord, cause_of


async def broken(world: World, said: list[Said]) -> list[str]:
    """Return every violated invariant in words; empty if all hold."""
    wanted = recount(said)
    records = {record.feedback_id: record async for part in world.feedback.scan() for record in part}
    return [
        *world.violations,
        *_stored(records, wanted),
        *_announced(world, records),
        *_reported(world, records),
        *[difference async for difference in _parked(world, wanted)],
        *_set_aside(world, wanted),
        *_accounted(world),
    ]


def _stored(records: Mapping[UUID, Record], wanted: Recount) -> Iterator[str]:
    user = {tuple(r.key): _shown(r) for r in records.values() if r.origin == "user"}
    yield from _compared("P2/P3: user feedback", user, wanted.user)
    inferred = {
        (r.key.tenant, r.key.conversation_id, r.key.source_id.rsplit(":", 1)[0]): (
            "accepted" if r.current_entry.payload.reaction == "ok" else "rejected",
            r.current_entry.payload.turn_id,
        )
        for r in records.values()
        if r.origin == "machine" and not r.cleared
    }
    yield from _compared("P3: inferred feedback", inferred, wanted.inferred)


def _shown(record: Record) -> tuple[Any, ...]:
    said, at = record.current_entry.payload, record.current_entry.stamp.occurred_at
    if record.cleared:
        return (False, None, None, at)
    if record.feedback_type == "reaction":
        return (True, said.value, "❤️" if said.emoji == "❤" else said.emoji, at)
    return (True, said.value, said.text if record.feedback_type == "implicit" else said.reaction, at)


def _announced(world: World, records: Mapping[UUID, Record]) -> Iterator[str]:
    highest: dict[UUID, tuple[int, bytes]] = {}
    erased: dict[UUID, int] = {}
    last: dict[tuple[UUID, int], tuple[int, bytes]] = {}
    for entry in world.log.of(FEEDBACK_CREATED.name):
        feedback_id = UUID((entry.key or b"").decode())
        if entry.value is None:
            erased[feedback_id] = max(revision_named(entry.headers) or 0, erased.get(feedback_id, 0))
            last.pop((feedback_id, entry.partition), None)
            continue
        event = FeedbackCreated.model_validate_json(entry.value)
        announced = (event.revision, entry.value)
        highest[feedback_id] = max(highest.get(feedback_id, announced), announced)
        last[feedback_id, entry.partition] = announced
    highest = {id_: one for id_, one in highest.items() if one[0] > erased.get(id_, 0)}
    held = {id_: (record.revision, message_of(record).value) for id_, record in records.items()}
    yield from _compared("P4: highest announcement", highest, held)
    if not world.unmended:
        yield from _compared("P4: what compaction keeps", {id_: one for (id_, _), one in last.items()}, held)


def _reported(world: World, records: Mapping[UUID, Record]) -> Iterator[str]:
    events = {id_: FeedbackCreated.model_validate_json(message_of(r).value or b"") for id_, r in records.items()}
    rows = {id_: row for id_, event in events.items() if (row := feedback_row(event)) is not None}
    yield from _compared("P10: read model", world.reporting.feedbacks, rows)


async def _parked(world: World, wanted: Recount) -> Any:
    waiting = {
        (event.key.tenant, json.loads(event.value)["eventId"]) for event in await world.bridge.expired(1 << 62, 1 << 30)
    }
    for difference in _compared("P5: parked", dict.fromkeys(waiting, True), dict.fromkeys(wanted.parked, True)):
        yield difference


def _set_aside(world: World, wanted: Recount) -> Iterator[str]:
    letters = {
        (name, entry.value): True for name, topic in BY_NAME.items() for entry in world.log.of(topic.dead_letters)
    }
    yield from _compared("P5/P6: dead letter", letters, dict.fromkeys(wanted.dead, True))


def _accounted(world: World) -> Iterator[str]:
    for kind, group in world.groups.items():
        for lane in group.lanes:
            for entry in world.log.lanes.get(lane, ()):
                at = Coordinates(entry.topic, entry.partition, entry.offset)
                cause = cause_of(RawRecord(at, entry.key, entry.value, entry.headers, 0))
                if (kind, entry.topic, cause) not in world.outcomes:
                    yield f"P5: {kind} said nothing of {at}"


def _compared(what: str, found: Mapping[Any, Any], wanted: Mapping[Any, Any]) -> Iterator[str]:
    for key in sorted(found.keys() | wanted.keys(), key=str):
        if found.get(key) != wanted.get(key):
            there, should = found.get(key, "nothing"), wanted.get(key, "nothing")
            yield f"{what} {key}: there is {there}, there should be {should}"
            return
