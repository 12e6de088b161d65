"""Repeated judgement of messages whose verdicts have a lower release or mode than the current detector."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from contracts.headers import Headers, derived_headers
from contracts.message_fields import MessageKey
from inference.judging import Judging
from inference.model import IndexedMessage
from inference.sql import SQL
from inference.store import ConversationStore
from inference.window import message_ranges

BATCH: Final = 200
"""Number of messages that are judged, stored and published together."""
OutdatedMessage = Mapping[str, Any]
"""Row of a message whose verdict is by a lower release or mode: its key, position and storage time (microseconds)."""


class Rejudging:
    """Loop over the messages with outdated verdicts.

    A batch is committed after the log has acknowledged its announcements. An interrupted batch is therefore still
    outdated, and judging it again produces the same events.

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
        last: OutdatedMessage | None = None
        while page := await self._page(since, last):
            keys = {_key(row) for row in page}
            judged = await self._judging.judge(message_ranges(await self._store.around(keys, 0), keys, after=0))
            async with self._connection.transaction():
                await self._judging.publish(judged, headers=_headers(page))
            last = page[-1]
            total += len(page)
            progress(len(page))
        return total

    async def _page(self, since: int, after: OutdatedMessage | None) -> Sequence[OutdatedMessage]:
        """Return the next messages with outdated verdicts, ordered by conversation and position."""
        release, mode, _ = self._judging.version
        key, position = (_key(after), after["position"]) if after else (MessageKey("", "", "", ""), b"")
        statement = SQL.page_of_outdated(
            release=release, mode=mode, since=since, **key._asdict(), position=position, limit=BATCH
        )
        page: Sequence[OutdatedMessage] = await self._connection.fetch(*statement)
        return page


def _key(row: OutdatedMessage) -> MessageKey:
    return MessageKey(row["tenant"], row["project"], row["conversation_id"], row["message_id"])


def _headers(page: Iterable[OutdatedMessage]) -> Callable[[IndexedMessage], Headers]:
    """Return a function that computes the headers of a message's announcement.

    Their log time is the time at which the message was stored, so that a later erasure covers the announcement.
    """
    stored_at = {_key(row): row["stored_at"] for row in page}
    return lambda message: derived_headers(log_time=stored_at[message.key])
