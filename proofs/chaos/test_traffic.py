"""The load's good records are valid, its poison is invalid, and a seed always gives the same load."""

import json
import random

import pytest

from contracts.base import Envelope
from contracts.topics import BY_NAME
from proofs.chaos.ledger import EXPLICIT, MESSAGE, REACTION, REPLY, Outgoing
from proofs.chaos.poison import BROKEN_HEADERS, SPOIL
from proofs.chaos.traffic import Traffic, races
from servicekit.log.records import Coordinates, RawRecord, Received, Unreadable, read

NOW = 1_795_000_000_000_000
MODELS = {name: BY_NAME[name].event for name in (MESSAGE, REPLY, REACTION, EXPLICIT)}


def outgoing(seed: int, count: int) -> list[Outgoing]:
    traffic = Traffic(seed)
    return [traffic.next(NOW + n * 3_333) for n in range(count)]


def read_back(topic: str, value: bytes | None) -> Received[Envelope] | Unreadable:
    return read(RawRecord(Coordinates(topic, 0, 0), None, value, (), NOW + 60_000_000), MODELS)


def test_a_seed_always_makes_the_same_load() -> None:
    assert outgoing(4, 500) == outgoing(4, 500) != outgoing(5, 500)


def test_good_records_can_be_read_and_poison_cannot() -> None:
    records = [*outgoing(4, 6_000), *races(4, 50, NOW)[0]]
    wrong = [r.value for r in records if isinstance(read_back(r.topic, r.value), Unreadable) != r.is_poison]
    assert wrong == []


@pytest.mark.parametrize("kind", SPOIL)
@pytest.mark.parametrize("topic", [MESSAGE, REPLY, REACTION, EXPLICIT])
def test_every_kind_of_poison_is_refused_on_every_topic(kind: str, topic: str) -> None:
    good = next(r for r in outgoing(4, 2_000) if r.topic == topic and not r.is_poison)
    assert isinstance(read_back(topic, SPOIL[kind](json.loads(good.value or b""))), Unreadable)


def test_everything_that_the_system_takes_in_is_in_the_load() -> None:
    records = outgoing(4, 4_000)
    events = [(r.topic, json.loads(r.value or b"")) for r in records if not r.is_poison]
    assert {topic for topic, _ in events} == {MESSAGE, REPLY, REACTION, EXPLICIT}
    assert any(event.get("action") == "removed" for _, event in events)
    assert any("original" in event for _, event in events)
    assert any("(edited)" in event.get("content", "") for _, event in events)
    assert any(topic == EXPLICIT and event["reaction"] is None for topic, event in events)
    assert any(r.wait for r in records) and any(r.scattered for r in records)
    assert any(r.headers in BROKEN_HEADERS for r in records)
    assert len({r.value for r in records}) < len(records)
    assert 10 < sum(r.is_poison for r in records) < 100


def test_names_repeat_across_tenants() -> None:
    events = [json.loads(r.value or b"") for r in outgoing(random.Random(1).randrange(9), 4_000) if not r.is_poison]
    of = {
        tenant: {e["messageId"] for e in events if e["tenant"] == tenant and "messageId" in e}
        for tenant in ("north", "south")
    }
    assert len(of["north"] & of["south"]) > 50
