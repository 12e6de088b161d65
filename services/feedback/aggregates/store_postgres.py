"""Store of verdicts and their aggregates in PostgreSQL. Each step of a batch takes one statement."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

from feedback.aggregates.model import Aggregate, CountedVerdict, sum_up
from feedback.registry import TurnKey
from feedback.sql import SQL
from servicekit import Database

_AT_ONCE = 500
"""Maximum number of turns that one transaction aggregates."""


class PostgresAggregates:
    """Access to the tables `aggregated_verdicts`, `aggregated_turns` and `aggregates`, in the pool's search path."""

    def __init__(self, pool: Database) -> None:
        self._pool = pool

    async def take(self, verdicts: Sequence[CountedVerdict]) -> set[UUID]:
        """Store verdicts, and mark their turns as changed.

        A verdict is skipped if its stored revision is the same or higher.

        Args:
            verdicts: At most one per record, sorted by id.

        Returns:
            The feedback ids of the stored verdicts.
        """
        if not verdicts:
            return set()
        async with self._pool.acquire() as connection, connection.transaction():
            ids = [one.feedback_id for one in verdicts]
            held = await connection.fetch(*SQL.lock_aggregated_verdicts(feedback_ids=ids))
            written = {row[0] for row in await connection.fetch(*SQL.upsert_aggregated_verdicts.bulk(verdicts))}
            # A new verdict of the machine may be about another turn than the stored one. Both turns then change.
            turns = {(row["feedback_id"], TurnKey(*row[1:])) for row in held}
            turns |= {(one.feedback_id, TurnKey(*one[2:6])) for one in verdicts}  # type: ignore[arg-type]
            changes = Counter(turn for id_, turn in turns if id_ in written and turn.tenant is not None)
            rows = [(*turn, changes[turn]) for turn in sorted(changes)]
            await connection.execute(*SQL.mark_aggregated_turns.bulk(rows))
        return written

    async def recount(self, after: int, quiet: float) -> int:
        """Aggregate the turns that are due.

        A turn is due after `after` changes to its verdicts, or `quiet` seconds after the last change. Turns that
        another process is aggregating, and turns whose verdicts are being written, are left to the next call.

        Returns:
            The number of aggregated turns, at most 500. Call this method until it returns 0.
        """
        async with self._pool.acquire() as connection, connection.transaction():
            due = await connection.fetch(*SQL.due_aggregated_turns(after=after, quiet=quiet, limit=_AT_ONCE))
            if not due:
                return 0
            turns = [TurnKey(*row) for row in due]
            verdicts, sums = (
                defaultdict[TurnKey, list[CountedVerdict]](list),
                defaultdict[TurnKey, list[Aggregate]](list),
            )
            for row in await connection.fetch(*SQL.verdicts_on_aggregated_turns.bulk(turns)):
                verdicts[TurnKey(*row[2:6])].append(CountedVerdict(*row))
            for row in await connection.fetch(*SQL.aggregates_of_turns.bulk(turns)):
                one = Aggregate(*row)
                sums[one.turn].append(one)
            changed = [one for turn in turns for one in sum_up(turn, verdicts[turn], sums[turn])]
            ordered = sorted(changed, key=lambda one: one.aggregate_id)  # avoids deadlocks
            await connection.execute(*SQL.upsert_aggregates.bulk(ordered))
            await connection.execute(*SQL.unmark_aggregated_turns.bulk(turns))
        return len(turns)

    async def unannounced(self, limit: int) -> list[Aggregate]:
        """Return at most `limit` aggregates whose latest revision has not been announced."""
        return [Aggregate(*row) for row in await self._pool.fetch(*SQL.unannounced_aggregates(limit=limit))]

    async def mark(self, aggregates: Iterable[Aggregate]) -> None:
        """Mark published aggregates as announced.

        If another process has stored a different revision in the meantime, the aggregate is marked as not announced, so
        that the stored revision is published again. Without this repetition, the last announcement in the topic might
        be the one of the older revision, and compaction would keep only that.
        """
        rows = [(one.aggregate_id, one.revision) for one in aggregates]
        await self._pool.execute(*SQL.mark_aggregates_announced.bulk(rows))
