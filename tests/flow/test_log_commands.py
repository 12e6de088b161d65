"""Text that the commands on the log print, and their exit codes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from typer.testing import CliRunner

from contracts.feedback import FeedbackExplicitReceived
from contracts.instants import MINUTE, format_instant
from contracts.topics import CHAT_REPLY, EXPLICIT_RECEIVED
from feedback.handlers import FeedbackHandler
from feedback.parts import open_store
from feedback.reward import DEFAULT_REWARDS
from feedback.store import Store
from servicekit.clock import SystemClock
from servicekit.log.dead_letters import dead_letter
from servicekit.log.outcome import ERASED, Outcome
from servicekit.log.producer import BatchProducer
from servicekit.log.records import Coordinates, Message, Producer, RawRecord, Received
from servicekit.log.topics import partitions_by_topic
from servicekit.service import Service, ServiceContext
from standalone.cli.app import app
from standalone.embedded.memory_broker import MemoryBroker
from standalone.operations.dlq import Filter, letters, replay
from tests.support.erasures import erased
from tests.support.running_stack import exchange, message, running_stack


class Unheard:
    """Producer whose messages never reach the log."""

    async def send(self, messages: Sequence[Message]) -> Sequence[Any]:
        return []


@dataclass
class Place:
    broker: MemoryBroker
    store: Store
    store_url: str
    producer: Producer

    async def ended(self, *arguments: str, store: bool = False) -> tuple[int, str]:
        """Return the exit code and the output of a command, in one line."""
        where = ["--broker", str(self.broker.bootstrap), *(["--store", self.store_url] if store else [])]
        done = await asyncio.to_thread(CliRunner().invoke, app, [*arguments, *where])
        return done.exit_code, " ".join(done.output.split())

    async def on_store(self, *arguments: str) -> tuple[int, str]:
        return await self.ended(*arguments, store=True)

    async def judge(self, *turns: str, producer: Producer | None = None) -> None:
        """Process a person's judgement of each turn, like the service."""
        about: Any = {"tenant": "acme", "project": "p", "conversation_id": "c1", "agent_id": "bot", "user_id": "ann"}
        events = [
            FeedbackExplicitReceived(event_id=turn, occurred_at=1_000_000, turn_id=turn, reaction="ok", **about)
            for turn in turns
        ]
        batch = [
            Received(event, RawRecord(Coordinates(EXPLICIT_RECEIVED.name, 0, at), None, b"{}", (), 2_000_000))
            for at, event in enumerate(events)
        ]
        await FeedbackHandler(self.store, producer or self.producer, DEFAULT_REWARDS).handle(batch)

    async def bury(self, *reasons: str) -> None:
        """Write a dead letter with each reason."""
        await self.producer.send(
            [
                dead_letter(
                    RawRecord(Coordinates(CHAT_REPLY.name, 1, at), b"acme/p/c1", b"record %d" % at, (), 7),
                    service="chat_bridge",
                    reason=reason,
                    error_class="permanent",
                )
                for at, reason in enumerate(reasons)
            ]
        )


@pytest.fixture
async def place(own_database: str) -> AsyncIterator[Place]:
    with MemoryBroker(partitions_by_topic()) as broker:
        service = Service("feedback", ServiceContext(broker.bootstrap))
        store = await open_store(own_database, service)
        producer = BatchProducer(broker.bootstrap, client_id="test")
        yield Place(broker, store, own_database, producer)
        await producer.stop()
        await service.resources.aclose()


async def test_letters_are_listed_with_their_meaning_and_shown_with_their_bytes(place: Place) -> None:
    assert await place.ended("dlq", "list") == (0, "0 dead letters letter written reason detail")
    await place.bury("invalid_json", "invalid_json", "future")
    code, said = await place.ended("dlq", "list", "--topic", CHAT_REPLY.name)
    assert code == 0
    assert said.startswith("3 dead letters ")
    assert "2 invalid_json: " in said and "1 future: " in said
    assert "record 0" not in said, "a list shows no content"
    one = f"{CHAT_REPLY.dead_letters}:0:2"
    assert one in said
    code, said = await place.ended("dlq", "list", one)
    assert (code, said.endswith("record 2")) == (0, True)
    assert "key: acme/p/c1" in said and "means: " in said
    assert await place.ended("dlq", "list", f"{CHAT_REPLY.dead_letters}:0:9") == (
        1, f"There is no dead letter {CHAT_REPLY.dead_letters}:0:9."
    )  # fmt: skip


async def test_the_ledger_is_compared_and_the_store_announced_again(place: Place) -> None:
    await place.judge("t1", "t2")
    code, said = await place.on_store("ledger", "verify")
    assert (code, said) == (0, "2 records read The ledger and the store agree on 2 feedback records.")
    await place.judge("t3", producer=Unheard())
    code, said = await place.on_store("ledger", "verify")
    assert code == 1
    assert "1 missing, 0 extra, 0 differing, 0 stale, 0 impossible" in said
    assert "`ledger republish` announces the whole store again" in said
    assert await place.on_store("ledger", "republish") == (0, "Announced 3 feedback records.")
    code, said = await place.on_store("ledger", "verify")
    assert (code, said.endswith("agree on 3 feedback records.")) == (0, True)


# `agent-feedback erase` against a serving run.


# Dead letters that are replayed after their writer's erasure: their content is stored nowhere.


class Forward(SystemClock):
    """System clock that runs ahead; the in-memory log has only its reader's time."""

    ahead = 0

    def now(self) -> int:
        return super().now() + self.ahead


async def test_what_a_replayed_letter_says_is_as_old_as_its_first_record(postgres_url: str) -> None:
    clock = Forward()
    async with running_stack(postgres_url, lambda around: replace(around, clock=clock)) as stack:
        soon = format_instant(clock.now() + 20 * MINUTE)
        words = {"eve": "my secret", "bob": "my question"}
        await stack.publish(
            *exchange("c1", "t1"),
            *(message(f"m-{who}", "c1", senderId=who, content=said, occurredAt=soon) for who, said in words.items()),
        )
        await stack.quiet()
        assert await erased(stack, "eve")
        clock.ahead = 30 * MINUTE
        stack.seen.clear()
        wanted = Filter(reason="future")
        sent = await replay(letters(stack.broker.bootstrap, wanted), stack.stack.log)
        assert sent["sent"] == 2
        await stack.quiet()
        outcomes = {one.outcome for one in stack.seen if one.group == "reporting"}
        assert outcomes == {ERASED, Outcome.STORED}
        for table, column in (("reporting.messages", "content"), ("inference.messages", "text")):
            held = {row[0] for row in await stack.rows(f"select {column} from {table}")}
            assert words["bob"] in held, "its time has come, and nobody asked for bob to be erased"
            assert words["eve"] not in held
