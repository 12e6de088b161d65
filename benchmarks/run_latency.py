"""Latency from publishing to visibility in the read model, on a real Kafka with the services as processes, at a
steady rate."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import asyncpg
from aiokafka import AIOKafkaProducer

from benchmarks.effort import Effort
from benchmarks.jobs import Job, answer
from benchmarks.run_four_processes import four_services
from contracts.ids import feedback_id
from feedback.reward import DEFAULT_REWARDS, normalise
from servicekit.log.records import Message
from servicekit.log.settings import PRODUCER_SETTINGS

LOOK_SECONDS = 0.005
WARM_SECONDS = 5.0
"""Duration of the warm-up at the same rate, in seconds. Connections are opened and statements prepared in it."""
PATIENCE_SECONDS = 60.0

_MESSAGES = "select message_id from reporting.messages where message_id = any($1)"
_FEEDBACKS = "select feedback_id from reporting.feedbacks where feedback_id = any($1)"


class Watch:
    """Poller for published events that are not visible yet. An event's time is the start of the poll that finds it."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._messages: dict[str, float] = {}
        self._reactions: dict[UUID, float] = {}
        self.messages: list[float] = []
        self.reactions: list[float] = []

    def expect(self, message: str | None, reaction: UUID | None, published: float) -> None:
        """Wait for a message or a feedback record that was published at `published`, a `time.monotonic()`."""
        if message is not None:
            self._messages[message] = published
        if reaction is not None:
            self._reactions.setdefault(reaction, published)

    @property
    def waiting(self) -> list[str]:
        """Message ids and feedback ids that are not visible yet."""
        return [*self._messages, *map(str, self._reactions)]

    async def look(self) -> None:
        if self._messages:
            seen = await self._connection.fetch(_MESSAGES, list(self._messages))
            now = time.monotonic()
            self.messages += [now - self._messages.pop(row[0]) for row in seen]
        if self._reactions:
            seen = await self._connection.fetch(_FEEDBACKS, list(self._reactions))
            now = time.monotonic()
            self.reactions += [now - self._reactions.pop(row[0]) for row in seen]


async def measure(job: Job) -> dict[str, Any]:
    """Measure the latency at a rate in events per second. Only events after the warm-up count.

    `cpu_ms` is the processor time per event in milliseconds, without this process and its polling in PostgreSQL.
    """
    rate = float(sys.argv[2])
    messages = job.workload.messages()
    assert job.bootstrap is not None, "latency is measured on a real Kafka"
    async with four_services(job) as pids:
        # Like a chat service's client, which batches records that wait for the same partition.
        producer = AIOKafkaProducer(bootstrap_servers=job.bootstrap, client_id="bench", **PRODUCER_SETTINGS)
        await producer.start()
        # Without statistics PostgreSQL would read the whole table in each poll.
        connection = await asyncpg.connect(job.database_url, server_settings={"enable_seqscan": "off"})
        polling = await connection.fetchval("select pg_backend_pid()")
        watch = Watch(connection)
        warm = int(WARM_SECONDS * rate)
        await _published(producer, watch, messages[:warm], rate)
        await _seen(watch)
        watch.messages.clear()
        watch.reactions.clear()
        effort = Effort({**pids, "postgres": [job.postgres], "kafka": [job.kafka], "polling": [polling]})
        began = time.monotonic()
        await _published(producer, watch, messages[warm:], rate)
        kept = len(messages[warm:]) / (time.monotonic() - began)
        await _seen(watch)
        spent = effort.until_now(len(messages[warm:]))["cpu_ms_per_event"]
        await connection.close()
        await producer.stop()
    return {
        **percentiles([*watch.messages, *watch.reactions]),
        "rate": round(kept, 1),
        "events": len(watch.messages) + len(watch.reactions),
        "reactions": {**percentiles(watch.reactions), "events": len(watch.reactions)},
        "cpu_ms": round(sum(spent.values()) - spent["own"] - 2 * spent["polling"], 3),
        "cpu_ms_per_event": spent,
    }


async def _published(producer: AIOKafkaProducer, watch: Watch, messages: Sequence[Message], rate: float) -> None:
    """Publish each event at its own time, regardless of previous ones, and poll meanwhile."""
    looking = asyncio.create_task(_look_on(watch))
    sent: list[asyncio.Future[object]] = []
    agents: dict[str, str] = {}
    events = [json.loads(message.value or b"") for message in messages]
    # Retracted feedback may disappear before it is observed.
    gone = {(event["messageId"], event["userId"]) for event in events if event.get("action") == "removed"}
    began = time.monotonic()
    for number, (message, event) in enumerate(zip(messages, events, strict=True)):
        await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
        if event.get("agentId"):
            agents[event["messageId"]] = event["agentId"]
        if (event["messageId"], event.get("userId")) not in gone:
            watch.expect(*_visible(event, agents), time.monotonic())
        sent.append(await producer.send(message.topic, message.value, key=(message.key or "").encode()))
    await asyncio.gather(*sent)
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)


def _visible(event: dict[str, Any], agents: dict[str, str]) -> tuple[str | None, UUID | None]:
    """Return the id of the row that shows an event's arrival: its message, or a reaction's feedback record.

    A reply has no such row.
    """
    if event["topic"] == "chat.message.ingested":
        return event["messageId"], None
    agent = agents.get(event["messageId"])
    if (
        event["topic"] == "chat.message.reply.ingested"
        or agent is None
        or normalise(event["emoji"]) not in DEFAULT_REWARDS
    ):
        return None, None
    where = (event["tenant"], event["project"], event["conversationId"])
    about = {"source": "chat", "user_id": event["userId"], "agent_id": agent, "source_id": event["messageId"]}
    return None, feedback_id(*where, **about)


async def _look_on(watch: Watch) -> None:
    while True:
        await watch.look()
        await asyncio.sleep(LOOK_SECONDS)


async def _seen(watch: Watch) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while watch.waiting:
        await watch.look()
        assert time.monotonic() < deadline, f"not visible after {PATIENCE_SECONDS:.0f} s: {watch.waiting}"
        await asyncio.sleep(LOOK_SECONDS)


def percentiles(seconds: Sequence[float]) -> dict[str, float | None]:
    """Return the median and the 99th percentile in milliseconds."""
    ordered = sorted(seconds)
    if not ordered:
        return {"p50": None, "p99": None}
    return {
        name: round(ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1_000, 1)
        for name, part in (("p50", 0.5), ("p99", 0.99))
    }


if __name__ == "__main__":
    answer(measure)
