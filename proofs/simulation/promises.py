"""Invariants that hold after all faults have ended. Each check returns its first difference in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from contracts.feedback import FeedbackCreated
from contracts.headers import revision_named
from contracts.topics import FEEDBACK_CREATED, TOPICS
from feedback.model import Record
from feedback.writer import message_of
from proofs.chaos.ledger import digest
from proofs.oracle import Shown, expected_verdicts, recount
from proofs.simulation.history import Said
from proofs.simulation.stub_detector import StubDetector
from proofs.simulation.world import World
from reporting.model.projection import feedback_row
from servicekit.log.records import Coordinates, RawRecord, cause_of


async def broken(world: World, events: list[Said]) -> list[str]:
    """Return every violated invariant in words; empty if all hold."""
    expected = recount(one.entry for one in events if not one.is_erasure)
    erased = {(one.fields["tenant"], one.fields["userId"]) for one in events if one.fields and one.is_erasure}
    verdicts = expected_verdicts(expected.messages, StubDetector(), erased)
    people = {key: shown for key, shown in expected.records.items() if (key.tenant, key.user) not in erased}
    records = {record.feedback_id: record async for part in world.feedback.scan() for record in part}
    live = {tuple(r.key): _shown(r) for r in records.values() if r.origin == "user" or r.live}
    return [
        *world.violations,
        *_compared("P2/P3: feedback", live, people | verdicts),
        *_announced(world, records),
        *_reported(world, records),
        *_compared("P5: parked", await _parked(world), dict.fromkeys(expected.parked, True)),
        *_compared("P5/P6: dead letter", _letters(world), dict.fromkeys(expected.letter_digests, True)),
        *_accounted(world),
    ]


def _shown(record: Record) -> Shown:
    payload, occurred_at = record.current_entry.payload, record.current_entry.stamp.occurred_at
    kind, turn = record.feedback_type, payload.turn_id
    if not record.live:
        return Shown(kind, False, None, None, occurred_at, turn)
    return Shown(kind, True, payload.reaction, payload.value, occurred_at, turn)


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
    stored = {id_: (record.revision, message_of(record).value) for id_, record in records.items()}
    yield from _compared("P4: highest announcement", highest, stored)
    if not world.unmended:
        yield from _compared("P4: what compaction keeps", {id_: one for (id_, _), one in last.items()}, stored)


def _reported(world: World, records: Mapping[UUID, Record]) -> Iterator[str]:
    events = {id_: FeedbackCreated.model_validate_json(message_of(r).value or b"") for id_, r in records.items()}
    rows = {id_: row for id_, event in events.items() if (row := feedback_row(event)) is not None}
    yield from _compared("P10: read model", world.reporting.feedbacks, rows)


async def _parked(world: World) -> dict[tuple[str, str, str], bool]:
    waiting = await world.bridge.expired(1 << 62, 1 << 30)
    return {(event.key.tenant, event.key.project, json.loads(event.value)["eventId"]): True for event in waiting}


def _letters(world: World) -> dict[str, bool]:
    return {digest(entry.value): True for topic in TOPICS for entry in world.log.of(topic.dead_letters)}


def _accounted(world: World) -> Iterator[str]:
    for kind, group in world.groups.items():
        for lane in group.lanes:
            for entry in world.log.lanes.get(lane, ()):
                coordinates = Coordinates(entry.topic, entry.partition, entry.offset)
                cause = cause_of(RawRecord(coordinates, entry.key, entry.value, entry.headers, 0))
                if (kind, entry.topic, cause) not in world.outcomes:
                    yield f"P5: {kind} said nothing of {coordinates}"


def _compared(what: str, actual: Mapping[Any, Any], wanted: Mapping[Any, Any]) -> Iterator[str]:
    for key in sorted(actual.keys() | wanted.keys(), key=str):
        if actual.get(key) != wanted.get(key):
            there, should = actual.get(key, "nothing"), wanted.get(key, "nothing")
            yield f"{what} {key}: there is {there}, there should be {should}"
            return
