"""Account of the records in the in-process log that are written but not yet consumed. It limits their bytes.

The in-process log keeps about 5 MiB and 100,000 record batches per partition, and silently drops its oldest records. A
writer therefore waits until the slowest consumer group has committed enough.

Topics that no group of this process reads (dead letters, sessions) have no backpressure, because nothing would ever
free their space. Their partitions keep the newest 5 MiB. `Backpressure` warns once per partition when records are
dropped.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from contracts.topics import BY_NAME, Consumer
from servicekit.errors import LogUnavailable
from servicekit.logging import logger

INSIDE_BYTES = 3 * 1024 * 1024
"""Maximum unconsumed bytes per partition for writes by the services' own process."""
OUTSIDE_BYTES = 1024 * 1024
"""Maximum unconsumed bytes per partition for writes by another process. Together with INSIDE_BYTES, this is 4 MiB."""
MOST_BATCHES = 50_000
"""Maximum number of unconsumed record batches per partition."""
PIECE_BYTES = 256 * 1024
"""Maximum size of a chunk in bytes. A chunk is written to a partition, and consumed, as one record batch."""
KEPT_BYTES = 5 * 1024 * 1024

LogPartition = tuple[str, int]
"""Topic name and partition."""

log = logger("backpressure")


@dataclass(slots=True)
class _Account:
    """Byte counts of a partition.

    Attributes:
        pieces: Unconsumed writes as (next offset, bytes).
        standing: Total size of the unconsumed writes.
        coming: Size of the writes in progress.
        committed: Committed offset of each consumer group.
    """

    pieces: deque[tuple[int, int]] = field(default_factory=deque)
    standing: int = 0
    coming: int = 0
    committed: dict[Consumer, int] = field(default_factory=dict)

    @property
    def unconsumed(self) -> int:
        return self.standing + self.coming


class Backpressure:
    """Limit on the unconsumed bytes of each partition.

    The byte counts may be too high, but are never too low.
    """

    def __init__(self, limit: int = INSIDE_BYTES) -> None:
        self._limit = limit
        self._groups: frozenset[Consumer] = frozenset()
        self._accounts: defaultdict[LogPartition, _Account] = defaultdict(_Account)
        self._unread: defaultdict[LogPartition, int] = defaultdict(int)
        self._moved = asyncio.Event()
        self._closed = False
        self._stopped = False

    def follow(self, groups: Collection[Consumer]) -> None:
        """Set the consumer groups that must consume records before their bytes are freed.

        Call this before any write. Each group must commit every record that it receives.
        """
        self._groups = frozenset(groups)

    @property
    def groups(self) -> frozenset[Consumer]:
        return self._groups

    def readers(self, topic: str) -> frozenset[Consumer]:
        """Return the followed consumer groups that read `topic`."""
        declared = BY_NAME.get(topic)
        return self._groups.intersection(declared.consumers) if declared else frozenset()

    def room(self, size: int) -> bool:
        """Return True if every partition has room for `size` more bytes. Always returns False after `close`.

        A size above half the limit counts as half the limit, because such a write is spread over partitions or split
        into chunks.
        """
        return not self._closed and self.fullest + min(size, self._limit // 2) <= self._limit

    @property
    def fullest(self) -> int:
        """The number of unconsumed bytes in the fullest partition."""
        return max((account.unconsumed for account in self._accounts.values()), default=0)

    def admits(self, partition: LogPartition, size: int) -> bool:
        """Return True if `size` more bytes may be written to `partition`.

        A partition without unconsumed bytes accepts any size.
        """
        account = self._accounts[partition]
        if not account.unconsumed:
            return True
        return account.unconsumed + size <= self._limit and len(account.pieces) < MOST_BATCHES

    def expect(self, partition: LogPartition, size: int) -> None:
        """Count `size` bytes that are about to be written."""
        self._accounts[partition].coming += size

    def abandon(self, partition: LogPartition, size: int) -> None:
        """Undo `expect` for a write that was not acknowledged."""
        self._accounts[partition].coming -= size
        self._move()

    def wrote(self, partition: LogPartition, size: int, next_offset: int) -> None:
        """Record that a write of `size` bytes was acknowledged. `expect` must have been called before the write.

        `next_offset` is the offset after the last written record.
        """
        account = self._accounts[partition]
        account.coming -= size
        account.standing += size
        account.pieces.append((next_offset, size))
        self._settle(partition, account)
        self._move()

    def wrote_unread(self, partition: LogPartition, size: int) -> None:
        """Count bytes written to a topic that no group reads.

        Logs a warning once per partition, when the log starts to drop its records.
        """
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

    async def unread(self, group: Consumer, seconds: float) -> None:
        """Wait until this process has written records that `group` has not committed, for at most `seconds`.

        A fetch from the in-process log waits for its full timeout, also if records arrive meanwhile.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._has_unread(group):
                    await self._moved.wait()

    def _has_unread(self, group: Consumer) -> bool:
        return any(
            account.pieces and account.pieces[-1][0] > account.committed.get(group, 0)
            for (topic, _), account in self._accounts.items()
            if group in self.readers(topic)
        )

    async def moved(self) -> None:
        """Wait until records are written or consumed, or a write fails.

        Raises:
            LogUnavailable: `stop` was called.
        """
        if self._stopped:
            raise LogUnavailable("it is full and its readers have stopped")
        moved = self._moved
        await moved.wait()

    def close(self) -> None:
        """Make `room` return False, so that no new work starts. Work in progress may still write."""
        self._closed = True

    def stop(self) -> None:
        """Make all waiting writers fail with LogUnavailable, because the consumers have stopped."""
        self._closed = self._stopped = True
        self._move()

    def _settle(self, partition: LogPartition, account: _Account) -> None:
        read_to = min((account.committed.get(group, 0) for group in self.readers(partition[0])), default=0)
        while account.pieces and account.pieces[0][0] <= read_to:
            account.standing -= account.pieces.popleft()[1]

    def _move(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()
