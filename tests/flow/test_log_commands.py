"""Text that the commands on the log print, and their exit codes; `tests/real/test_log_tools.py` checks their JSON."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from typer.testing import CliRunner

from contracts.feedback import FeedbackExplicitReceived
from contracts.topics import CHAT_REPLY, EXPLICIT_RECEIVED, FEEDBACK_CREATED
from feedback.emojis import DEFAULT_REWARDS
from feedback.handlers import FeedbackHandler
from feedback.store import Store
from feedback.store_choice import open_store
from servicekit.log.dead_letters import dead_letter
from servicekit.log.messages import Message, Producer
from servicekit.log.producer import BatchProducer
from servicekit.log.records import Coordinates, RawRecord, Received
from servicekit.log.topics import partitions_by_topic
from servicekit.service import Service, ServiceContext
from standalone.cli.app import app
from standalone.cli.verify_ledger import SHOWN
from standalone.embedded.memory_broker import MemoryBroker


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
    code, said = await place.ended("dlq", "show", one)
    assert (code, said.endswith("record 2")) == (0, True)
    assert "key: acme/p/c1" in said and "means: " in said
    assert await place.ended("dlq", "show", f"{CHAT_REPLY.dead_letters}:0:9") == (
        1, f"There is no dead letter {CHAT_REPLY.dead_letters}:0:9."
    )  # fmt: skip


async def test_of_many_letters_the_newest_are_listed(place: Place) -> None:
    await place.bury(*["future"] * SHOWN)
    assert "--json gives all" not in (await place.ended("dlq", "list"))[1]
    await place.bury("invalid_json")
    _, said = await place.ended("dlq", "list")
    assert f"The newest 50 of {SHOWN + 1}; --json gives all." in said
    assert said.count(f"{CHAT_REPLY.dead_letters}:0:") == 50
    assert f"{CHAT_REPLY.dead_letters}:0:0 " not in said


async def test_letters_are_sent_again_and_counted(place: Place) -> None:
    await place.bury("invalid_json", "future")
    code, said = await place.ended("dlq", "replay", "--reason", "future")
    assert code == 0
    assert said.startswith("Sent 1 of 1 letters; 0 were duplicates, 0 contained no record, 0 are too large")
    assert (await place.ended("dlq", "replay", "--yes"))[1].startswith("Sent 2 of 2 letters")


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


async def test_what_is_no_announcement_is_named_and_cleared(place: Place) -> None:
    await place.judge("t1")
    [junk] = await place.producer.send([Message(FEEDBACK_CREATED.name, "no id", b"junk", partition=2)])
    code, said = await place.on_store("ledger", "verify")
    assert code == 1
    assert f"1 records of the ledger are not announcements: {FEEDBACK_CREATED.name}:2:{junk.offset}" in said
    assert "missing" not in said, "the announcements themselves agree"
    code, said = await place.on_store("ledger", "verify", "--clear")
    assert (code, said.endswith("The ledger and the store agree on 1 feedback records.")) == (0, True)
