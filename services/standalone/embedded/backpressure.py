"""Backpressure for a log that silently drops its oldest records: a limit on bytes written but not yet consumed.

The in-process log keeps about 5 MiB and 100,000 record batches per partition. A writer therefore waits until the
slowest group has committed enough. Topics that no group of this process reads (dead letters, sessions) have no
backpressure, because no consumer would ever free space. The log keeps their newest 5 MiB; `Backpressure` warns once per
partition when records are dropped.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from contracts.topics import BY_NAME, Consumer
from servicekit.errors import LogUnavailable
from servicekit.logging import logger

INSIDE_BYTES = 3 * 1024 * 1024
"""Maximum unconsumed bytes per partition, for writes by the services' own process."""
OUTSIDE_BYTES = 1024 * 1024
"""Maximum unconsumed bytes per partition, for writes by another process. The limit and INSIDE_BYTES add up to 4 MiB."""
MOST_BATCHES = 50_000
"""Maximum number of unconsumed record batches per partition."""
PIECE_BYTES = 256 * 1024
"""Maximum size of a piece in bytes. A piece is written to one partition, and consumed, as one record batch."""
KEPT_BYTES = 5 * 1024 * 1024

LogPartition = tuple[str, int]
"""Topic name and partition."""

log = logger("backpressure")


@dataclass(slots=True)
class _Account:
    """Counts of a partition: unconsumed pieces as (next offset, bytes), their total bytes, and bytes being written."""

    pieces: deque[tuple[int, int]] = field(default_factory=deque)
    standing: int = 0
    coming: int = 0
    committed: dict[Consumer, int] = field(default_factory=dict)

    @property
    def unconsumed(self) -> int:
        return self.standing + self.coming


class Backpressure:
    """Limiter of the unconsumed bytes per partition. Its counts are upper bounds."""

    def __init__(self, limit: int = INSIDE_BYTES) -> None:
        self._limit = limit
        self._groups: frozenset[Consumer] = frozenset()
        self._accounts: defaultdict[LogPartition, _Account] = defaultdict(_Account)
        self._unread: defaultdict[LogPartition, int] = defaultdict(int)
        self._moved = asyncio.Event()
        self._closed = False
        self._stopped = False

    def follow(self, groups: Collection[Consumer]) -> None:
        """Set the consumer groups, before any write. Each group must commit every record that it receives."""
        self._groups = frozenset(groups)

    @property
    def groups(self) -> frozenset[Consumer]:
        return self._groups

    def readers(self, topic: str) -> frozenset[Consumer]:
        """Return the followed groups that consume `topic`."""
        known = BY_NAME.get(topic)
        return self._groups.intersection(known.consumers) if known else frozenset()

    def room(self, size: int) -> bool:
        """Return True if every partition has room for `size` bytes. Return False after `close`.

        A size above half the limit counts as half the limit, because it is spread over partitions or written in pieces.
        """
        return not self._closed and self.fullest + min(size, self._limit // 2) <= self._limit

    @property
    def fullest(self) -> int:
        """Unconsumed bytes of the fullest partition."""
        return max((account.unconsumed for account in self._accounts.values()), default=0)

    def admits(self, partition: LogPartition, size: int) -> bool:
        """Return True if `partition` accepts `size` more bytes. An empty partition accepts any size."""
        account = self._accounts[partition]
        if not account.unconsumed:
            return True
        return account.unconsumed + size <= self._limit and len(account.pieces) < MOST_BATCHES

    def expect(self, partition: LogPartition, size: int) -> None:
        """Count bytes that will be written next."""
        self._accounts[partition].coming += size

    def abandon(self, partition: LogPartition, size: int) -> None:
        """Undo `expect`, because the write was not acknowledged."""
        self._accounts[partition].coming -= size
        self._move()

    def wrote(self, partition: LogPartition, size: int, next_offset: int) -> None:
        """Move `size` bytes from expected to written. `next_offset` is the offset after the last written record."""
        account = self._accounts[partition]
        account.coming -= size
        account.standing += size
        account.pieces.append((next_offset, size))
        self._settle(partition, account)

    def wrote_unread(self, partition: LogPartition, size: int) -> None:
        """Count bytes written to a topic without followed groups. Warns once when the log starts to drop records."""
        before = self._unread[partition]
        self._unread[partition] = before + size
        if before <= KEPT_BYTES < before + size:
            log.warning("oldest_dropped", topic=partition[0], kept_bytes=KEPT_BYTES)

    def committed(self, group: Consumer, offsets: Mapping[LogPartition, int]) -> None:
        """Record the offsets that `group` has committed."""
        for (topic, partition), offset in offsets.items():
            account = self._accounts[topic, partition]
            account.committed[group] = max(offset, account.committed.get(group, 0))
            self._settle((topic, partition), account)
        self._move()

    async def moved(self) -> None:
        """Wait until bytes are consumed or abandoned. Raises LogUnavailable once stopped."""
        if self._stopped:
            raise LogUnavailable("it is full and its readers have stopped")
        moved = self._moved
        await moved.wait()

    def close(self) -> None:
        """Make `room` return False, so that no new work starts. Work that was already accepted may still be written."""
        self._closed = True

    def stop(self) -> None:
        """Wake all waiting writers. They fail with LogUnavailable, because the consumers have stopped."""
        self._closed = self._stopped = True
        self._move()

    def _settle(self, partition: LogPartition, account: _Account) -> None:
        read_to = min((account.committed.get(group, 0) for group in self.readers(partition[0])), default=0)
        while account.pieces and account.pieces[0][0] <= read_to:
            account.standing -= account.pieces.popleft()[1]

    def _move(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()
