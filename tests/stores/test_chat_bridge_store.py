"""Contract of the bridge's stores, run on each of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

import chat_bridge.service
from chat_bridge.model import IndexedMessage, ParkedEvent, ParkedKey
from chat_bridge.store import MessageStore
from contracts.chat import ChatMessageReactionIngested
from contracts.erasure import ERASURE_MARGIN, Person
from contracts.exchange import Position
from contracts.message_fields import MessageKey
from contracts.provenance import NO_PROVENANCE, Provenance
from servicekit.db.pools import open_pool
from tests.support.bridge_memory import MemoryMessageStore

SCHEMA = chat_bridge.sql.SQL.schema


@pytest_asyncio.fixture(params=["memory", "postgres"])
async def store(request: pytest.FixtureRequest, postgres_url: str) -> AsyncIterator[MessageStore]:
    if request.param == "memory":
        yield MemoryMessageStore()
        return
    pool = await open_pool(postgres_url, "chat_bridge", SCHEMA, size=2)
    await pool.execute("truncate messages, parked")
    yield MessageStore(pool)
    await pool.close()


def named(message_id: str = "m1", tenant: str = "acme", conversation: str = "c1") -> MessageKey:
    return MessageKey(tenant, "p", conversation, message_id)


def at_version(at: int, rank: int = 2) -> bytes:
    return bytes([rank]) + at.to_bytes(8) + bytes(28)


def message(
    message_id: str = "m1",
    at: int = 100,
    tenant: str = "acme",
    conversation: str = "c1",
    version: bytes | None = None,
    **fields: Any,
) -> IndexedMessage:
    key = named(message_id, tenant, conversation)
    indexed = IndexedMessage(key, "t1", "bot", "agent", "bot", "hi", False, NO_PROVENANCE, version or at_version(at))
    return replace(indexed, **{"position": Position(at)} | fields)


def of_project(one: IndexedMessage, project: str) -> IndexedMessage:
    return replace(one, key=one.key._replace(project=project))


def waiting(event_id: str = "e1", original: str = "m1", conversation: str = "c1", **fields: Any) -> ParkedEvent:
    place = fields.pop("tenant", "acme"), fields.pop("project", "p")
    key = ParkedKey(*place, fields.pop("topic", "chat.message.reply.ingested"), event_id)
    values: dict[str, Any] = {"cause": f"{key.topic}:0:{event_id[1:]}", "log_time": 5, "parked_at": 10}
    values |= {"user_id": "ann", "said_at": 5} | fields
    about = MessageKey(*place, conversation, original)
    return ParkedEvent(key, about, None, b"\x00\xff", traceparent=None, **values)


async def test_a_message_is_found_as_it_was_indexed(store: MessageStore) -> None:
    found = message(provenance=Provenance(track_id="t", model="m"), truncated=True)
    person = message("m2", sender_id="ann", sender_type="human", agent_id=None, content=None)
    assert await store.index([found, person]) == {found.key, person.key}
    assert await store.find([found.key, person.key, named("m3")]) == {
        found.key: replace(found, question_message_id="m2"),
        person.key: person,
    }


async def test_the_question_of_an_answer_is_the_one_replied_to_else_the_last_of_its_turn(store: MessageStore) -> None:
    person: Any = {"sender_id": "ann", "sender_type": "human", "agent_id": None, "content": None}
    asked = [message("q2", 92, **person), message("q1", 91, **person), message("q0", 90, turn_id="t0", **person)]
    elsewhere = [message("q3", 80, conversation="c2", **person), message("a0", 81)]
    answers = {"a1": None, "a2": "q0", "a3": "a0", "a4": "gone"}
    replies = [message(name, reply_to=reply_to, thread_id="th") for name, reply_to in answers.items()]
    alone = message("a5", turn_id="t5")
    await store.index([*asked, *elsewhere, *replies, alone])
    found = await store.find([one.key for one in (*replies, alone)])
    questions = {key.message_id: one.question_message_id for key, one in found.items()}
    assert questions == {"a1": "q2", "a2": "q0", "a3": "q2", "a4": "q2", "a5": "q2"}
    assert found[replies[0].key].thread_id == "th"
    await store.park([waiting(original="a2")])
    [(_, original)] = await store.released_by([replies[1].key])
    assert (original.question_message_id, original.thread_id) == ("q0", "th")


EDITS: dict[str, Any] = {
    "turn_id": "t2",
    "sender_id": "other",
    "sender_type": "human",
    "agent_id": "other",
    "content": "another text",
    "provenance": Provenance(model="m-9"),
    "truncated": True,
    "reply_to": "m0",
    "thread_id": "th",
    "has_text": False,
}


@pytest.mark.parametrize("field", EDITS)
async def test_a_later_version_replaces_each_field_and_an_earlier_one_none(store: MessageStore, field: str) -> None:
    first, edit = message(at=100), message(at=101, **{field: EDITS[field]})
    assert await store.index([first]) == {first.key}
    assert await store.index([edit]) == {edit.key}
    [found] = (await store.find([edit.key])).values()
    assert replace(found, question_message_id=None) == replace(edit, position=first.position)
    assert await store.index([first]) == set()
    assert await store.find([edit.key]) == {edit.key: found}


PERSON: dict[str, Any] = {"sender_id": "", "sender_type": "human", "agent_id": None, "content": None}


async def test_the_question_is_the_last_message_of_a_person_in_the_answers_thread(store: MessageStore) -> None:
    people = [
        message("q1", 90, turn_id="q1", **PERSON),
        message("q2", 91, turn_id="q2", **PERSON),
        message("q3", 92, turn_id="q3", has_text=False, **PERSON),
        message("q4", 93, turn_id="q4", thread_id="q1", **PERSON),
        message("q5", 200, turn_id="q5", **PERSON),
        message("joined", 95, turn_id="joined", **PERSON | {"sender_type": "system"}),
    ]
    threads = {"a1": None, "a2": "q1", "a3": "q2", "a4": "q9"}
    answers = [message(name, turn_id=name, thread_id=thread) for name, thread in threads.items()]
    for one in (*answers, *people):
        await store.index([one])
    found = await store.find([one.key for one in answers])
    questions = {key.message_id: one.question_message_id for key, one in found.items()}
    assert questions == {"a1": "q2", "a2": "q4", "a3": "q2", "a4": None}


async def test_a_message_keeps_the_position_of_its_earliest_version(store: MessageStore) -> None:
    question, other = message("q1", 90, turn_id="q1", **PERSON), message("q2", 95, turn_id="q2", **PERSON)
    edit = replace(question, version=at_version(120), position=Position(120))
    await store.index([edit, other, message("a1", turn_id="a1")])
    assert (await store.find([named("a1")]))[named("a1")].question_message_id == "q2"
    await store.index([replace(question, position=Position(98))])
    assert (await store.find([named("a1")]))[named("a1")].question_message_id == "q1"


def rating(conversation: str, agent: str | None, at: int) -> ChatMessageReactionIngested:
    return ChatMessageReactionIngested(
        event_id="e1", occurred_at=at, tenant="acme", project="p", conversation_id=conversation, user_id="ann",
        judgement="ok", agent_id=agent,
    )  # fmt: skip


async def test_the_last_answer_before_a_rating_is_found(store: MessageStore) -> None:
    person: Any = {"sender_id": "", "sender_type": "human", "agent_id": None, "content": None}
    other: Any = {"sender_id": "o", "agent_id": "other"}
    await store.index([message("a1", 10), message("a2", 20), message("q", 25, **person), message("o1", 30, **other)])
    await store.index([message("gone", 35, has_text=False), message("x", 36, "globex"), message("a3", 50)])
    ratings = [
        rating("c1", "bot", 40),
        rating("c1", None, 40),
        rating("c1", None, 5),
        rating("c2", None, 40),
    ]
    assert await store.last_answers(ratings) == ["a2", "o1", None, None]
    assert await store.last_answers([]) == []


def in_thread(message_id: str, at: int, **fields: Any) -> IndexedMessage:
    """Return a message in the thread `q`: an agent's, or with `is_of_starter` a person's."""
    if "is_of_starter" in fields:
        fields |= {"sender_id": "", "sender_type": "human", "agent_id": None, "content": None}
    return message(message_id, at, thread_id="q", **fields)


async def test_a_follow_up_follows_the_last_answer_in_a_thread_of_one_person_and_one_agent(store: MessageStore) -> None:
    early, late = in_thread("f1", 5, is_of_starter=True), in_thread("f2", 40, is_of_starter=True)
    await store.index([early, in_thread("a1", 10), in_thread("a2", 20), in_thread("gone", 30, has_text=False), late])
    await store.index(
        [in_thread("a9", 50), in_thread("f2", 60, is_of_starter=False)]
    )  # an edit of f2, without its root
    await store.index([in_thread("joined", 35, sender_type="system", sender_id="", agent_id=None, content=None)])
    elsewhere = [replace(in_thread("x", 15, is_of_starter=False), key=named("x", "globex"))]
    await store.index([*elsewhere, in_thread("x", 15, conversation="c2", is_of_starter=False)])
    keys = [named("f1"), named("f2"), named("a2"), named("never")]
    assert await store.thread_answers(keys) == {named("f2"): named("a2")}
    assert await store.thread_answers([]) == {}


@pytest.mark.parametrize(
    "other", [in_thread("o1", 7, is_of_starter=False), in_thread("o1", 7, agent_id="another", sender_id="another")]
)
async def test_after_another_person_or_agent_in_the_thread_it_follows_none(
    store: MessageStore, other: IndexedMessage
) -> None:
    later = replace(other, key=named("o2"), position=other.position._replace(at=50))
    await store.index([in_thread("a1", 10), in_thread("f1", 40, is_of_starter=True), later])
    assert await store.thread_answers([named("f1")]) == {named("f1"): named("a1")}
    await store.index([other])
    assert await store.thread_answers([named("f1")]) == {}


async def test_an_event_that_is_in_the_log_again_changes_nothing(store: MessageStore) -> None:
    again = at_version(100)[:-1] + b"\x01"
    await store.index([message(at=100)])
    assert await store.index([message(at=100, version=again)]) == set()
    assert await store.index([message(at=100, version=again, content="other")]) == {message().key}


async def test_an_older_text_that_comes_later_changes_nothing(store: MessageStore) -> None:
    await store.index([message(at=100)])
    assert await store.index([message(at=200)]) == {message().key}
    assert await store.index([message(at=150, content="older than the last word")]) == set()
    assert (await store.find([message().key]))[message().key] == message(at=200, position=Position(100))


async def test_who_parks_first_holds_the_place(store: MessageStore) -> None:
    first, again = waiting(cause="chat:0:1"), waiting(cause="chat:0:2", parked_at=99)
    assert await store.park([first]) == {first.key: "chat:0:1"}
    assert await store.park([again, waiting("e2")]) == {first.key: "chat:0:1", waiting("e2").key: waiting("e2").cause}
    assert await store.parked() == 2
    assert sorted(event.parked_at for event in await store.expired(1_000, 10)) == [10, 10]


async def test_parked_events_are_released_by_their_original_only(store: MessageStore) -> None:
    late, early, other = waiting("e1", log_time=9), waiting("e2", log_time=3), waiting("e3", original="m9")
    await store.park([late, early, other])
    assert await store.released_by([message().key]) == []
    await store.index([message()])
    assert await store.released_by([message().key]) == [(early, message()), (late, message())]
    assert await store.released_by([named("m1", "globex"), named("m1", conversation="c2"), other.original]) == []
    assert await store.releasable(1) == [(early, message())]
    theirs = [message("m9", tenant="globex"), message("m9", conversation="c2"), of_project(message("m9"), "q")]
    await store.index(theirs)
    assert await store.released_by([other.original, *(one.key for one in theirs)]) == []
    assert await store.releasable(10) == [(early, message()), (late, message())]


async def test_events_of_the_same_log_time_are_released_in_the_order_of_their_causes(store: MessageStore) -> None:
    parked = [waiting(f"e{number}", cause=f"chat:0:{9 - number}") for number in (3, 1, 5, 2, 4)]
    await store.park(parked)
    await store.index([message()])
    pairs = await store.released_by([message().key])
    assert [event.cause for event, _ in pairs] == [f"chat:0:{number}" for number in (4, 5, 6, 7, 8)]


async def test_a_tenant_parks_events_up_to_a_size(own_database: str) -> None:
    size, pool = len(waiting().value), await open_pool(own_database, "chat_bridge", SCHEMA, size=1)
    store = MessageStore(pool, 2 * size)
    first, second, third = (waiting(f"e{n}", log_time=n) for n in (1, 2, 3))
    large, elsewhere = replace(waiting("e9", tenant="globex"), value=b"x" * 3 * size), waiting("e9", tenant="initech")
    assert set(await store.park([third, second, first, large, elsewhere])) == {first.key, second.key, elsewhere.key}
    assert set(await store.park([first, third])) == {first.key}
    await store.unpark([second.key])
    assert set(await store.park([third])) == {third.key}
    await pool.close()


ELSEWHERE: dict[str, Any] = {
    "tenant": waiting(tenant="globex"),
    "project": waiting(project="q"),
    "topic": waiting(topic="chat.message.reaction.ingested"),
    "event": waiting("e2"),
}


@pytest.mark.parametrize("differs", ELSEWHERE)
async def test_each_part_of_a_key_tells_two_parked_events_apart(store: MessageStore, differs: str) -> None:
    one, other = replace(waiting(), cause="chat:0:1"), replace(ELSEWHERE[differs], cause="chat:0:2")
    assert await store.park([one]) == {one.key: one.cause}
    assert await store.park([other]) == {other.key: other.cause}
    await store.unpark([one.key])
    assert await store.expired(1_000, 10) == [other]


async def test_only_what_was_parked_before_the_moment_has_expired_oldest_first(store: MessageStore) -> None:
    old, older, at_it = waiting("e1", parked_at=5), waiting("e2", parked_at=4), waiting("e3", parked_at=6)
    await store.park([old, older, at_it])
    assert await store.expired(6, 10) == [older, old]
    assert await store.expired(6, 1) == [older]


async def test_an_erasure_deletes_the_parked_events_of_a_person_up_to_its_time(postgres_url: str) -> None:
    pool = await open_pool(postgres_url, "chat_bridge", SCHEMA, size=2)
    await pool.execute("truncate messages, parked")
    store, last = MessageStore(pool), 7 + ERASURE_MARGIN
    hers, later = waiting("e1", said_at=last), waiting("e2", said_at=last + 1)
    others = [waiting("e3", user_id="bob"), waiting("e4", user_id=None), waiting("e1", tenant="globex")]
    await store.park([hers, later, *others])
    assert await store.erase({Person("acme", "ann"): 7, Person("initech", "ann"): 7}) == 1
    assert {event.key for event in await store.expired(1_000, 10)} == {event.key for event in (later, *others)}
    await pool.close()
