"""Store of verdicts and their aggregates in the service's PostgreSQL. Each step of a batch takes one statement."""

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
    """Access to the tables `aggregated_verdicts`, `aggregated_turns` and `aggregates`, on the pool's search path."""

    def __init__(self, pool: Database) -> None:
        self._pool = pool

    async def take(self, verdicts: Sequence[CountedVerdict]) -> set[UUID]:
        """Store verdicts and mark the turns that they change. `verdicts` has at most one per record, sorted by id.

        Returns the ids that were written. A verdict is skipped if the stored revision is not lower.
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
        """Aggregate the turns with `after` changed verdicts, and the turns without a change for `quiet` seconds.

        Returns their number. A transaction covers at most 500 turns, so call this until it returns 0. Turns that
        another process is aggregating, and turns with verdicts that are being written, are left to the next call.
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
        """Return at most `limit` aggregates with a revision that is not announced."""
        return [Aggregate(*row) for row in await self._pool.fetch(*SQL.unannounced_aggregates(limit=limit))]

    async def mark(self, aggregates: Iterable[Aggregate]) -> None:
        """Mark aggregates as announced, except those with another stored revision.

        Such an aggregate is marked as not announced, even if its stored revision was published: the older one may have
        been published after it, and compaction would then keep the older one.
        """
        rows = [(one.aggregate_id, one.revision) for one in aggregates]
        await self._pool.execute(*SQL.mark_aggregates_announced.bulk(rows))
