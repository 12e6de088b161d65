"""Writes of HTTP requests into the log: what is refused, with which error, and what is written together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from aiokafka.errors import KafkaConnectionError, MessageSizeTooLargeError

from servicekit.errors import LogFull, Unavailable
from servicekit.log.messages import Message, Written, bytes_of
from servicekit.log.settings import MESSAGE_LIMIT
from servicekit.web.log_writer import LogWriter

LARGE = 16 * 1024 * 1024
WAITING_LIMIT = 64 * 1024 * 1024


class HeldLog:
    """Producer that acknowledges once `open` is set, with the numbers of the messages as offsets."""

    def __init__(self, *, is_open: bool = True, error: Exception | None = None) -> None:
        self.open = asyncio.Event()
        self.error = error
        self.writes: list[list[Message]] = []
        if is_open:
            self.open.set()

    async def send(self, messages: Sequence[Message]) -> list[Written]:
        self.writes.append(list(messages))
        await self.open.wait()
        if self.error:
            raise self.error
        return [Written(message.topic, 0, int(message.key or 0), 0) for message in messages]


def message(number: int = 0, size: int = 1) -> Message:
    return Message("chat.message.ingested", str(number), b"x" * size)


async def test_each_request_gets_the_positions_of_its_own_messages_in_order() -> None:
    log = HeldLog()
    writer = LogWriter(log)
    requests = [
        [message(number) for number in range(start, start + length)] for start, length in ((0, 2), (50, 1), (7, 3))
    ]
    found = await asyncio.gather(*map(writer.send, requests))
    assert [[one.offset for one in written] for written in found] == [[0, 1], [50], [7, 8, 9]]


async def test_a_large_request_is_written_in_parts_of_500_and_requests_that_wait_together() -> None:
    log = HeldLog(is_open=False)
    writer = LogWriter(log)
    first = asyncio.create_task(writer.send([message(number) for number in range(1_001)]))
    while not log.writes:
        await asyncio.sleep(0)
    others = [asyncio.create_task(writer.send([message()])) for _ in range(3)]
    await asyncio.sleep(0)
    log.open.set()
    written = await first
    await asyncio.gather(*others)
    assert [one.offset for one in written] == list(range(1_001))
    assert max(map(len, log.writes)) <= 503 and len(log.writes[0]) == 500
    assert sum(map(len, log.writes)) == 1_004
    assert len(log.writes) <= 4, "requests that arrive during a write share the next one"


async def test_a_log_without_room_is_full_and_nothing_is_written() -> None:
    log = HeldLog()
    asked: list[int] = []

    def full(size: int) -> bool:
        asked.append(size)
        return False

    writer = LogWriter(log, room=full)
    messages = [message(size=10), message(size=20)]
    with pytest.raises(LogFull):
        await writer.send(messages)
    assert (log.writes, asked) == ([], [bytes_of(messages)])


@pytest.mark.parametrize(("size", "taken"), [(MESSAGE_LIMIT, True), (MESSAGE_LIMIT + 1, False)])
async def test_a_message_as_large_as_a_topic_allows_is_written_and_a_larger_one_refused(size: int, taken: bool) -> None:
    log = HeldLog()
    writer = LogWriter(log)
    fitting = message(size=size - message(size=0).size)
    assert fitting.size == size
    if taken:
        assert len(await writer.send([fitting])) == 1
    else:
        with pytest.raises(MessageSizeTooLargeError):
            await writer.send([message(), fitting])
    assert len(log.writes) == taken


async def test_beyond_64_mib_of_waiting_writes_a_request_is_refused_until_they_are_written() -> None:
    log = HeldLog(is_open=False)
    writer = LogWriter(log, seconds=60)
    piece = MESSAGE_LIMIT - message(size=0).size
    fitting = WAITING_LIMIT // MESSAGE_LIMIT
    waiting = [asyncio.create_task(writer.send([message(size=piece)])) for _ in range(fitting)]
    for _ in range(3):
        await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="too many writes"):
        await writer.send([message(size=piece)])
    log.open.set()
    await asyncio.gather(*waiting)
    assert len(await writer.send([message(size=piece)])) == 1


async def test_a_request_larger_than_what_may_wait_is_written_if_nothing_waits() -> None:
    pieces = [message(size=MESSAGE_LIMIT // 2) for _ in range(2 * WAITING_LIMIT // MESSAGE_LIMIT + 2)]
    assert sum(one.size for one in pieces) > WAITING_LIMIT
    assert len(await LogWriter(HeldLog()).send(pieces)) == len(pieces)


@pytest.mark.parametrize("error", [KafkaConnectionError(), OSError("no route"), Unavailable("the log", "closed")])
async def test_a_log_that_fails_is_unavailable_by_the_errors_name(error: Exception) -> None:
    with pytest.raises(Unavailable) as raised:
        await LogWriter(HeldLog(error=error)).send([message()])
    assert type(error).__name__ in str(raised.value)
    assert "no route" not in str(raised.value)


async def test_a_write_without_acknowledgement_ends_in_time_goes_on_and_frees_its_bytes() -> None:
    log = HeldLog(is_open=False)
    writer = LogWriter(log, seconds=0.05)
    with pytest.raises(Unavailable, match="TimeoutError"):
        await writer.send([message(1)])
    assert writer._waiting_bytes == 0
    log.open.set()
    assert [one.offset for one in await LogWriter(log).send([message(5)])] == [5]


async def test_another_error_is_a_bug_and_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        await LogWriter(HeldLog(error=ZeroDivisionError())).send([message()])
