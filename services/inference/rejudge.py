"""Repeated judgement of the messages whose verdicts have a lower stamp than those of the current detector."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from contracts.headers import Headers, derived_headers
from contracts.message_fields import MessageKey
from inference.judging import Judging
from inference.model import IndexedMessage
from inference.sql import SQL
from inference.store import ConversationStore
from inference.window import message_ranges

BATCH: Final = 200
"""Number of messages that are judged, stored and published together."""


class OutdatedVerdict(NamedTuple):
    """Message whose verdict is by a lower release or mode.

    Attributes:
        position: Sort key of the message in its conversation.
        stored_at: Time at which the message was stored, in microseconds.
    """

    key: MessageKey
    position: bytes
    stored_at: int


class Rejudging:
    """Loop over the messages with outdated verdicts.

    A batch is committed after the log has acknowledged its announcements. An interrupted batch is therefore outdated
    still, and judging it again produces the same events.

    Args:
        connection: Connection that `judging` uses to store verdicts, so that the loop controls its transactions.
    """

    def __init__(self, connection: Any, store: ConversationStore, judging: Judging) -> None:
        self._connection = connection
        self._store = store
        self._judging = judging

    async def count(self, since: int) -> int:
        """Return the number of outdated verdicts on messages since `since` (microseconds)."""
        release, mode, _ = self._judging.version
        statement = SQL.count_outdated(release=release, mode=mode, since=since)
        return int(await self._connection.fetchval(*statement))

    async def run(self, since: int, progress: Callable[[int], None] = lambda _: None) -> int:
        """Judge the messages with outdated verdicts, and publish the announcements and retractions.

        Args:
            since: Earliest time of the messages, in microseconds since 1970.
            progress: Called with the number of messages in each batch.

        Returns:
            The number of messages.
        """
        total = 0
        last: OutdatedVerdict | None = None
        while page := await self._page(since, last):
            keys = {outdated.key for outdated in page}
            judged = await self._judging.judge(message_ranges(await self._store.around(keys, 0), keys, after=0))
            async with self._connection.transaction():
                await self._judging.publish(judged, headers=_headers(page))
            last = page[-1]
            total += len(page)
            progress(len(page))
        return total

    async def _page(self, since: int, after: OutdatedVerdict | None) -> Sequence[OutdatedVerdict]:
        """Return the next outdated verdicts, ordered by conversation and position."""
        release, mode, _ = self._judging.version
        key = after.key if after else MessageKey("", "", "", "")
        position = after.position if after else b""
        statement = SQL.page_of_outdated(
            release=release, mode=mode, since=since, **key._asdict(), position=position, limit=BATCH
        )
        return [
            OutdatedVerdict(
                MessageKey(row["tenant"], row["project"], row["conversation_id"], row["message_id"]),
                row["position"],
                row["stored_at"],
            )
            for row in await self._connection.fetch(*statement)
        ]


def _headers(page: Iterable[OutdatedVerdict]) -> Callable[[IndexedMessage], Headers]:
    """Return the function that computes headers of an announcement.

    The time of a text is the time when it was stored, so that a later erasure covers the announcement.
    """
    stored_at = {outdated.key: outdated.stored_at for outdated in page}
    return lambda message: derived_headers(log_time=stored_at[message.key])
