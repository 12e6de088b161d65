"""Rows and events of a person's data, as they are handed out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contracts.erasure import Person
from contracts.instants import LAST, parse_instant
from contracts.topics import CHAT_MESSAGE, CHAT_REPLY, FEEDBACK_CREATED
from servicekit.log.producer import BatchProducer
from servicekit.log.records import Message
from servicekit.log.topics import partitions_by_topic
from standalone.embedded.memory_broker import MemoryBroker
from standalone.operations.subject_access import _log_of
from standalone.subject_access.own_parts import own_event, own_object, readable

ANN = Person("acme", "ann")
BY_ANN: dict[str, Any] = {"senderId": "ann", "senderType": "human", "content": "Hello"}
BY_BOB: dict[str, Any] = BY_ANN | {"senderId": "bob"}
BY_BOT: dict[str, Any] = {"senderId": "bot", "senderType": "agent", "content": "At nine."}


def test_times_of_a_row_are_dates_and_all_else_is_unchanged() -> None:
    noon = parse_instant("2026-09-21T12:00:00Z")
    rest = {"asked_at": None, "window_start": 7, "late_at": LAST + 1, "is_at": True, "size": noon, "text_at": "soon"}
    assert readable({"at": noon, "log_time": noon, **rest}) == {
        "at": "2026-09-21T12:00:00.000000Z",
        "log_time": "2026-09-21T12:00:00.000000Z",
        **rest,
    }


@pytest.mark.parametrize(
    ("event", "own"),
    [
        (BY_ANN, BY_ANN),
        (BY_BOB, None),
        (BY_ANN | {"senderType": "agent"}, None),
        ({"userId": "ann", "emoji": "x", "original": BY_BOT}, {"userId": "ann", "emoji": "x", "original": BY_BOT}),
        ({"userId": "ann", "emoji": "x", "original": BY_ANN}, {"userId": "ann", "emoji": "x", "original": BY_ANN}),
        ({"userId": "ann", "emoji": "x", "original": BY_BOB}, {"userId": "ann", "emoji": "x"}),
        ({"userId": "ann", "emoji": "x", "original": None}, {"userId": "ann", "emoji": "x"}),
        ({"userId": "bob", "emoji": "x", "original": BY_ANN}, {"original": BY_ANN}),
        ({"userId": "bob", "emoji": "x", "original": BY_BOT}, None),
        ({"userId": "bob", "emoji": "x", "original": "ann"}, None),
        ({"authorId": "ann", "authorType": "human"}, {"authorId": "ann", "authorType": "human"}),
        ({"authorId": "ann", "authorType": "agent"}, None),
        *(({name: "ann"}, {name: "ann"}) for name in ("replySenderId", "reactionUserId", "userIdOrNull")),
    ],
)
def test_of_an_event_a_person_gets_their_own_words_and_those_of_agents(
    event: dict[str, Any], own: dict[str, Any] | None
) -> None:
    place = {"tenant": "acme"}
    found = own_event(place | event, ANN)
    assert found == (own if own is None or own.keys() == {"original"} else place | own)
    assert own_event({"tenant": "globex"} | event, ANN) is None


def test_a_number_is_an_id_in_digits_and_other_values_are_no_events() -> None:
    seven = Person("acme", "7")
    assert own_event({"tenant": "acme", "userId": 7}, seven) == {"tenant": "acme", "userId": 7}
    assert own_event({"tenant": "acme", "userId": True}, Person("acme", "True")) is None
    others: tuple[object, ...] = ([], "7", None, 7)
    assert [own_event(one, seven) for one in others] == [None] * 4


def test_the_earliest_and_the_last_time_are_dates() -> None:
    assert readable({"at": 10**14, "window_start": LAST, "noted_at": 10**14 - 1}) == {
        "at": "1973-03-03T09:46:40.000000Z",
        "window_start": "9999-12-31T23:59:59.999999Z",
        "noted_at": 10**14 - 1,
    }


@pytest.mark.parametrize("is_own", [True, False])
def test_of_the_log_of_a_turn_the_persons_own_feedback_is_handed_out(is_own: bool) -> None:
    mine, his = {"rn": "ef:acme:p:ann:c1:1"}, {"rn": "ef:acme:p:bob:c1:1"}
    others = [{"rn": f"ef:{place}:1"} for place in ("globex:p:ann:c1", "acme:q:ann:c1", "acme:p:ann:c2", "acme:p:an")]
    asked = {"turn_log": {"question": "?"}, "conversation_id": "c1", "bundle_id": "b"}
    body = {**asked, "other": 1, "feedbacks": [his, mine, *others, {}]}
    held = {"project": "p", "conversation_id": "c1", "is_own": is_own}
    assert own_object(body, held, ANN) == {**(asked if is_own else {}), "feedbacks": [mine]}
    assert own_object({"turn_log": 1}, held, ANN) == {**({"turn_log": 1} if is_own else {}), "feedbacks": []}


def test_an_object_of_one_feedback_is_handed_out_as_it_is() -> None:
    assert own_object({"rn": "x"}, {}, ANN) == {"rn": "x"}


async def test_of_the_log_the_persons_events_and_unreadable_records_are_found() -> None:
    """Also behind tombstones, other people's events and junk."""
    mine = {"tenant": "acme", "senderId": "ann", "senderType": "human"}
    records = [
        Message(FEEDBACK_CREATED.name, "k", None, partition=0),
        Message(FEEDBACK_CREATED.name, "k", json.dumps({"tenant": "acme", "userId": "ann"}).encode(), partition=0),
        Message(CHAT_MESSAGE.name, None, None, partition=1),
        Message(CHAT_MESSAGE.name, None, b'{"senderId": "ann', partition=1),
        Message(CHAT_MESSAGE.name, None, b'{"senderId": "bob', partition=1),
        Message(CHAT_MESSAGE.name, None, json.dumps(mine | {"senderId": "bob"}).encode(), partition=1),
        Message(CHAT_MESSAGE.name, None, json.dumps(mine).encode(), partition=1),
        Message(CHAT_MESSAGE.name, None, json.dumps(mine | {"content": "more"}).encode(), partition=1),
        Message(CHAT_REPLY.dead_letters, None, b"[" * 100_000 + b"ann", partition=0),
    ]
    with MemoryBroker(partitions_by_topic()) as broker:
        producer = BatchProducer(broker.bootstrap, client_id="test")
        await producer.send(records)
        await producer.stop()
        found, unreadable = await _log_of(ANN, broker.bootstrap)
    places = {topic: [(one["partition"], one["offset"], one["event"]) for one in held] for topic, held in found.items()}
    assert places == {
        FEEDBACK_CREATED.name: [(0, 1, {"tenant": "acme", "userId": "ann"})],
        CHAT_MESSAGE.name: [(1, 4, mine), (1, 5, mine | {"content": "more"})],
    }
    assert sorted((one["topic"], one["partition"], one["offset"]) for one in unreadable) == [
        (CHAT_MESSAGE.name, 1, 1),
        (CHAT_REPLY.dead_letters, 0, 0),
    ]
    times = [one["written_at"] for held in (*found.values(), unreadable) for one in held]
    assert all("2020" < parsed < "2100" and parsed.endswith("Z") for parsed in times)
