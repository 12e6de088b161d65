"""Message registry: the answer and the question of a turn are those of the pure rules, in every order of arrival."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
import pytest_asyncio

from contracts.chat import DELETED, ChatMessageIngested
from contracts.exchange import ExchangeMessage, answer_of_turn, question_of
from contracts.message_fields import TurnKey
from contracts.versions import LogPosition
from feedback.parts import SCHEMA
from feedback.registry import PostgresRegistry, RegisteredMessage, collapse, registered
from servicekit.db.database import Database
from servicekit.db.pools import open_pool
from tests.support.databases import new_database
from tests.support.reporting_events import reply


def message(name: str, at: int, *, agent: str | None = None, turn: str | None = "t1", **fields: Any) -> Any:
    return ChatMessageIngested(
        event_id=f"{name[:9]}-{at}",
        occurred_at=at,
        tenant=fields.pop("tenant", "acme"),
        project=fields.pop("project", "support"),
        message_id=name,
        conversation_id=fields.pop("conversation", "c1"),
        turn_id=turn,
        sender_id=agent or fields.pop("sender", "ann"),
        sender_type="agent" if agent else "human",
        agent_id=agent,
        content=fields.pop("content", "Hello."),
        **fields,
    )


def key(turn: str = "t1", tenant: str = "acme") -> TurnKey:
    return TurnKey(tenant, "support", "c1", turn)


@pytest_asyncio.fixture(loop_scope="session")
async def database(postgres_url: str) -> AsyncIterator[str]:
    async with new_database(postgres_url, "feedback") as url:
        yield url


@pytest_asyncio.fixture(loop_scope="session")
async def pool(database: str) -> AsyncIterator[Database]:
    async with await open_pool(database, "feedback", SCHEMA) as pool:
        await pool.execute("truncate messages")
        yield pool


async def pair_of(pool: Database, *events: Any, turn: str = "t1") -> tuple[str | None, str | None]:
    """Return the ids of the answer and the question of a turn, after events that each arrive alone."""
    registry = PostgresRegistry(pool)
    for event in events:
        await registry.add([registered(event)])
    answer = (await registry.find(key(turn), "ann")).answer
    return (answer.message_id, answer.question_message_id) if answer else (None, None)


Q1, Q2 = message("q1", 1), message("q2", 2, turn="t0")
DIRECTED = {"sender": "bob", "turn": None, "content": "And the zoo?"}


@pytest.mark.parametrize(
    ("events", "pair"),
    [
        ([Q1, Q2, message("a1", 5, agent="bot")], ("a1", "q1")),
        ([Q1, Q2, message("a1", 5, agent="bot", reply_to_message_id="q2")], ("a1", "q2")),
        ([Q1, message("a1", 5, agent="bot"), message("a2", 7, agent="writer")], ("a2", "q1")),
        ([Q1, message("a1", 5, agent="bot"), message("a2", 7, agent="bot", content=DELETED)], ("a1", "q1")),
        ([message("q0", 0), message("q3", 3, content=DELETED), message("a1", 5, agent="bot")], ("a1", "q0")),
        ([Q2, message("q3", 3, turn=None), message("a1", 5, agent="bot")], ("a1", "q3")),
        ([Q2, message("q3", 3, **DIRECTED), message("a1", 5, agent="bot", content="@ann At nine.")], ("a1", "q2")),
        (
            [
                message("q3", 3, turn=None, thread_id="th"),
                message("q4", 4, turn=None),
                message("a1", 5, agent="bot", thread_id="th", reply_to_message_id="th"),
            ],
            ("a1", "q3"),
        ),
    ],
)
async def test_a_turns_last_answer_and_the_message_that_it_answers(
    pool: Database, events: list[Any], pair: tuple[str | None, str | None]
) -> None:
    assert await pair_of(pool, *events) == pair
    await pool.execute("truncate messages")
    assert await pair_of(pool, *reversed(events)) == pair


async def test_an_answer_without_a_turn_is_a_turn_of_its_own(pool: Database) -> None:
    answer = message("a1", 5, agent="bot", turn=None, model="m-9", track_id="tr", thread_id="th")
    registry = PostgresRegistry(pool)
    assert len(await registry.add([registered(answer)])) == 1
    found = (await registry.find(key("a1"), "ann")).answer
    assert found is not None and (found.agent_id, found.message_id, found.thread_id) == ("bot", "a1", "th")
    assert (found.provenance.model, found.provenance.track_id) == ("m-9", "tr")


async def test_a_reply_event_names_an_answer_but_not_over_its_own_message(pool: Database) -> None:
    own = message("a1", 5, agent="bot", turn=None, model="m-9")
    other = reply("a1", "At nine.", about="q1", sender="b", at=9)
    other = other.model_copy(update={"sender_type": "agent", "project": "support"})
    for order in ((other, own), (own, other)):
        await pool.execute("truncate messages")
        assert await pair_of(pool, *order, turn="a1") == ("a1", None)
        answer = (await PostgresRegistry(pool).find(key("a1"), "ann")).answer
        assert answer is not None and (answer.agent_id, answer.provenance.model) == ("bot", "m-9")


def some_messages(dice: random.Random) -> list[RegisteredMessage]:
    """Return versions of a few messages of all kinds, in threads and turns, by three people and two agents."""
    return [
        registered(
            message(
                f"m{number}",
                dice.randrange(6),
                agent=["bot", "writer", None, None, None, None][number],
                turn=dice.choice(["t1", "t2", None]),
                sender=["", "", "ann", "bob", "ann", "cleo"][number],
                tenant=dice.choice(["acme", "globex"]),
                content=dice.choice(["Hello.", "@ann at nine.", "bob, no.", "", DELETED]),
                sequence=dice.choice([None, 1, 2]),
                thread_id=dice.choice([None, None, "m2", "m4"]),
                reply_to_message_id=dice.choice([None, None, "m2", "m3"]),
            ),
            LogPosition(offset=offset),
        )
        for offset in range(14)
        for number in [dice.randrange(6)]
    ]


def exchange_message(one: RegisteredMessage) -> ExchangeMessage:
    ids = one.key.message_id, one.turn_id or one.key.message_id, one.thread_id or "", one.sender_id
    return ExchangeMessage(*ids, one.agent_id is None, one.has_text, one.position, one.reply_to, one.content or "")


def expected_pair(messages: Iterable[RegisteredMessage], turn: TurnKey) -> tuple[str | None, str | None]:
    """Return the answer and the question of a turn by the pure rules, from the merged messages of its conversation."""
    near = [exchange_message(one) for one in messages if (one.key.tenant, one.key.project) == turn[:2]]
    answer = answer_of_turn(one for one in near if not one.is_person and one.turn_id == turn.turn_id)
    question = None if answer is None else question_of(answer, near)
    return answer and answer.message_id, question and question.message_id


@pytest.mark.parametrize("seed", range(40))
async def test_postgres_pairs_as_the_pure_rules_do(pool: Database, seed: int) -> None:
    registry, dice = PostgresRegistry(pool), random.Random(seed)
    versions = some_messages(dice)
    merged = collapse(versions)
    dice.shuffle(versions)
    for start in range(0, len(versions), 3):
        await registry.add(collapse(versions[start : start + 3]))
    turns = [key(turn, tenant) for tenant in ("acme", "globex") for turn in ("t1", "t2", "m0", "m1")]
    answers = [facts.answer for facts in await asyncio.gather(*(registry.find(turn, "ann") for turn in turns))]
    found = [(answer and answer.message_id, answer and answer.question_message_id) for answer in answers]
    assert found == [expected_pair(merged, turn) for turn in turns]
    known = {one.turn_id for one in merged if one.turn_id and one.key.tenant == "acme"}
    assert (await registry.count("acme", "support", "c1", "ann"))[0] == len(known)
    assert await registry.add(merged) == set(), "telling all again changes nothing"


async def test_what_the_platform_last_called_a_person_is_known(pool: Database) -> None:
    registry = PostgresRegistry(pool)
    roles = {1: "anonymous", 3: "paid", 2: "registered"}
    await registry.add([registered(message(f"q{at}", at, user_type=role)) for at, role in roles.items()])
    await registry.add(collapse(map(registered, [message("q4", 4), message("a1", 5, agent="bot")])))
    assert [(await registry.find(key(), who)).user_type for who in ("ann", "bob", "bot")] == ["paid", "human", "human"]
    other = message("q9", 9, user_type="guest", project="sales")
    await registry.add([registered(other)])
    assert (await registry.find(key(), "ann")).user_type == "paid", "a role is one of a project"


async def test_ids_of_any_length_fit(pool: Database) -> None:
    registry = PostgresRegistry(pool)
    wide = {"tenant": "t" * 64, "project": "p" * 64, "conversation": "\U0001f600" * 256}
    answer = registered(message("\U0001f40d" * 256, 1, agent="b" * 256, turn="\U0001f40d" * 256, **wide))
    assert await registry.add([answer]) == {answer.key}
    assert (await registry.find(TurnKey(*answer.key), "ann")).answer is not None


async def test_the_turns_of_a_conversation_are_counted_in_one_project_or_in_all(pool: Database) -> None:
    registry = PostgresRegistry(pool)
    turns = [
        ("sums", "support", "c1", "t1"),
        ("sums", "support", "c1", "t2"),
        ("sums", "sales", "c1", "t1"),
        ("sums", "support", "c2", "t1"),
        ("others", "support", "c1", "t1"),
        ("sums", "support", "c1", None),
    ]
    await registry.add(
        [
            registered(message(f"{turn} {number}", 1, tenant=tenant, project=project, conversation=chat, turn=turn))
            for tenant, project, chat, turn in turns
            for number in range(2)
        ]
    )
    scopes = [("sums", None), ("sums", "support"), ("sums", "sales"), ("sums", "shop"), ("others", None)]
    assert [(await registry.count(*scope, "c1", "ann"))[0] for scope in scopes] == [3, 2, 1, 0, 1]


async def test_a_turn_is_found_under_its_whole_key_only(pool: Database) -> None:
    registry = PostgresRegistry(pool)
    await registry.add([registered(message("a1", 1, agent="bot"))])
    for name in TurnKey._fields:
        assert (await registry.find(key()._replace(**{name: "other"}), "ann")).answer is None
    assert (await registry.find(key(), "ann")).answer is not None
