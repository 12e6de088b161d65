"""The message registry and erasures: in any order, the person's role is deleted and the sender gets the pseudonym."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from typing import Any

import pytest
import pytest_asyncio

from contracts.erasure import ERASURE_MARGIN, Erasure, Person
from contracts.instants import format_instant
from contracts.message_fields import MessageKey
from contracts.topics import BY_NAME
from feedback.parts import SCHEMA
from feedback.registry import PostgresRegistry, RegisteredMessage, registered
from feedback.turn_erasures import TurnErasures
from feedback.turns import TurnHandler
from servicekit.db.database import Database
from servicekit.db.pools import open_pool
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received, read
from servicekit.pseudonyms import ErasureSettings, Pseudonyms
from tests.support.logs import NOW, example, raw

MESSAGE = "chat.message.ingested"
EVE = Person("acme", "eve")
ERASURE = Erasure(EVE, "r-1", NOW)
ON = Pseudonyms(ErasureSettings(ids="pseudonym", key="a key of the operator"))  # type: ignore[arg-type]
OFF = Pseudonyms(ErasureSettings())


@pytest_asyncio.fixture(loop_scope="session")
async def pool(own_database: str) -> AsyncIterator[Database]:
    pool = await open_pool(own_database, "feedback", SCHEMA, size=2)
    yield pool
    await pool.close()


class InterruptedRegistry(PostgresRegistry):
    """Registry that runs something else just before or after a write."""

    def __init__(self, pool: Database, before: Callable[[], Awaitable[None]], after: Callable[[], Awaitable[None]]):
        super().__init__(pool)
        self._before, self._after = before, after

    async def add(self, messages: Collection[RegisteredMessage]) -> set[MessageKey]:
        await self._before()
        written = await super().add(messages)
        await self._after()
        return written


async def nothing() -> None:
    pass


def said(who: str = "eve", at: int = NOW, **changes: Any) -> Received[Any]:
    fields = {"turnId": "t1", "senderId": who, "userType": "paid", "occurredAt": format_instant(at)}
    fields["messageId"] = f"{who} {changes.get('turnId', 't1')}"
    event = example(MESSAGE, "least", **fields | changes)
    one = read(raw(MESSAGE, event, log_time=at), {MESSAGE: BY_NAME[MESSAGE].event})
    assert isinstance(one, Received)
    return one


async def kept(pool: Database) -> tuple[list[str], list[str]]:
    """Return the stored senders and the people with a role."""
    rows = await pool.fetch("select sender_id, user_type from messages order by 1")
    return [row["sender_id"] for row in rows], [row["sender_id"] for row in rows if row["user_type"]]


async def erase(erasures: TurnErasures) -> None:
    await erasures.ledger.note([ERASURE])
    await erasures.erase(await erasures.ledger.erased_at([EVE]))


@pytest.mark.parametrize("moment", ["first", "before the write", "after the write", "last", "first and last"])
@pytest.mark.parametrize(("pseudonyms", "name"), [(OFF, "eve"), (ON, ON(EVE))], ids=["keep", "pseudonym"])
async def test_an_erasure_at_any_moment_ends_alike(
    pool: Database, moment: str, pseudonyms: Pseudonyms, name: str
) -> None:
    erasures = TurnErasures(pool, pseudonyms)

    async def carry_out() -> None:
        await erase(erasures)

    registry = InterruptedRegistry(
        pool,
        carry_out if moment == "before the write" else nothing,
        carry_out if moment == "after the write" else nothing,
    )
    if "first" in moment:
        await carry_out()
    await TurnHandler(registry, erasures).handle([said()])
    if "last" in moment:
        await carry_out()
    assert await kept(pool) == ([name], [])


async def test_what_others_said_and_what_is_said_later_stays(pool: Database) -> None:
    erasures = TurnErasures(pool, ON)
    events = TurnHandler(PostgresRegistry(pool), erasures)
    later = NOW + ERASURE_MARGIN
    batch = [
        said("bob", turnId="t2"),
        said(tenant="globex", turnId="t3"),
        said(at=later, turnId="t4"),
        said(at=later + 1, turnId="t5"),
    ]
    await events.handle(batch[:3])
    await erase(erasures)
    await events.handle(batch)
    assert await kept(pool) == (["bob", ON(EVE), "eve", "eve"], ["bob", "eve", "eve"])


async def test_the_outcome_of_a_message_says_if_it_changed(pool: Database) -> None:
    events = TurnHandler(PostgresRegistry(pool), TurnErasures(pool, OFF))
    first, second = said(turnId="t1"), said(turnId=None, messageId="m9")
    assert await events.handle([first, second]) == [Outcome.STORED, Outcome.STORED]
    assert await events.handle([first, said("bob", turnId="t2")]) == [Outcome.UNCHANGED, Outcome.STORED]


@pytest.mark.parametrize(
    ("askers", "others"),
    [([], False), (["bob"], True), (["bob", "eve"], True), (["ann"], False), (["bob", "ann"], False)],
)
async def test_a_conversation_is_of_others_if_somebody_else_asked_every_turn(
    pool: Database, askers: list[str], others: bool
) -> None:
    registry = PostgresRegistry(pool)

    async def register(turn_id: str, who: str, **fields: Any) -> None:
        await registry.add([registered(said(who, turnId=turn_id, conversationId="c1", **fields).event)])

    for number, user_id in enumerate(askers):
        await register(f"t{number}", user_id)
    await register("t1", "ann", tenant="globex")
    await registry.add([registered(said("ann", turnId="t2", conversationId="c2").event)])
    assert (await registry.count("acme", None, "c1", "ann"))[1] is others
    await register("t9", "bot", senderType="agent", agentId="bot")
    assert (await registry.count("acme", None, "c1", "ann"))[1] is False, "a turn has no known asker"
