"""Connection pool for a service's schema, with batched lookups and measured connections, and the erasure ledger."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from time import perf_counter
from types import TracebackType
from typing import Any, TypeVar

import asyncpg

from contracts.erasure import ErasedAt, Erasure, Person, TrainingChoice
from servicekit import metrics
from servicekit.clock import StageTimes, current_times
from servicekit.db.row_security import tenant_in_sight
from servicekit.db.sql import SQL
from servicekit.db.statements import ERASED_SQLSTATE, Statement
from servicekit.error_kinds import unavailable_as
from servicekit.log.handler import PersonErased, guard_values, guarded
from servicekit.request_batcher import RequestBatcher


class ConnectionUsage:
    """Counter of the database connections that a task holds or waits for.

    Use it as a context manager to also count a connection that another task uses on this task's behalf.
    """

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> None:
        self.count += 1

    def __exit__(self, *_: object) -> None:
        self.count -= 1


connection_usage: ContextVar[ConnectionUsage] = ContextVar(
    "connection_usage",
    default=ConnectionUsage(),  # noqa: B039 # shared by all tasks that are not measured
)
"""Connection usage of the current task and the tasks that it starts."""


class MeasuredConnection:
    """Async context manager for a connection of a pool.

    It measures how long the caller waits for the connection. The time for which a batch holds the connection counts
    towards the batch's `database` stage.
    """

    __slots__ = ("_context", "_pool", "_start", "_times", "_usage")

    def __init__(self, context: Any, pool: str) -> None:
        self._context = context
        self._pool = pool
        self._usage = connection_usage.get()
        self._times: StageTimes | None = None

    async def __aenter__(self) -> Any:
        self._usage.count += 1
        requested = perf_counter()
        try:
            connection = await self._context.__aenter__()
        except BaseException:
            self._usage.count -= 1
            raise
        self._start = perf_counter()
        self._times = current_times.get()
        metrics.POOL_WAIT.labels(self._pool).observe(self._start - requested)
        return connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._context.__aexit__(kind, error, trace)
        finally:
            self._usage.count -= 1
            if self._times is not None:
                end = perf_counter()
                self._times.add("database", self._start, end, end - self._start)


class ErasureLedger:
    """Table of erased people with the time of each person's latest erasure."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def note(self, erasures: Collection[Erasure]) -> set[Person]:
        """Write erasures to the ledger, and return the people whose entries changed.

        An entry that already has a later erasure stays unchanged.

        Args:
            erasures: The erasures, at most one per person.
        """
        rows = sorted((*erasure.person, erasure.request_id, erasure.erased_at) for erasure in erasures)
        if not rows:
            return set()
        written = await self._pool.fetch(*SQL.note_erasures.bulk(rows))
        return {Person(row["tenant"], row["user_id"]) for row in written}

    async def note_choices(self, choices: Collection[TrainingChoice]) -> set[Person]:
        """Write choices about training to the table `training_choices`, and return the people whose choices changed.

        A stored choice that is later stays unchanged.

        Args:
            choices: The choices, at most one per person.
        """
        rows = [(*choice.person, *choice[1:]) for choice in sorted(choices)]
        return {Person(*row) for row in await self._pool.fetch(*SQL.note_training_choices.bulk(rows))}

    async def erased_at(self, people: Collection[Person]) -> ErasedAt:
        """Return the erasure time of each person in microseconds, omitting people who are not in the ledger."""
        if not people:
            return {}
        rows = await self._pool.fetch(*SQL.erased_at.bulk([*people]))
        return {Person(row["tenant"], row["user_id"]): row["erased_at"] for row in rows}

    @contextmanager
    def guard(self, people: Collection[Person]) -> Iterator[None]:
        """Make writes in this block fail if one of `people` is in the ledger.

        A failed write ends the block without an exception.
        """
        with suppress(PersonErased), guarded(people):
            yield


Question = TypeVar("Question")
Reply = TypeVar("Reply")


class Database(asyncpg.Pool):
    """Connection pool for the schema of a service, which reports waits for connections in metrics under `name`."""

    __slots__ = ("_name",)

    def __init__(self, url: str, *, name: str, **options: Any) -> None:
        defaults = {"max_queries": 50_000, "max_inactive_connection_lifetime": 300.0, "loop": None}
        classes = {"connection_class": asyncpg.Connection, "record_class": asyncpg.Record}
        super().__init__(url, **defaults | classes | options)
        self._name = name

    def acquire(self, *, timeout: float | None = None) -> Any:
        """Return an async context manager for a connection. asyncpg's pool methods use it, too."""
        return MeasuredConnection(super().acquire(timeout=timeout), self._name)

    @property
    def ledger(self) -> ErasureLedger:
        """Ledger of the people whose data was erased from this schema."""
        return ErasureLedger(self)

    @staticmethod
    async def call(
        pool: asyncpg.Pool, function: Statement, rows: Sequence[Sequence[Any]], **values: Any
    ) -> list[asyncpg.Record]:
        """Call a PL/pgSQL function in its own transaction and return its result.

        Args:
            function: The statement that calls the function.
            rows: The rows to pass to the function (see `Statement.bulk`).
            values: The function's other arguments.

        Raises:
            PersonErased: If the function is guarded and a guarded person is in the erasure ledger (`ErasingHandler`).
        """
        guard = guard_values() if "guarded_user" in function.values else {}
        try:
            return await pool.fetch(*function.bulk(rows, **values, **guard))
        except asyncpg.PostgresError as error:
            if error.sqlstate == ERASED_SQLSTATE:
                raise PersonErased from None
            raise

    def batched(
        self, ask: Callable[[Sequence[Question]], Awaitable[Sequence[Reply]]], what: str = "the database"
    ) -> Callable[[Question], Awaitable[Reply]]:
        """Return a function that answers a single question and batches concurrent calls.

        Questions for different tenants never share a batch, because row-level security applies to the whole batch. A
        waiting call counts towards the `connection_usage` of the calling task, like a connection.

        Args:
            ask: The lookup for a batch of questions. It returns one reply per question, in the same order.
            what: The name of the dependency in error messages. Transient errors are raised as Unavailable with this
                name.
        """

        async def ask_by_tenant(questions: Sequence[tuple[str, Question]]) -> Sequence[Reply]:
            replies: dict[int, Reply] = {}
            for tenant in {tenant for tenant, _ in questions}:
                tenant_in_sight.set(tenant)
                places = [index for index, question in enumerate(questions) if question[0] == tenant]
                answers = await ask([questions[index][1] for index in places])
                replies |= zip(places, answers, strict=True)
            return [replies[index] for index in range(len(questions))]

        batcher = RequestBatcher(ask_by_tenant)

        async def look_up(question: Question) -> Reply:
            with connection_usage.get(), unavailable_as(what):
                return await batcher((tenant_in_sight.get(), question))

        return look_up
