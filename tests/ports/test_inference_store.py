"""What inference relies on, for every index of conversations."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from itertools import permutations
from pathlib import Path

import pytest
import pytest_asyncio

import inference.main
from inference.model import Message
from inference.store import ConversationKey, Emission, IndexedMessage, MessageKey, Placed, Span, Store
from inference.store_memory import MemoryStore
from inference.store_postgres import PostgresStore
from servicekit.database import open_pool

MIGRATIONS = Path(inference.main.__file__).parent / "migrations"
HERE = ConversationKey("acme", "p", "c1")


@pytest_asyncio.fixture(params=["memory", "postgres"])
async def store(request: pytest.FixtureRequest, postgres_url: str) -> AsyncIterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
        return
    pool = await open_pool(postgres_url, "inference", MIGRATIONS, size=2)
    await pool.execute("truncate messages")
    yield PostgresStore(pool)
    await pool.close()


def said(
    message_id: str, at: int, text: str = "hi", *, said_at: int | None = None, where: ConversationKey = HERE
) -> IndexedMessage:
    message = Message(message_id, f"t-{message_id}", "ann", "human", None, text, at)
    return IndexedMessage(where, message, at if said_at is None else said_at)


async def all_of(store: Store, where: ConversationKey = HERE) -> Sequence[Placed]:
    (found,) = await store.around([Span(where, (0, ""), (10**9, ""))], 0)
    return found


def ids(placed: Sequence[Placed]) -> list[str]:
    return [one.indexed.message.message_id for one in placed]


def key(message_id: str) -> MessageKey:
    return MessageKey(HERE.tenant, HERE.project, message_id)


async def test_messages_come_back_in_order_with_the_conversations_evaluation(store: Store) -> None:
    assert await store.index([said("b", 20), said("a", 20), said("c", 10)]) == {key("a"), key("b"), key("c")}
    found = await all_of(store)
    assert ids(found) == ["c", "a", "b"]
    assert [one.evaluation for one in found] == [3, 3, 3]
    assert found[0].indexed == said("c", 10)
    assert (found[0].emitted_turn_id, found[0].emitted_agent_id) == (None, None)


async def test_a_later_version_changes_the_text_and_an_earlier_one_the_place(store: Store) -> None:
    await store.index([said("a", 50, "second")])
    assert await store.index([said("a", 70, "third")]) == {key("a")}
    assert await store.index([said("a", 30, "first")]) == {key("a")}
    (one,) = await all_of(store)
    assert (one.indexed.message.text, one.indexed.message.at, one.indexed.said_at) == ("third", 30, 70)
    assert one.evaluation == 3


async def test_what_is_known_already_changes_nothing(store: Store) -> None:
    await store.index([said("a", 50, "said")])
    assert await store.index([said("a", 50, "said")]) == set()
    assert await store.index([said("a", 50, "as late")]) == set()
    (one,) = await all_of(store)
    assert (one.indexed.message.text, one.evaluation) == ("said", 1)


async def test_the_order_of_arrival_does_not_matter(store: Store) -> None:
    versions = [(50, "said"), (60, "said"), (55, "other"), (60, "rather")]
    for number, order in enumerate(permutations(versions)):
        for at, text in order:
            await store.index([said(f"m{number}", at, text)])
    for one in await all_of(store):
        assert (one.indexed.message.text, one.indexed.message.at, one.indexed.said_at) == ("said", 50, 60)


async def test_a_stretch_reaches_so_many_messages_to_either_side(store: Store) -> None:
    await store.index([said(name, at) for at, name in enumerate("abcdefgh", 1)])
    (found,) = await store.around([Span(HERE, (4, "d"), (5, "e"))], 2)
    assert ids(found) == ["b", "c", "d", "e", "f", "g"]
    assert [one.evaluation for one in found] == [8] * 6
    (edge,) = await store.around([Span(HERE, (1, "a"), (1, "a"))], 3)
    assert ids(edge) == ["a", "b", "c", "d"]


async def test_conversations_and_tenants_stay_apart(store: Store) -> None:
    other, foreign = ConversationKey("acme", "p", "c2"), ConversationKey("globex", "p", "c1")
    await store.index([said("a", 1), said("b", 2, where=other), said("a", 3, where=foreign)])
    assert ids(await all_of(store)) == ["a"]
    assert ids(await all_of(store, other)) == ["b"]
    found = await store.around([Span(foreign, (0, ""), (9, "")), Span(other, (0, ""), (9, ""))], 5)
    assert [ids(stretch) for stretch in found] == [["a"], ["b"]]
    assert found[0][0].indexed.conversation == foreign


async def test_an_announced_verdict_is_remembered(store: Store) -> None:
    await store.index([said("a", 1), said("b", 2)])
    await store.emitting([Emission(key("a"), "t9", "bot"), Emission(key("nobody"), "t9", "bot")])
    await store.emitting([])
    first, second = await all_of(store)
    assert (first.emitted_turn_id, first.emitted_agent_id) == ("t9", "bot")
    assert second.emitted_turn_id is None
    await store.index([said("a", 5, "edited")])
    assert (await all_of(store))[0].emitted_turn_id == "t9"


async def test_a_look_is_outdated_by_whatever_the_conversation_gets(store: Store) -> None:
    await store.index([said("a", 10), said("c", 30)])
    first, last = await all_of(store)
    await store.index([said("x", 20, where=ConversationKey("acme", "p", "another"))])
    assert not await store.outdated([first, last])
    await store.index([said("b", 20)])
    assert await store.outdated([first])
    assert await store.outdated([first, last])
    assert not await store.outdated([])
