"""Writes to a connection in one event-loop iteration are sent as one."""

from __future__ import annotations

import asyncio

from servicekit.web.joined_writes import HELD_LIMIT, JoinedWrites


class Wire(asyncio.Transport):
    """Transport that records each write and the close."""

    def __init__(self) -> None:
        super().__init__({"peername": ("somebody", 1)})
        self.sent: list[bytes] = []
        self.ended = False
        self.unread = 0

    def get_write_buffer_size(self) -> int:
        return self.unread

    def write(self, data: bytes | bytearray | memoryview[int]) -> None:
        assert not self.ended
        self.sent.append(bytes(data))

    def is_closing(self) -> bool:
        return self.ended

    def close(self) -> None:
        self.ended = True

    abort = close


async def test_what_is_written_in_one_turn_is_sent_at_once_and_in_order() -> None:
    wire = Wire()
    joined = JoinedWrites(wire)
    joined.write(b"head ")
    joined.write(b"body")
    assert wire.sent == []
    await asyncio.sleep(0)
    joined.write(b"another")
    await asyncio.sleep(0)
    assert wire.sent == [b"head body", b"another"]


async def test_what_was_written_goes_out_before_the_connection_ends() -> None:
    wire = Wire()
    joined = JoinedWrites(wire)
    joined.write(b"last words")
    joined.close()
    assert (wire.sent, wire.ended, joined.is_closing()) == ([b"last words"], True, True)
    await asyncio.sleep(0)
    assert wire.sent == [b"last words"]


async def test_nothing_is_sent_on_a_connection_that_was_cut_off() -> None:
    wire = Wire()
    joined = JoinedWrites(wire)
    joined.write(b"too late")
    joined.abort()
    await asyncio.sleep(0)
    assert wire.sent == []


async def test_a_long_answer_is_not_held() -> None:
    wire = Wire()
    joined = JoinedWrites(wire)
    for _ in range(4):
        joined.write(b"x" * HELD_LIMIT)
    assert sum(map(len, wire.sent)) >= 3 * HELD_LIMIT
    await asyncio.sleep(0)
    assert sum(map(len, wire.sent)) == 4 * HELD_LIMIT


async def test_an_answer_is_held_up_to_a_limit() -> None:
    wire = Wire()
    joined = JoinedWrites(wire)
    joined.write(b"x" * HELD_LIMIT)
    assert wire.sent == []
    joined.write(b"y")
    assert wire.sent == [b"x" * HELD_LIMIT + b"y"]


async def test_only_what_was_sent_counts_as_taken() -> None:
    wire = Wire()
    joined = JoinedWrites(wire)
    joined.write(b"12345")
    assert joined.taken == 0
    joined.flush()
    wire.unread = 2
    assert (joined.taken, wire.sent) == (3, [b"12345"])
    joined.flush()  # nothing is held
    assert (joined.taken, wire.sent) == (3, [b"12345"])
    joined.write(b"67")
    joined.abort()
    joined.flush()
    assert (joined.taken, wire.sent) == (3, [b"12345"])


async def test_the_owner_closes_once_and_nothing_is_written_after_it() -> None:
    wire = Wire()
    ends: list[bytes] = []
    joined = JoinedWrites(wire, on_close=lambda: ends.append(b"".join(wire.sent)))
    assert not joined.is_closing()
    joined.write(b"last")
    joined.close()
    joined.close()
    joined.write(b"more")
    await asyncio.sleep(0)
    assert (ends, wire.sent) == ([b"last"], [b"last"])
    assert joined.is_closing() and not joined.is_cut()
    joined.close_now()
    assert joined.is_cut() and wire.ended


async def test_the_rest_is_as_the_transport_has_it() -> None:
    assert JoinedWrites(Wire()).get_extra_info("peername") == ("somebody", 1)
