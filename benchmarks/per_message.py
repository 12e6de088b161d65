"""Baseline: the same flow in FastStream handlers, one record at a time, with offsets committed in the background.

It decides with the same code and fills the same tables. Only the processing differs: each record is parsed, looked up,
stored and published before the next. It is written for speed: bytes go directly to pydantic, arguments are not
injected, statements stay prepared, and the subscribers run concurrently. It guarantees less: a crash loses records that
were committed and not yet processed, and concurrent writes are not guarded.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from faststream.kafka import KafkaBroker

import chat_bridge
import feedback
import inference
import reporting
from benchmarks import per_message_rows as rows
from benchmarks.effort import Effort
from benchmarks.jobs import Job, answer
from benchmarks.log import log_with
from benchmarks.run_one_process import check, feed
from benchmarks.workload import Expected, by_topic
from chat_bridge.batch import original_key
from chat_bridge.model import IndexedMessage, MessageKey, indexed
from chat_bridge.translate import Translated, message_of, translate
from contracts.base import Envelope
from contracts.chat import ChatMessageIngested
from contracts.feedback import FeedbackCreated
from contracts.provenance import NO_PROVENANCE
from contracts.topics import (
    BY_NAME,
    CHAT_MESSAGE,
    CHAT_REACTION,
    CHAT_REPLY,
    FEEDBACK_CREATED,
    INFERRED_RECEIVED,
    REACTION_RECEIVED,
    REPLY_RECEIVED,
    Topic,
)
from contracts.versions import version_of
from detector.detector import Detector
from feedback.announce import message_of as created_message
from feedback.emojis import DEFAULT_REWARDS
from feedback.merge import merge, revise
from feedback.model import Change
from feedback.registry import turn_of
from feedback.registry_postgres import PostgresRegistry
from feedback.reward import change_of
from feedback.store import Save
from feedback.store_postgres import PostgresStore
from inference.announce import announcement
from inference.handlers import indexed as judged_message
from reporting.read_models.projection import feedback_row, message_row
from servicekit.db.database import Database
from servicekit.db.pools import open_pool
from servicekit.log.messages import Message
from servicekit.log.producer import BatchProducer

Handle = Callable[[str, Any], Awaitable[None]]
SCHEMAS = {
    part.__name__: Path(part.__path__[0]) / "migrations" for part in (chat_bridge, feedback, inference, reporting)
}
"""Folder of the migrations of each service, by schema."""
READ = {
    "bridge": (CHAT_MESSAGE,),
    "replies": (CHAT_REPLY, CHAT_REACTION),
    "turns": (CHAT_MESSAGE,),
    "inference": (CHAT_MESSAGE,),
    "feedback": (REPLY_RECEIVED, REACTION_RECEIVED, INFERRED_RECEIVED),
    "reporting": (CHAT_MESSAGE, FEEDBACK_CREATED),
}
"""Topics of each subscriber, by its name."""


class PlainPipeline:
    """Six subscribers in one process. `prefix` keeps its topics apart from those of other runs."""

    def __init__(self, bootstrap: str, prefix: str, pools: dict[str, Database]) -> None:
        self._prefix = prefix
        self._pools = pools
        self._detector = Detector.default()
        self._store = PostgresStore(pools["feedback"])
        self._registry = PostgresRegistry(pools["feedback"])
        self.broker = KafkaBroker(bootstrap, logger=None, log_level=logging.DEBUG, apply_types=False)
        self.handled: Counter[tuple[str, str]] = Counter()
        self.published: Counter[str] = Counter()
        handlers = (self._index, self._forward, self._register, self._judge, self._take, self._show)
        for (group, topics), handle in zip(READ.items(), handlers, strict=True):
            self._subscribe(group, topics, handle)

    def _subscribe(self, group: str, topics: Sequence[Topic], handle: Handle) -> None:
        async def one(body: bytes) -> None:
            topic, _, value = body.partition(b"\n")
            name = topic.decode()
            await handle(name, BY_NAME[name].event.model_validate_json(value))
            self.handled[group, name] += 1

        subscriber = self.broker.subscriber(
            *(self._prefix + topic.name for topic in topics),
            group_id=self._prefix + group,
            auto_offset_reset="earliest",
            decoder=self._decoded,
            no_reply=True,
        )
        subscriber(one)

    async def _decoded(self, message: Any) -> bytes:
        return bytes(message.raw_message.topic.removeprefix(self._prefix).encode() + b"\n" + message.body)

    async def _publish(self, message: Message) -> None:
        key = None if message.key is None else message.key.encode()
        await self.broker.publish(message.value, self._prefix + message.topic, key=key, partition=message.partition)
        self.published[message.topic] += 1

    async def _index(self, _: str, event: ChatMessageIngested) -> None:
        await rows.index(self._pools["chat_bridge"], indexed(event, event.tenant, event.project, version_of(event)))

    async def _forward(self, _: str, event: Any) -> None:
        original = await self._original(original_key(event))
        derived = translate(event, original)
        if isinstance(derived, Translated):
            await self._publish(message_of(derived, ()))

    async def _original(self, key: MessageKey) -> IndexedMessage:
        """Return a message. If its own subscriber is behind, wait for it."""
        while (found := await rows.find(self._pools["chat_bridge"], key)) is None:
            await asyncio.sleep(0.05)
        return found

    async def _register(self, _: str, event: ChatMessageIngested) -> None:
        turn = turn_of(event)
        if turn is not None:
            await self._registry.add([turn])

    async def _judge(self, _: str, event: ChatMessageIngested) -> None:
        message = judged_message(event)
        await rows.remember(self._pools["inference"], message)
        if message.message.role != "human":
            return
        placed, neighbourhood = await rows.before(self._pools["inference"], message)
        said = announcement(placed, self._detector.judge([neighbourhood])[0], NO_PROVENANCE, self._detector.version)
        if said is not None:
            value = said.model_dump_json(by_alias=True, exclude_none=True).encode()
            await self._publish(Message(INFERRED_RECEIVED.name, INFERRED_RECEIVED.key(said), value))

    async def _take(self, _: str, event: Envelope) -> None:
        change = change_of(event, DEFAULT_REWARDS)
        if not isinstance(change, Change):
            return
        feedback_id = change.key.feedback_id
        held = (await self._store.load([feedback_id])).get(feedback_id)
        merged = merge(held, change)
        if merged is not held:
            merged = revise(merged, change.entry.stamp.occurred_at)
            await self._store.save([Save(merged, held.revision if held else 0)])
        await self._publish(created_message(merged))

    async def _show(self, _: str, event: Any) -> None:
        if isinstance(event, FeedbackCreated):
            row = feedback_row(event)
            if row is not None:
                await rows.show_feedback(self._pools["reporting"], row)
        else:
            await rows.show_message(self._pools["reporting"], message_row(event))

    def done(self, fed: Counter[str]) -> bool:
        """Return True if every group has handled all records that were `fed` or derived from them."""
        written = fed + self.published
        return all(
            self.handled[group, topic.name] == written[topic.name] for group, topics in READ.items() for topic in topics
        )


async def measure(job: Job) -> dict[str, Any]:
    """Run the measurement. Raises AssertionError unless the read model has every message at the end."""
    prefix = f"plain.{job.workload.run}."
    messages = [replace(message, topic=prefix + message.topic) for message in job.workload.messages()]
    fed = Counter({topic.removeprefix(prefix): count for topic, count in by_topic(messages).items()})
    async with AsyncExitStack() as parts:
        bootstrap = await parts.enter_async_context(
            log_with(job, {prefix + topic.name: topic.partitions for topics in READ.values() for topic in topics})
        )
        pools = {name: await _pool(parts, job, name) for name in SCHEMAS}
        producer = BatchProducer(bootstrap, client_id="bench")
        await producer.start()
        parts.push_async_callback(producer.stop)
        pipeline = PlainPipeline(bootstrap, prefix, pools)
        await pipeline.broker.start()
        parts.push_async_callback(pipeline.broker.stop)
        await _assigned(pipeline.broker)
        effort = Effort({"postgres": [job.postgres], "kafka": [job.kafka]})
        await feed(producer, messages)
        while not pipeline.done(fed):
            await asyncio.sleep(0.01)
        measured = effort.until_now(len(messages))
        await check(job.database_url, Expected.of(job.workload.messages()))
    return measured


async def _pool(parts: AsyncExitStack, job: Job, name: str) -> Database:
    pool = await open_pool(job.database_url, name, SCHEMAS[name])
    parts.push_async_callback(pool.close)
    return pool


async def _assigned(broker: KafkaBroker) -> None:
    """Wait until every subscriber has its partitions, because joining a group belongs to the start."""
    subscribers: list[Any] = list(broker.subscribers)
    while not all(one.consumer is not None and one.consumer.assignment() for one in subscribers):
        await asyncio.sleep(0.02)


if __name__ == "__main__":
    answer(measure)
