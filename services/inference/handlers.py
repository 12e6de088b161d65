"""Handler of chat messages: indexes them, judges the affected messages, updates turns and publishes verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from contracts.base import TEXT_LIMIT
from contracts.chat import words_of
from contracts.headers import Headers, derived_headers
from contracts.message_fields import MessageKey
from contracts.provenance import NO_PROVENANCE, provenance_of
from contracts.versions import UNLOGGED, LogPosition, MessageEvent, is_system_line, message_in, position_of, version_of
from detector.model import NEIGHBOURHOOD, Message
from inference.judging import Judging
from inference.model import ConversationKey, IndexedMessage
from inference.store import ConversationStore
from inference.turns.facts import facts_of
from inference.window import message_ranges
from servicekit.log.handler import Handler
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received

SYSTEM_LINE = Outcome.ignored("system_line")


class ConversationHandler(Handler):
    """Handler of the consumer group `inference`.

    Messages are written to the index before they are judged, so verdicts do not depend on the order of arrival or on
    restarts. A redelivered batch is judged again, because its verdicts may not have been published.
    """

    def __init__(self, store: ConversationStore, judging: Judging) -> None:
        self._store = store
        self._judging = judging

    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        rows = [
            None if is_system_line(received.event) else indexed(received.event, received.position) for received in batch
        ]
        written = [(received, row) for received, row in zip(batch, rows, strict=True) if row is not None]
        traces = {row.key: received.traceparent for received, row in written}
        changed = await self._store.index(collapse(row for _, row in written))
        ranges = message_ranges(await self._store.around(traces.keys(), NEIGHBOURHOOD), traces.keys())
        facts = [facts_of(received.event, row.version) for received, row in written]
        facts += [question for span in ranges for question in span.questions()]

        def headers(message: IndexedMessage) -> Headers:
            return derived_headers(traceparent=traces.get(message.key))

        await self._judging.publish(await self._judging.judge(ranges), facts, headers)
        return [
            SYSTEM_LINE if row is None else Outcome.STORED if row.key in changed else Outcome.UNCHANGED for row in rows
        ]


def indexed(event: MessageEvent, logged: LogPosition = UNLOGGED) -> IndexedMessage:
    """Convert a message event by a person or an agent to its row in the message index."""
    sent = message_in(event)
    from_agent = sent.sender_type == "agent"
    message = Message(
        message_id=sent.message_id,
        turn_id=sent.turn_id or sent.message_id,
        sender_id=sent.sender_id,
        role="agent" if from_agent else "human",
        agent_id=sent.agent_id if from_agent else None,
        text=words_of(sent.content)[:TEXT_LIMIT],
        at=sent.occurred_at,
        reply_to=sent.reply_to_message_id,
        thread_id=None if sent.thread_id == sent.message_id else sent.thread_id,
    )
    return IndexedMessage(
        ConversationKey(sent.tenant, sent.project, sent.conversation_id),
        message,
        version_of(event, logged),
        position_of(event, logged),
        provenance_of(sent) if from_agent else NO_PROVENANCE,
        None if from_agent else sent.user_type,
    )


def collapse(messages: Iterable[IndexedMessage]) -> list[IndexedMessage]:
    """Merge the versions of each message into one row per message.

    The result does not depend on the order of the versions.
    """
    merged: dict[MessageKey, IndexedMessage] = {}
    for message in messages:
        merged[message.key] = merged[message.key].merged(message) if message.key in merged else message
    return list(merged.values())
