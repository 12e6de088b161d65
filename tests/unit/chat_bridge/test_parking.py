"""The ends of a wait: the original arrives, never arrives, is not an agent's, or the parking is full."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import pytest
from prometheus_client import REGISTRY

from chat_bridge import parking
from chat_bridge.handlers import ChatHandler
from chat_bridge.model import indexed
from chat_bridge.parking import Parking
from contracts.headers import derived_headers
from contracts.instants import SECOND
from contracts.topics import BY_NAME
from contracts.versions import version_of
from servicekit.errors import LogUnavailable
from servicekit.log.delivery import GroupOutcomes
from servicekit.log.outcome import Observation, Outcome
from servicekit.log.records import Coordinates, Message, RawRecord, Received, Written, read
from tests.support.bridge_memory import MemoryMessageStore
from tests.support.hand_clock import HandClock
from tests.support.logs import example

MESSAGE, REPLY, REACTION = "chat.message.ingested", "chat.message.reply.ingested", "chat.message.reaction.ingested"
NAMES = {MESSAGE: "agent", REPLY: "reply", REACTION: "added"}
DAYS_7 = 7 * 86_400
WAITING = Outcome.parked("original_unknown")


class Log:
    """Log that can be down, and that reads the store at every write."""

    def __init__(self, store: MemoryMessageStore) -> None:
        self._store = store
        self.down = False
        self.messages: list[Message] = []
        self.parked_at_write: list[int] = []

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        if self.down:
            raise LogUnavailable
        if messages:
            self.parked_at_write.append(await self._store.parked())
        self.messages += messages
        return [Written(message.topic, 0, number) for number, message in enumerate(messages)]


class Bridge:
    """The bridge on in-memory stores."""

    def __init__(self, store: MemoryMessageStore | None = None) -> None:
        self.store = store or MemoryMessageStore()
        self.log, self.clock = Log(self.store), HandClock()
        self.observed: list[Observation] = []
        late = GroupOutcomes("chat_bridge", self.log, [self.observed.append])
        self.parking = Parking(self.store, self.log, self.clock, DAYS_7 * SECOND, late)
        self.events = ChatHandler(self.store, self.log, self.parking, self.clock)

    async def take(self, *batch: Received[Any]) -> list[Outcome]:
        return list(await self.events.handle(batch))

    @property
    def topics(self) -> list[str]:
        return [message.topic for message in self.log.messages]


def event(topic: str, offset: int = 0, name: str = "", **changes: Any) -> Received[Any]:
    """Return a golden message as read from its topic; message, reply and reaction are about each other."""
    value = example(topic, name or NAMES[topic], **({"eventId": f"e{offset}"} | changes))
    raw = RawRecord(Coordinates(topic, 2, offset), b"key", value, (), 1_700_000_000_000_000)
    return Received(BY_NAME[topic].event.model_validate_json(value), raw)


async def test_what_waits_too_long_becomes_a_letter_with_its_own_bytes() -> None:
    bridge, reply = Bridge(), event(REPLY, 41)
    assert await bridge.take(reply) == [WAITING]
    bridge.clock.forward(DAYS_7 + 1)
    await bridge.parking.sweep()
    (letter,) = bridge.log.messages
    headers = {name: value.decode() for name, value in letter.headers}
    assert (letter.topic, letter.key, letter.value) == (f"{REPLY}.dlq", "key", reply.raw.value)
    assert headers["reason"] == "original_never_came"
    assert (headers["topic"], headers["partition"], headers["offset"]) == (REPLY, "2", "41")
    assert headers["timestamp"] == "1700000000000000"
    assert await bridge.store.parked() == 0
    assert [(one.topic, one.cause, one.outcome) for one in bridge.observed] == [
        (REPLY, f"{REPLY}:2:41", Outcome.dead_lettered("original_never_came"))
    ]


async def test_what_was_read_and_parked_can_be_read_again() -> None:
    """Our field names are not names on the wire, so they were ignored when the event was first read."""
    bridge, reply = Bridge(), json.loads(example(REPLY, "with_original"))
    del reply["original"]["turnId"]
    reply["original"] |= {"messageId": "another", "turn_id": 5}
    raw = RawRecord(Coordinates(REPLY, 2, 7), b"key", json.dumps(reply).encode(), (), 1_800_000_000_000_000)
    read_one = read(raw, {REPLY: BY_NAME[REPLY].event})
    assert isinstance(read_one, Received)
    assert await bridge.take(read_one) == [WAITING]
    original = event(MESSAGE, 8, messageId=reply["originalMessageId"], conversationId=reply["conversationId"])
    await bridge.take(original)
    assert bridge.topics == ["feedback.reply.received"]
    await bridge.parking.sweep()
    assert await bridge.store.parked() == 0


@pytest.mark.parametrize(
    "another",
    [
        event(REACTION, 2, eventId="1", conversationId="conv-2"),
        event(REACTION, 2, eventId="1", userId="eve"),
        event(REACTION, 2, eventId="1", emoji="😢"),
        event(REACTION, 2, eventId="1", action="removed", occurredAt="2026-03-01T09:32:00Z"),
        event(REACTION, 2, eventId="1", messageId="msg-9"),
    ],
    ids=["conversation", "person", "emoji", "action", "message"],
)
@pytest.mark.parametrize("parked_first", [True, False])
async def test_equal_ids_of_two_subjects_are_two_events(another: Received[Any], parked_first: bool) -> None:
    """Both are forwarded once, parked or not, in either order of arrival."""
    bridge, one = Bridge(), event(REACTION, 1, eventId="1")
    messages = [
        event(MESSAGE, n, conversationId=about.event.conversation_id, messageId=about.event.message_id)
        for n, about in enumerate((one, another), 8)
    ]
    batches = [(one,), (another,), (one, another)] if parked_first else []
    for batch in (*batches, messages, (another, one) if not parked_first else ()):
        await bridge.take(*batch)
    await bridge.parking.sweep()
    assert await bridge.store.parked() == 0
    sent = [json.loads(message.value or b"") for message in bridge.log.messages]
    assert len({said["eventId"] for said in sent}) == len(sent) == 2


async def test_of_equal_ids_with_different_content_both_are_forwarded() -> None:
    bridge = Bridge()
    first, edited = event(REPLY, 1, eventId="1"), event(REPLY, 2, eventId="1", content="Is there a later bus?")
    assert await bridge.take(first, edited, event(REPLY, 3, eventId="1")) == [WAITING, WAITING, Outcome.UNCHANGED]
    await bridge.take(event(MESSAGE, 4))
    texts = [json.loads(message.value or b"")["replyContent"] for message in bridge.log.messages]
    assert sorted(texts) == ["Is there a later bus?", "Is there a later one?"]


async def test_a_copy_of_another_message_does_not_wait_along() -> None:
    """The copy is useless, and contains the text of a person whose erasure would not find it."""
    bridge = Bridge()
    copy = json.loads(example(REPLY, "with_original"))["original"] | {"messageId": "another", "content": "my secret"}
    stray = event(REPLY, 1, original=copy)
    assert await bridge.take(stray) == [WAITING]
    [parked] = await bridge.store.expired(1 << 62, 10)
    assert b"secret" not in parked.value
    await bridge.take(event(MESSAGE, 2))
    assert bridge.topics == ["feedback.reply.received"]


async def test_the_age_is_counted_from_the_first_parking_and_is_not_over_at_its_last_moment() -> None:
    bridge = Bridge()
    await bridge.take(event(REPLY))
    bridge.clock.forward(DAYS_7 - 60)
    assert await bridge.take(event(REPLY)) == [WAITING], "it comes again, as after a crash"
    bridge.clock.forward(60)
    await bridge.parking.sweep()
    assert (bridge.log.messages, await bridge.store.parked()) == ([], 1)
    bridge.clock.forward(1)
    await bridge.parking.sweep()
    assert await bridge.store.parked() == 0


async def test_an_expired_event_is_forgotten_only_after_its_letter_is_written() -> None:
    bridge = Bridge()
    await bridge.take(event(REPLY))
    bridge.clock.forward(DAYS_7 + 1)
    bridge.log.down = True
    with pytest.raises(LogUnavailable):
        await bridge.parking.sweep()
    assert await bridge.store.parked() == 1
    bridge.log.down = False
    await bridge.parking.sweep()
    assert bridge.log.parked_at_write == [1]
    assert await bridge.store.parked() == 0


async def test_a_released_event_is_forgotten_only_after_it_was_forwarded() -> None:
    bridge = Bridge()
    await bridge.take(event(REPLY, 1))
    bridge.log.down = True
    with pytest.raises(LogUnavailable):
        await bridge.take(event(MESSAGE, 2))
    assert await bridge.store.parked() == 1
    bridge.log.down = False
    await bridge.parking.sweep()
    assert bridge.log.parked_at_write == [1]
    assert (bridge.topics, await bridge.store.parked()) == (["feedback.reply.received"], 0)


@pytest.mark.parametrize("topic", [REPLY, REACTION])
async def test_the_original_releases_what_waits_for_it_without_any_sweep(topic: str) -> None:
    bridge = Bridge()
    assert await bridge.take(event(topic, 1)) == [WAITING]
    assert await bridge.take(event(MESSAGE, 2)) == [Outcome.STORED]
    assert (len(bridge.topics), await bridge.store.parked()) == (1, 0)
    assert [one.outcome for one in bridge.observed] == [Outcome.STORED]


TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize("replay_of", [None, 1_600_000_000_000_000])
async def test_a_released_event_keeps_its_trace_and_the_time_at_which_it_was_first_in_the_log(
    replay_of: int | None,
) -> None:
    bridge, reply = Bridge(), event(REPLY, 1)
    raw = reply.raw._replace(headers=(("traceparent", TRACE.encode()),), replay_of=replay_of)
    await bridge.take(Received(reply.event, raw))
    await bridge.take(event(MESSAGE, 2))
    [sent] = bridge.log.messages
    assert [(name, value.decode()) for name, value in sent.headers] == derived(f"{REPLY}:2:1", raw.first_log_time)


def derived(cause: str, log_time: int) -> list[tuple[str, str]]:
    return [(name, value.decode()) for name, value in derived_headers(cause, log_time, TRACE)]


def gauge(name: str) -> float | None:
    return REGISTRY.get_sample_value(f"agent_feedback_{name}", {"service": "chat_bridge"})


async def test_a_sweep_measures_how_many_wait_and_how_long() -> None:
    bridge = Bridge()
    await bridge.parking.sweep()
    assert (gauge("parked"), gauge("parked_oldest_seconds")) == (0, 0)
    await bridge.take(event(REPLY, 1))
    bridge.clock.forward(3)
    await bridge.take(event(REACTION, 2))
    bridge.clock.forward(4)
    await bridge.parking.sweep()
    assert (gauge("parked"), gauge("parked_oldest_seconds")) == (2, 7)
    await bridge.take(event(MESSAGE, 3))
    await bridge.parking.sweep()
    assert (gauge("parked"), gauge("parked_oldest_seconds")) == (0, 0)


async def test_a_sweep_handles_all_that_wait_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parking, "SWEEP_BATCH", 2)
    bridge = Bridge()
    await bridge.take(*(event(REPLY, number) for number in range(5)))
    await bridge.take(*(event(REPLY, number, originalMessageId="x") for number in range(5, 10)))
    found = indexed(event(MESSAGE, 11).event, "acme", "support", version_of(event(MESSAGE, 11).event))
    await bridge.store.index([found])
    bridge.clock.forward(DAYS_7 + 1)
    await bridge.parking.sweep()
    assert Counter(bridge.topics) == {"feedback.reply.received": 5, f"{REPLY}.dlq": 5}
    assert await bridge.store.parked() == 0


async def test_an_original_that_comes_between_the_look_and_the_parking_releases_without_any_sweep() -> None:
    """Another process indexes the original at that moment and cannot see the unparked event, so the parking process
    must check."""

    class Between(MemoryMessageStore):
        async def park(self, events: Collection[Any]) -> Any:
            await elsewhere.take(event(MESSAGE, 2))
            return await super().park(events)

    store = Between()
    bridge, elsewhere = Bridge(store), Bridge(store)
    assert await bridge.take(event(REPLY, 1)) == [Outcome.STORED]
    assert (bridge.topics, await store.parked()) == (["feedback.reply.received"], 0)


async def test_what_waited_for_a_persons_message_is_no_feedback() -> None:
    bridge = Bridge()
    await bridge.take(event(REPLY, 1))
    await bridge.take(event(MESSAGE, 2, "human", messageId="msg-6", conversationId="conv-17"))
    assert (bridge.topics, await bridge.store.parked()) == ([], 0)
    assert [one.outcome for one in bridge.observed] == [Outcome.ignored("not_about_an_agent")]


def in_thread(topic: str, number: int, name: str = "", **fields: Any) -> Received[Any]:
    place = {"conversationId": "conv-9", "threadId": "q", "occurredAt": f"2026-03-01T09:30:{number:02}Z"}
    return event(topic, number, name, messageId=f"m{number}", **(place | fields))


def follow_up(number: int, root_of: str = "user-42", **fields: Any) -> Received[Any]:
    """Return a reply to the root of the thread `q`, with a copy of the root."""
    root = {"messageId": "q", "conversationId": "conv-9", "senderId": root_of, "senderType": "human", "content": ""}
    return in_thread(REPLY, number, originalMessageId="q", original=root, **fields)


async def test_a_follow_up_to_an_answer_in_ones_own_thread_is_a_reply_to_it() -> None:
    bridge, none = Bridge(), Outcome.ignored("not_about_an_agent")
    assert await bridge.take(follow_up(1)) == [none], "there is no answer yet"
    answer = in_thread(MESSAGE, 2, replyToMessageId="q")
    assert await bridge.take(answer, follow_up(3)) == [Outcome.STORED, Outcome.STORED]
    [reply] = bridge.log.messages
    value = json.loads(reply.value or b"")
    assert (value["agentMessageId"], value["messageId"]) == ("m2", "m3")
    assert await bridge.take(follow_up(4, senderId="bob")) == [none], "somebody else's thread"
    assert await bridge.take(follow_up(5)) == [none], "no longer a thread of one person"


async def test_a_rating_of_a_conversation_is_about_its_last_answer() -> None:
    bridge = Bridge()
    rating: dict[str, Any] = {"conversationId": "conv-9", "emoji": None, "judgement": "ok", "messageId": None}
    before, after = (event(REACTION, number, **rating, occurredAt=f"2026-03-01T09:30:0{number}Z") for number in (1, 3))
    assert await bridge.take(before, in_thread(MESSAGE, 2), after) == [
        Outcome.ignored("no_answer"),
        Outcome.STORED,
        Outcome.STORED,
    ]
    [judgement] = bridge.log.messages
    assert judgement.topic == "feedback.explicit.received"
    assert json.loads(judgement.value or b"")["agentMessageId"] == "m2"


async def test_an_event_for_which_there_is_no_room_becomes_a_letter() -> None:
    bridge = Bridge()
    assert await bridge.take(event(REPLY, 1)) == [WAITING]
    bridge.store.is_full = True
    full = Outcome.dead_lettered("parking_full")
    assert await bridge.take(event(REPLY, 1), event(REPLY, 2)) == [WAITING, full]


async def test_what_is_parked_already_takes_no_second_place() -> None:
    bridge = Bridge()
    assert await bridge.take(event(REPLY, 1), event(REPLY, 1)) == [WAITING, WAITING]
    assert await bridge.take(event(REPLY, 1)) == [WAITING]
    again = event(REPLY, 1)
    moved = Received(again.event, again.raw._replace(coordinates=Coordinates(REPLY, 0, 99)))
    assert await bridge.take(moved) == [Outcome.UNCHANGED], "the same event, published twice"
    assert await bridge.store.parked() == 1


async def test_an_inline_copy_of_another_message_is_not_believed() -> None:
    bridge = Bridge()
    copied = event(REPLY, 1, "with_original")
    assert await bridge.take(copied) == [Outcome.STORED]
    mistaken = event(REPLY, 2, "with_original", originalMessageId="msg-5")
    assert await bridge.take(mistaken) == [WAITING]
    assert len(bridge.topics) == 1


async def test_a_copy_of_another_conversations_message_is_none_of_the_message_named() -> None:
    bridge, reaction = Bridge(), event(REACTION, 1)
    about = reaction.event
    copy = {"messageId": about.message_id, "conversationId": "another", "senderId": "bot", "senderType": "agent"}
    assert await bridge.take(event(REACTION, 2, original=copy | {"content": "At nine."})) == [WAITING]
    here = copy | {"content": "At nine.", "conversationId": about.conversation_id}
    assert await bridge.take(event(REACTION, 3, original=here)) == [Outcome.STORED]
