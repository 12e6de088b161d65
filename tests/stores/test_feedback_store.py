"""Contract of the feedback stores, with expected values written by hand."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from contracts.base import FeedbackType, Origin
from contracts.erasure import Erasure, Person
from contracts.message_fields import TurnKey
from contracts.provenance import Provenance
from feedback.model import Entry, Key, LedgerEntry, Payload, Record, Stamp
from feedback.store import Save, Store
from tests.support.feedback_events import START, entry, key, record


@pytest.fixture
def store(feedback_store: Store) -> Store:
    return feedback_store


def insert(record: Record) -> Save:
    return Save(record, 0)


async def held(store: Store, *wanted: Record) -> list[Record | None]:
    loaded = await store.load([one.feedback_id for one in wanted])
    return [loaded.get(one.feedback_id) for one in wanted]


async def pages(store: Store, batch: int) -> list[list[UUID]]:
    return [[one.feedback_id for one in page] async for page in store.scan(batch)]


async def test_an_empty_store_holds_nothing(store: Store) -> None:
    assert await store.load([]) == {}
    assert await store.load([UUID(int=1)]) == {}
    assert (await store.save([])).ids == set()
    assert await pages(store, 10) == []
    assert await store.count() == Counter()


async def test_a_save_replaces_the_revision_it_was_loaded_with(store: Store) -> None:
    old, new = record(revision=7, created=7, text="old"), record(revision=8, created=7, text="new")
    await store.save([insert(old)])
    assert (await store.save([Save(new, 7)])).ids == {new.feedback_id}
    assert await held(store, new) == [new]


@pytest.mark.parametrize("loaded", [6, 8, 9])
async def test_a_save_on_another_revision_loses(store: Store, loaded: int) -> None:
    stored = record(revision=7, text="stored")
    await store.save([insert(stored)])
    assert (await store.save([Save(record(revision=9, text="late"), loaded)])).ids == set()
    assert await held(store, stored) == [stored]


async def test_records_of_another_revision_are_changes(store: Store) -> None:
    one, two = record("one", revision=7), record("two", revision=9)
    await store.save([insert(one), insert(two)])
    ids = [record(name).feedback_id for name in ("one", "two", "three", "four")]
    changes = await store.changes(dict(zip(ids, (7, 8, 0, 3), strict=True)), [], [])
    assert (changes.records, changes.ledger, changes.on_turns) == ({ids[1]: two, ids[3]: None}, {}, [])
    loaded = await store.changes(dict.fromkeys(ids[:3], 0), [], [])
    assert loaded.records == {ids[0]: one, ids[1]: two}
    assert await store.changes({}, [], []) == ({}, {}, [])


async def test_changes_include_what_is_on_turns_and_erasures_of_people(store: Store) -> None:
    wanted = [on_turn("inference", "m1"), on_turn("inference", "m2", present=False), on_turn("review", "t1")]
    wanted.append(on_turn("review", "t2", "t2", user_id="bob"))
    others = [on_turn("api", "t1"), on_turn("chat", "a1"), on_turn("inference", "m3", "t3")]
    elsewhere: list[dict[str, Any]] = [{part: "other"} for part in ("tenant", "project", "conversation_id")]
    others += [on_turn("inference", "m1", **parts) for parts in elsewhere]
    stub = replace(on_turn("inference", "m4"), slots={})
    await store.save([insert(one) for one in [*wanted, *others, stub]])
    await store.note_erasures([Erasure(Person("acme", "ann"), "q", 5), Erasure(Person("acme", "eve"), "q", 6)])
    turns = [TurnKey("acme", "support", "c1", turn) for turn in ("t1", "t2", "t9")]
    people = [Person("acme", name) for name in ("ann", "bob")]
    known = {others[0].feedback_id: 0, wanted[0].feedback_id: 1}
    found = await store.changes(known, people, turns)
    assert found.records == {others[0].feedback_id: others[0]}
    assert found.ledger == {people[0]: LedgerEntry(5)}
    assert sorted(found.on_turns, key=lambda one: one.key) == sorted(wanted, key=lambda one: one.key)


@pytest.mark.parametrize("revision", [0, 1, 2])
async def test_a_stored_verdict_brings_the_review_of_its_turn(store: Store, revision: int) -> None:
    verdict, review, stub = (
        on_turn("inference", "m1"),
        on_turn("review", "t1"),
        replace(on_turn("inference", "m4"), slots={}),
    )
    await store.save([insert(each) for each in (verdict, review, stub, on_turn("review", "t2", "t2"))])
    changes = await store.changes({verdict.feedback_id: revision, stub.feedback_id: revision}, [], [])
    assert sorted(changes.on_turns, key=lambda record: record.key) == [verdict, review]


async def test_a_batch_may_succeed_in_part(store: Store) -> None:
    await store.save([insert(record("taken", revision=3)), insert(record("stale", revision=3))])
    saves = [
        insert(record("taken", text="never")),
        insert(record("free", text="free")),
        Save(record("stale", revision=4, text="never"), 2),
        Save(record("taken too", revision=4, text="never"), 3),
    ]
    assert (await store.save(saves)).ids == {record("free").feedback_id}
    found = await held(store, record("taken"), record("free"), record("stale"), record("taken too"))
    assert [one and one.revision for one in found] == [3, 1, 3, None]
    assert [one and one.current_entry.payload.text for one in found] == [None, "free", None, None]


async def test_racing_writers_all_get_their_changes_in(store: Store) -> None:
    async def write(name: str) -> None:
        while True:
            (found,) = await held(store, record())
            slots = {**(found.slots if found else {}), name: entry(event=name)}
            before = found.revision if found else 0
            new = Record(key(), "reaction", "user", slots, before + 1, 1)
            if (await store.save([Save(new, before)])).ids:
                return

    names = [f"w{n}" for n in range(12)]
    await asyncio.gather(*(write(name) for name in names))
    (found,) = await held(store, record())
    assert found is not None
    assert sorted(found.slots) == sorted(names)
    assert found.revision == 12


async def test_racing_batches_in_opposite_order_never_stand_in_each_others_way(store: Store) -> None:
    async def write(order: list[str], text: str) -> set[UUID]:
        return (await store.save([insert(record(name, text=text)) for name in order])).ids

    names = [f"n{n:03}" for n in range(100)]
    one, two = await asyncio.gather(write(names, "one"), write(names[::-1], "two"))
    everything = {record(name).feedback_id for name in names}
    assert one | two == everything
    assert not one & two


FULL = Record(
    key=Key("Acme.1_x-y", "a.b", "c/1 é🙂", "inference", 'ann "quoted" \\ $', "agent.$dollar", "m1:détecteur"),
    feedback_type="inferred",
    origin="machine",
    slots={
        "": Entry(
            Stamp(2**63 - 1, START + 1, 2**63 - 1, False, "e-1", "0" * 32),
            True,
            Payload(
                turn_id="t-é",
                agent_id="a",
                agent_message_id="m",
                user_type="privileged",
                causation_id="e-1",
                reaction="not_ok",
                value=-0.30000000000000004,
                confidence=0.7000000000000001,
                text='Nein — "falsch" 🤦🏽\n\t\u2028 $set .dot \u202e',
                tags=("one", "zwei é", "$three.four"),
                correction="",
                emoji="👍",
                correction_type="rephrased",
                provenance=Provenance("track", "bundle", "v1", "model", "trace"),
            ),
        ),
        "❤": Entry(Stamp(0, 999_999, -1, True, "e-2", "f" * 32), False, Payload("t", "a", None, "anonymous", "e-2")),
        "a.$b": Entry(
            Stamp(0, 253_402_300_799_999_999, 0, False, "e-3", ""), True, Payload("t", "a", None, "paid", "")
        ),
    },
    revision=2**62,
    created_revision=2**61,
    overruled_by=UUID(int=2**127 + 1),
    training_allowed=False,
)


async def test_every_field_comes_back_as_it_was(store: Store) -> None:
    await store.save([insert(FULL)])
    assert await held(store, FULL) == [FULL]
    found = (await store.load([FULL.feedback_id]))[FULL.feedback_id]
    said = found.slots[""].payload
    assert (type(said.value), type(found.revision), type(said.tags)) == (float, int, tuple)
    assert found.slots["❤"].payload.provenance == Provenance()


def on_turn(source: str, name: str, turn: str = "t1", *, present: bool = True, **parts: str) -> Record:
    origins: dict[str, Origin] = {"inference": "machine", "review": "reviewer"}
    origin = origins.get(source, "user")
    about = Key("acme", "support", "c1", source, "ann", "", name)._replace(**parts)
    return Record(about, "explicit", origin, {"": entry(present=present, turn_id=turn)}, 1, 1)


async def test_ids_of_the_greatest_length_fit(store: Store) -> None:
    wide = "".join(chr(0x20000 + at * 7) for at in range(256))
    longest = Record(
        Key("t" * 64, "p" * 64, wide, "inference", wide[::-1], wide, f"{wide}:{wide[:128]}"),
        "inferred",
        "machine",
        {"": entry(text="é" * 10_000, correction="\u20ac" * 10_000, turn_id=wide)},
        1,
        1,
    )
    assert (await store.save([insert(longest)])).ids == {longest.feedback_id}
    assert await held(store, longest) == [longest]


async def test_keys_that_differ_in_one_part_are_two_feedbacks(store: Store) -> None:
    parts = Key("t", "p", "c", "s", "u", "a", "i")
    keys = [parts, *(parts._replace(**{name: "other"}) for name in Key._fields)]
    records = [Record(one, "explicit", "user", {"": entry()}, 1, 1) for one in keys]
    assert len((await store.save([insert(one) for one in records])).ids) == 8
    assert await held(store, *records) == records


async def test_a_scan_gives_everything_once_by_id_in_pages(store: Store) -> None:
    records = [record(f"n{n}") for n in range(7)]
    await store.save([insert(one) for one in records])
    ids = sorted(one.feedback_id for one in records)
    assert await pages(store, 3) == [ids[:3], ids[3:6], ids[6:]]
    assert await pages(store, 7) == [ids]
    assert [one async for page in store.scan() for one in page] == sorted(records, key=lambda one: one.feedback_id)


async def test_ids_are_in_the_order_of_their_bytes(store: Store) -> None:
    records = [record(f"n{n}") for n in range(300)]
    await store.save([insert(one) for one in records])
    (ids,) = await pages(store, 1_000)
    assert ids == sorted(ids, key=lambda id_: id_.bytes)
    assert {id_.bytes[0] >> 7 for id_ in ids} == {0, 1}


async def test_what_is_stored_during_a_scan_spoils_nothing(store: Store) -> None:
    first = [record(f"n{n}") for n in range(6)]
    await store.save([insert(one) for one in first])
    seen: list[UUID] = []
    async for page in store.scan(2):
        seen += [one.feedback_id for one in page]
        if len(seen) == 2:
            await store.save([insert(record(f"late{n}")) for n in range(20)])
    assert len(seen) == len(set(seen))
    assert {one.feedback_id for one in first} <= set(seen)


async def test_records_are_counted_by_type(store: Store) -> None:
    types: list[FeedbackType] = ["explicit", "explicit", "reaction", "implicit"]
    await store.save([insert(replace(record(f"n{n}"), feedback_type=type_)) for n, type_ in enumerate(types)])
    assert await store.count() == Counter(types)
