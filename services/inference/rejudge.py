"""Repeated judgement of the messages whose verdicts have a lower stamp than those of the current detector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import asyncpg

from contracts.headers import Headers, derived_headers
from detector.model import Verdict
from inference.judging import Judging
from inference.sql import SQL
from inference.store import ConversationStore, IndexedMessage, MessageKey
from inference.window import message_ranges

BATCH: Final = 200
"""Number of messages that are judged, stored and published together."""

Difference = Literal["unchanged", "withdrawn", "added", "reversed", "moved"]
"""Kind of difference between two verdicts on a message.

`withdrawn`: only the old verdict is feedback; `added`: only the new verdict is feedback; `reversed`: accepted became
rejected or vice versa; `moved`: the verdict is the same, but about another turn.
"""


class AnnouncedVerdict(NamedTuple):
    """The announced part of a verdict: `rejected` or `accepted`, and the turn it is about."""

    feedback: str
    turn_id: str

    @classmethod
    def of(cls, verdict: Verdict) -> AnnouncedVerdict | None:
        """Return the announced part of a verdict, or None if the verdict is not announced."""
        target = verdict.target if verdict.emitted else None
        return cls(verdict.feedback, target.turn_id) if target else None


def difference(before: AnnouncedVerdict | None, after: AnnouncedVerdict | None) -> Difference:
    """Return the kind of difference between two verdicts on a message."""
    if before == after:
        return "unchanged"
    if before is None or after is None:
        return "added" if before is None else "withdrawn"
    return "reversed" if before.feedback != after.feedback else "moved"


@dataclass(frozen=True, slots=True)
class OutdatedVerdict:
    """Verdict of a lower release or mode.

    Attributes:
        position: Sort key of the message in its conversation.
        announced: The announced part of the verdict, or None if it was not announced.
        stored_at: Time at which the message was stored, in microseconds.
    """

    key: MessageKey
    position: bytes
    announced: AnnouncedVerdict | None
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

    async def run(
        self, since: int, *, dry_run: bool = False, progress: Callable[[int], None] = lambda _: None
    ) -> Counter[Difference]:
        """Judge the messages with outdated verdicts, and publish the announcements and retractions.

        Args:
            since: Earliest time of the messages, in microseconds since 1970.
            dry_run: True to neither store nor publish anything.
            progress: Called with the number of messages in each batch.

        Returns:
            The number of messages for each difference from the earlier verdict.
        """
        counts: Counter[Difference] = Counter()
        last: OutdatedVerdict | None = None
        while page := await self._page(since, last):
            keys = {outdated.key: outdated for outdated in page}
            judged = await self._judging.judge(message_ranges(await self._store.around(keys, 0), keys, after=0))
            if not dry_run:
                async with self._connection.transaction():
                    await self._judging.publish(judged, headers=_headers(page))
            counts.update(
                difference(keys[item.placed.indexed.key].announced, AnnouncedVerdict.of(item.verdict))
                for item in judged
            )
            last = page[-1]
            progress(len(page))
        return counts

    async def _page(self, since: int, after: OutdatedVerdict | None) -> Sequence[OutdatedVerdict]:
        """Return the next outdated verdicts, ordered by conversation and position."""
        release, mode, _ = self._judging.version
        key = after.key if after else MessageKey("", "", "", "")
        position = after.position if after else b""
        statement = SQL.page_of_outdated(
            release=release, mode=mode, since=since, **key._asdict(), position=position, limit=BATCH
        )
        return [_outdated(row) for row in await self._connection.fetch(*statement)]


def _headers(page: Iterable[OutdatedVerdict]) -> Callable[[IndexedMessage], Headers]:
    """Return the function that computes headers of an announcement.

    The time of a text is the time when it was stored, so that a later erasure covers the announcement.
    """
    stored_at = {outdated.key: outdated.stored_at for outdated in page}
    return lambda message: derived_headers(log_time=stored_at[message.key])


def _outdated(row: asyncpg.Record) -> OutdatedVerdict:
    key = MessageKey(row["tenant"], row["project"], row["conversation_id"], row["message_id"])
    is_announced = row["announced"] and row["turn_id"] is not None
    announced = AnnouncedVerdict(row["status"], row["turn_id"]) if is_announced else None
    return OutdatedVerdict(key, row["position"], announced, row["stored_at"])
