"""Turns from messages: the same in every order of arrival, in PostgreSQL and by the pure rules."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import pytest_asyncio

from contracts.chat import ChatMessageIngested
from feedback.registry import (
    Asker,
    ProjectPerson,
    RegisteredTurn,
    Role,
    TurnKey,
    collapse,
    newest_roles,
    role_of,
    turn_of,
)
from feedback.registry_postgres import PostgresRegistry
from feedback.store_choice import SCHEMA
from servicekit.db.database import Database
from servicekit.db.pools import open_pool
from servicekit.db.row_security import EVERY_TENANT, tenant_in_sight
from tests.support.databases import new_database
from tests.support.reporting_events import reply


def message(name: str, at: int, *, agent: str | None = None, turn: str | None = "t1", **fields: Any) -> Any:
    return ChatMessageIngested(
        event_id=f"{name}-{at}",
        occurred_at=at,
        tenant=fields.pop("tenant", "acme"),
        project="support",
        message_id=name,
        conversation_id="c1",
        turn_id=turn,
        sender_id=agent or fields.pop("sender", "ann"),
        sender_type="agent" if agent else "human",
        agent_id=agent,
        content="Hello.",
        **fields,
    )


def turns_of(*events: ChatMessageIngested) -> list[RegisteredTurn]:
    return [turn for event in events if (turn := turn_of(event)) is not None]


def key(turn: str, tenant: str = "acme") -> TurnKey:
    return TurnKey(tenant, "support", "c1", turn)


def test_an_answer_without_a_turn_is_one_and_a_question_without_one_is_none() -> None:
    answer = turn_of(message("m1", 1, agent="bot", turn=None, model="m-9", track_id="tr"))
    assert answer is not None and answer.answer is not None
    assert (answer.key, answer.answer.agent_id, answer.answer.message_id) == (key("m1"), "bot", "m1")
    assert (answer.answer.provenance.model, answer.answer.provenance.track_id) == ("m-9", "tr")
    assert turn_of(message("m2", 1, turn=None)) is None


def test_the_latest_answer_and_the_first_asker_stand() -> None:
    turns = turns_of(
        message("a1", 5, agent="planner"),
        message("q2", 3, sender="bob"),
        message("a2", 9, agent="writer"),
        message("q1", 2, sender="ann"),
        message("a0", 8, agent="checker"),
    )
    for order in range(20):
        shuffled = random.Random(order).sample(turns, len(turns))
        [turn] = collapse(shuffled)
        assert turn.answer is not None and turn.asker is not None
        assert (turn.answer.agent_id, turn.answer.message_id) == ("writer", "a2")
        assert (turn.asker.user_id, turn.asker.at) == ("ann", 2)


def test_of_two_versions_of_an_answer_the_one_of_the_higher_sequence_stands() -> None:
    versions = turns_of(*(message("a1", 5, agent="bot", model=f"m-{n}", sequence=n) for n in (1, 2, 0)))
    [turn] = collapse(versions)
    assert turn.answer is not None and turn.answer.provenance.model == "m-2"


def test_a_reply_event_names_an_answer_but_not_over_its_own_message() -> None:
    own, other = (
        message("a1", 5, agent="bot", turn=None, model="m-9"),
        reply("a1", "At nine.", about="q1", sender="b", at=9),
    )
    other = other.model_copy(update={"sender_type": "agent", "project": "support"})
    alone = turn_of(other)
    assert alone is not None and alone.answer is not None and alone.answer.agent_id == "b"
    for order in ((own, other), (other, own)):
        [turn] = collapse(turns_of(*order))
        assert turn.answer is not None and (turn.answer.agent_id, turn.answer.provenance.model) == ("bot", "m-9")


def test_a_person_without_an_agent_id_asks_and_the_question_is_known_by_its_message() -> None:
    assert turn_of(message("q1", 3)) == RegisteredTurn(key("t1"), asker=Asker(3, "ann", "q1"))
    answer = message("a1", 5, agent="bot", reply_to_message_id="q9")
    [turn] = collapse(turns_of(message("q1", 3), answer))
    assert turn.question_message_id == "q1", "the question itself, not the message that the answer replies to"


@pytest.mark.parametrize(("thread", "question"), [(None, "q9"), ("q8", "q9"), ("q9", None), ("a1", "q9")], ids=str)
def test_an_answer_names_its_question_unless_it_replies_to_the_root_of_its_thread(
    thread: str | None, question: str | None
) -> None:
    answer = turn_of(message("a1", 5, agent="bot", reply_to_message_id="q9", thread_id=thread))
    assert answer is not None and answer.question_message_id == question
    assert RegisteredTurn(key("t1")).question_message_id is None


@pytest_asyncio.fixture(loop_scope="session")
async def database(postgres_url: str) -> AsyncIterator[str]:
    async with new_database(postgres_url, "feedback") as url:
        yield url


@pytest_asyncio.fixture(loop_scope="session")
async def pool(database: str) -> AsyncIterator[Database]:
    async with await open_pool(database, "feedback", SCHEMA) as pool:
        yield pool


def some_turns(seed: int) -> Sequence[RegisteredTurn]:
    dice = random.Random(seed)
    events = [
        message(
            f"m{dice.randrange(4)}",
            dice.randrange(6),
            agent=dice.choice([None, "bot", "writer"]),
            turn=dice.choice(["t1", "t2", None]),
            sender=dice.choice(["ann", "bob"]),
            tenant=dice.choice(["acme", "globex"]),
        )
        for _ in range(12)
    ]
    return turns_of(*events)


@pytest.mark.parametrize("seed", range(25))
async def test_postgres_joins_as_the_pure_rules_do(pool: Database, seed: int) -> None:
    await pool.execute("truncate turns")
    registry, dice, turns = PostgresRegistry(pool), random.Random(seed), list(some_turns(seed))
    expected = {turn.key: turn for turn in collapse(turns)}
    dice.shuffle(turns)
    while turns:
        size = dice.randrange(1, 5)
        batch, turns = turns[:size], turns[size:]
        await registry.add(collapse(batch))
    found = {key_: (await registry.find(key_, "ann")).turn for key_ in expected}
    # Of messages with equal time and id and different content any may count; the sample has none.
    assert {k: _place(turn) for k, turn in found.items()} == {k: _place(turn) for k, turn in expected.items()}
    assert await registry.count("acme", "support", "c1") == sum(one.tenant == "acme" for one in expected)
    assert await registry.add(list(expected.values())) == set(), "telling all again changes nothing"


async def test_every_fact_of_a_turn_comes_back(pool: Database) -> None:
    registry = PostgresRegistry(pool)
    about = {"reply_to_message_id": "q9", "thread_id": "th", "model": "m-9", "tenant": "whole"}
    turns = turns_of(message("q1", 3, tenant="whole"), message("a1", 5, agent="bot", **about))
    for turn in turns:
        assert await registry.add([turn]) == {turn.key}
    assert [(await registry.find(key("t1", "whole"), "ann")).turn] == collapse(turns)


async def test_of_two_questions_of_one_person_at_the_same_time_the_one_read_first_stands(pool: Database) -> None:
    registry = PostgresRegistry(pool)
    first, second = turns_of(*(message(name, 1, tenant="tie") for name in ("q2", "q1")))
    assert collapse([first, second]) == [first]
    assert await registry.add([first]) == {first.key}
    assert await registry.add([second]) == set()
    assert (await registry.find(first.key, "ann")).turn == first


def _place(turn: RegisteredTurn | None) -> object:
    assert turn is not None
    return (turn.answer and turn.answer.rank, turn.asker and turn.asker.place)


async def test_what_the_platform_last_called_a_person_is_known(pool: Database) -> None:
    registry = PostgresRegistry(pool)
    said = [
        message("q1", 1, user_type="anonymous"),
        message("q2", 3, user_type="paid"),
        message("q3", 2, user_type="registered"),
        message("q4", 4),
        message("a1", 5, agent="bot"),
    ]
    for event in said:
        await registry.add([], newest_roles([role_of(event)]))
    assert newest_roles(map(role_of, said)) == newest_roles([role_of(said[1])])
    asked = [(key("t1", "acme"), "ann"), (key("t1", "globex"), "ann"), (key("t1", "acme"), "bot")]
    assert [(await registry.find(*one)).user_type for one in asked] == ["paid", None, None]


async def test_tenants_do_not_meet(pool: Database) -> None:
    registry = PostgresRegistry(pool)
    await registry.add(collapse(turns_of(message("m1", 1, agent="bot", tenant="umbrella"))))
    assert (await registry.find(key("t1", "initech"), "ann")).turn is None
    assert (await registry.find(key("t1", "umbrella"), "ann")).turn is not None


async def test_questions_of_many_tenants_at_once_each_see_their_own(pool: Database, database: str) -> None:
    tenants = ("umbrella", "initech", "hooli")
    said = [message("m1", 1, agent="bot", tenant=tenant) for tenant in tenants]
    called = [message("q1", 1, user_type="paid", tenant=tenant) for tenant in tenants]
    await PostgresRegistry(pool).add(collapse(turns_of(*said)), newest_roles(map(role_of, called)))
    reads = await open_pool(database, "feedback", SCHEMA, size=2, tenants_apart=True, plan="indexed")
    registry = PostgresRegistry(reads)

    async def ask(caller: str, tenant: str) -> tuple[bool, bool]:
        tenant_in_sight.set(caller)
        turn, role, _ = await registry.find(key("t1", tenant), "ann")
        return turn is not None, role == "paid"

    asked = [(caller, tenant) for caller in (*tenants, EVERY_TENANT, "") for tenant in tenants] * 5
    found = await asyncio.gather(*(ask(*one) for one in asked))
    await reads.close()
    assert found == [(sees, sees) for sees in (caller in (tenant, EVERY_TENANT) for caller, tenant in asked)]


async def test_ids_of_any_length_fit(pool: Database) -> None:
    registry = PostgresRegistry(pool)
    wide = TurnKey("t" * 64, "p" * 64, "\U0001f600" * 256, "\U0001f40d" * 256)
    assert await registry.add([RegisteredTurn(wide)]) == {wide}
    assert (await registry.find(wide, "ann")).turn == RegisteredTurn(wide)


async def test_the_turns_of_a_conversation_are_counted_in_one_project_or_in_all(pool: Database) -> None:
    registry = PostgresRegistry(pool)
    places = [
        ("sums", "support", "c1", "t1"),
        ("sums", "support", "c1", "t2"),
        ("sums", "sales", "c1", "t1"),
        ("sums", "support", "c2", "t1"),
        ("others", "support", "c1", "t1"),
    ]
    await registry.add([RegisteredTurn(TurnKey(*place)) for place in places])
    asked = [("sums", None), ("sums", "support"), ("sums", "sales"), ("sums", "shop"), ("others", None)]
    assert [await registry.count(*place, "c1") for place in asked] == [3, 2, 1, 0, 1]


async def test_the_only_tenant_of_a_conversation_is_known_in_the_order_of_the_questions(pool: Database) -> None:
    registry = PostgresRegistry(pool)
    places = [("sole", "support", "lone"), ("sole", "sales", "lone"), ("sole", "support", "both")]
    await registry.add([RegisteredTurn(TurnKey(*place, "t1")) for place in (*places, ("twin", "support", "both"))])
    asked = ["nowhere", "lone", "both", "lone"]
    assert [await registry.only_tenant(name) for name in asked] == [None, "sole", None, "sole"]
    assert await asyncio.gather(*map(registry.only_tenant, asked)) == [None, "sole", None, "sole"]


async def test_a_persons_role_is_known_in_its_own_project_only(pool: Database) -> None:
    registry = PostgresRegistry(pool)
    people = [ProjectPerson("roles", project, name) for project in ("sales", "support") for name in ("ann", "bob")]
    await registry.add([], [Role(one, f"{one.project} {one.user_id}", b"1") for one in people[:3]])
    asked = [(TurnKey("roles", one.project, "c1", "t1"), one.user_id) for one in people]
    found = await asyncio.gather(*(registry.find(*one) for one in asked))
    assert [one.user_type for one in found] == ["sales ann", "sales bob", "support ann", None]
    assert [one.turn for one in found] == [None] * 4


async def test_a_turn_is_found_under_its_whole_key_only(pool: Database) -> None:
    registry, whole = PostgresRegistry(pool), TurnKey("whole key", "support", "c1", "t1")
    others = [whole._replace(**{name: "other"}) for name in TurnKey._fields]
    await registry.add([RegisteredTurn(whole, asker=Asker(1, "ann"))])
    for other in others:
        assert (await registry.find(other, "ann")).turn is None
    await registry.add([RegisteredTurn(other, asker=Asker(2, f"asker {n}")) for n, other in enumerate(others)])
    found = await asyncio.gather(*(registry.find(one, "ann") for one in (*others, whole)))
    assert [one.turn and one.turn.asker and one.turn.asker.user_id for one in found] == [
        *(f"asker {n}" for n in range(4)),
        "ann",
    ]
