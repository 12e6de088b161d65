"""Baseline: the same flow in FastStream handlers, one record at a time, with offsets committed in the background.

Each record is parsed, looked up, stored and published before the next. The work for a record is the platform's own: the
same handlers fill the same tables, with redaction, the ledger of erasures, vectors of turns and their
status. The rest is written for speed: bytes go directly to pydantic, arguments are not injected, statements stay
prepared, and the subscribers run concurrently. It guarantees less: a crash loses records that were committed and not
yet processed. Periodic work, such as the roll-ups of reports and issues, is left out.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final

from faststream.kafka import KafkaBroker

import chat_bridge.parts
import feedback.parts
import inference.parts
import reporting.parts
from benchmarks.effort import Effort
from benchmarks.jobs import Job, answer, log_with
from benchmarks.run_one_process import check, feed
from benchmarks.workload import Expected
from chat_bridge.handlers import ChatHandler
from chat_bridge.parking import Parking
from chat_bridge.store import MessageStore
from contracts.instants import DAY
from contracts.topics import (
    CHAT_MESSAGE,
    CHAT_REACTION,
    CHAT_REPLY,
    FEEDBACK_CREATED,
    INFERRED_RECEIVED,
    REACTION_RECEIVED,
    REPLY_RECEIVED,
    Consumer,
    Topic,
    consumed_by,
)
from detector.detector import Detector
from feedback.handlers import FEEDBACK_TOPICS, FeedbackHandler
from feedback.registry import PostgresRegistry
from feedback.reward import DEFAULT_REWARDS
from feedback.store_postgres import PostgresStore
from feedback.turn_erasures import TurnErasures
from feedback.turns import TURN_TOPICS, TurnHandler
from inference.erasure import erase as erase_of_inference
from inference.handlers import ConversationHandler
from inference.judging import Judging
from inference.store import ConversationStore
from inference.turns.store import TurnIndex
from inference.turns.user_reactions import UserReactionHandler
from inference.turns.vectors import TurnVectors
from redaction.recognisers import RedactionRules
from redaction.redactor import Redactor
from reporting.read_models.erasure import ReportingErasures
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.clock import SystemClock
from servicekit.db.pools import open_pool
from servicekit.garbage_collection import tune_gc
from servicekit.log.delivery import GroupOutcomes
from servicekit.log.fetch import raw_record
from servicekit.log.handler import ErasingHandler, Handler, TopicHandlers
from servicekit.log.producer import BatchProducer
from servicekit.log.records import Message, Producer, Received, Written, read
from servicekit.log.redacting import redact

FLOW: Final = (
    *(CHAT_MESSAGE, CHAT_REPLY, CHAT_REACTION, REPLY_RECEIVED, REACTION_RECEIVED, INFERRED_RECEIVED),
    FEEDBACK_CREATED,
)
"""Topics that have records in a run."""
GROUPS: Final[tuple[Consumer, ...]] = (*("chat_bridge", "inference", "feedback", "inference_status", "reporting"),)


def read_by(group: Consumer) -> Sequence[Topic]:
    """Return the topics of `group` that have records in a run."""
    return [topic for topic in consumed_by(group) if topic in FLOW]


class Prefixed:
    """Producer that writes one record at a time to topics whose names begin with `prefix`."""

    def __init__(self, producer: BatchProducer, prefix: str) -> None:
        self._producer, self._prefix = producer, prefix
        self.published: Counter[str] = Counter()

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        places = []
        for message in messages:
            [written] = await self._producer.send([replace(message, topic=self._prefix + message.topic)])
            self.published[message.topic] += 1
            places.append(replace(written, topic=message.topic))
        return places


class PlainPipeline:
    """Subscribers of all groups in one process. `prefix` keeps its topics apart from those of other runs."""

    def __init__(self, bootstrap: str, prefix: str, published: Counter[str]) -> None:
        self._prefix, self._published = prefix, published
        self._redactor = Redactor(RedactionRules())
        self._clock = SystemClock()
        self.broker = KafkaBroker(bootstrap, logger=None, log_level=logging.DEBUG, apply_types=False)
        self._handled: Counter[tuple[str, str]] = Counter()

    def subscribe(self, group: Consumer, handler: Handler) -> None:
        """Pass each record of the group's topics to its handler."""
        topics = read_by(group)
        subscriber = self.broker.subscriber(
            *(self._prefix + topic.name for topic in topics),
            group_id=self._prefix + group,
            auto_offset_reset="earliest",
            decoder=_raw,
            no_reply=True,
        )
        subscriber(self._handling(group, {topic.name: topic.event for topic in topics}, handler))

    def _handling(
        self, group: Consumer, models: dict[str, Any], handler: Handler
    ) -> Callable[[Any], Coroutine[Any, Any, None]]:
        async def one(record: Any) -> None:
            raw = raw_record(record, self._clock.now())
            name = raw.coordinates.topic.removeprefix(self._prefix)
            raw = raw._replace(coordinates=raw.coordinates._replace(topic=name))
            raw = redact(raw, self._redactor, ())
            received = read(raw, models)
            assert isinstance(received, Received), received
            [outcome] = await handler.handle([received])
            assert outcome.kind != "dead_lettered", outcome
            self._handled[group, name] += 1

        return one

    def done(self, fed: Counter[str]) -> bool:
        """Return True if every group has handled all records that were `fed` or derived from them."""
        written = fed + self._published
        return all(
            self._handled[group, topic.name] == written[topic.name] for group in GROUPS for topic in read_by(group)
        )


async def _raw(message: Any) -> Any:
    return message.raw_message


class Groups:
    """Handlers of the groups, each with its own pools. They are connected as in the services, and write to `log`."""

    def __init__(self, url: str, detector: Detector, log: Producer) -> None:
        self._url, self._detector, self._log = url, detector, log

    @asynccontextmanager
    async def _pool(self, schema: str, module: Any) -> AsyncIterator[Any]:
        pool = await open_pool(self._url, schema, module.SCHEMA, plan="once")
        try:
            yield pool
        finally:
            await pool.close()

    @asynccontextmanager
    async def chat_bridge(self) -> AsyncIterator[Handler]:
        async with self._pool("chat_bridge", chat_bridge.parts) as pool:
            store, clock = MessageStore(pool), SystemClock()
            parking = Parking(store, self._log, clock, DAY, GroupOutcomes("chat_bridge", self._log))
            handler = ChatHandler(store, self._log, parking, clock)
            yield ErasingHandler(handler, pool.ledger, store.erase, self._log, "chat_bridge", is_guarded=True)

    @asynccontextmanager
    async def inference(self) -> AsyncIterator[Handler]:
        async with self._pool("inference", inference.parts) as pool:
            turns = TurnIndex(pool, TurnVectors(self._detector.embedder))
            handler = ConversationHandler(ConversationStore(pool), Judging(turns, self._log, self._detector))
            erase = partial(erase_of_inference, pool, turns, lambda person: person.user_id)
            yield ErasingHandler(handler, pool.ledger, erase, self._log, "inference", is_guarded=True)

    @asynccontextmanager
    async def feedback(self) -> AsyncIterator[Handler]:
        async with self._pool("feedback", feedback.parts) as pool:
            turns = TurnHandler(PostgresRegistry(pool), TurnErasures(pool, lambda person: person.user_id))
            handler = FeedbackHandler(PostgresStore(pool), self._log, DEFAULT_REWARDS)
            yield TopicHandlers({turns: TURN_TOPICS, handler: FEEDBACK_TOPICS})

    @asynccontextmanager
    async def inference_status(self) -> AsyncIterator[Handler]:
        async with self._pool("inference", inference.parts) as pool:
            yield UserReactionHandler(TurnIndex(pool, TurnVectors(self._detector.embedder)))

    @asynccontextmanager
    async def reporting(self) -> AsyncIterator[Handler]:
        async with self._pool("reporting", reporting.parts) as pool:
            handler = ProjectionHandler(PostgresReadModels(pool))
            erase = ReportingErasures(pool).erase
            yield ErasingHandler(handler, pool.ledger, erase, self._log, "reporting", is_guarded=True)


async def measure(job: Job) -> dict[str, Any]:
    """Run the measurement. Raises AssertionError unless the read model has every message at the end."""
    prefix = f"plain.{job.workload.run}."
    messages = [replace(message, topic=prefix + message.topic) for message in job.workload.messages()]
    fed = Counter(message.topic.removeprefix(prefix) for message in messages)
    async with AsyncExitStack() as parts:
        topics = {prefix + topic.name: topic.partitions for topic in FLOW}
        bootstrap = await parts.enter_async_context(log_with(job, topics))
        producer = BatchProducer(bootstrap, client_id="bench")
        await producer.start()
        parts.push_async_callback(producer.stop)
        log = Prefixed(producer, prefix)
        groups = Groups(job.database_url, Detector.default(), log)
        pipeline = PlainPipeline(bootstrap, prefix, log.published)
        for group in GROUPS:
            pipeline.subscribe(group, await parts.enter_async_context(getattr(groups, group)()))
        await pipeline.broker.start()
        parts.push_async_callback(pipeline.broker.stop)
        await _assigned(pipeline.broker)
        tune_gc()
        effort = Effort({"postgres": [job.postgres], "kafka": [job.kafka]})
        await feed(producer, messages)
        while not pipeline.done(fed):
            await asyncio.sleep(0.01)
        measured = effort.until_now(len(messages))
        await check(job.database_url, Expected.of(job.workload.messages()))
    return measured


async def _assigned(broker: KafkaBroker) -> None:
    """Wait until every subscriber has its partitions, because joining a group belongs to the start."""
    subscribers: list[Any] = list(broker.subscribers)
    while not all(one.consumer is not None and one.consumer.assignment() for one in subscribers):
        await asyncio.sleep(0.02)


if __name__ == "__main__":
    answer(measure)
