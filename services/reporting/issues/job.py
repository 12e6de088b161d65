"""Job that keeps issues up to date. It assigns changed rejections immediately and groups turns daily."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import asyncpg
import structlog

from contracts.instants import DAY
from reporting.issues.store import AgentScope
from reporting.sql import SQL
from servicekit import Clock, StartError

if TYPE_CHECKING:
    from detector.encoders.embedder import Embedder
    from reporting.issues.worker import IssueWorker

_ENOUGH: Final = 20
"""Number of turns without an issue at which an agent's turns are grouped before the next day."""
_FEW: Final = 5
"""Lower threshold for an agent with few turns."""
_SHARE: Final = 10
"""Between the two thresholds, grouping is due if one in this many turns has no issue."""
_PACKAGES: Final = ("numpy", "sklearn", "wordllama")
ISSUE_WORK: Final = "reporting.issues.job:open_work"
log = structlog.get_logger(part="reporting")


class IssueJob:
    """Job that keeps the issues of all projects up to date. Call `catch_up` repeatedly.

    The packages of the extra `issues` and the sentence encoder are loaded only when there is work. This takes seconds,
    so it is done in a thread to keep the event loop free.

    Args:
        load: Loads the sentence encoder.
    """

    def __init__(self, pool: asyncpg.Pool, clock: Clock, load: Callable[[], Embedder]) -> None:
        self._pool = pool
        self._clock = clock
        self._load = load
        self._worker: IssueWorker | None = None
        self._seeded = False

    async def catch_up(self) -> int:
        """Assign all changed rejections, and group the turns of each agent that is due.

        Returns:
            The number of changed turns. It is 0 if another process holds the lock or the extra `issues` is not
            installed.

        Raises:
            StartError: If the encoder is not on this machine.
        """
        async with self._locked() as is_locked:
            return await self.work() if is_locked else 0

    async def tidy(self) -> bool:
        """Do the work that needs no encoder.

        Returns:
            True if there is work left for `catch_up`. If another process holds the lock, this is False.
        """
        async with self._locked() as is_locked:
            if not is_locked:
                return False
            return await self._prepare()

    async def work(self) -> int:
        """Do the work of `catch_up`. The caller must hold the lock."""
        return await self._place_and_group() if await self._prepare() else 0

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[bool]:
        """Hold the issue lock. Yields False if another process holds it."""
        async with self._pool.acquire() as connection:
            if not await connection.fetchval(*SQL.lock_issues()):
                yield False
                return
            try:
                yield True
            finally:
                await connection.execute(*SQL.unlock_issues())

    async def _prepare(self) -> bool:
        """Do the work that needs no encoder. Returns True if changed turns or due agents are left."""
        if not is_available():
            # `seed_rejection_changes` finds these changes again after the extra is installed.
            await self._pool.execute(*SQL.drop_rejection_changes())
            return False
        if not self._seeded:
            await self._pool.execute(*SQL.seed_rejection_changes())
            self._seeded = True
        return await self._pool.fetchval(*SQL.has_changed_turns()) or bool(await self._due_agents())

    async def _due_agents(self) -> list[AgentScope]:
        """Return the agents whose turns should be grouped."""
        now = self._clock.now()
        return [
            AgentScope(row["tenant"], row["project"], row["agent_id"])
            for row in await self._pool.fetch(*SQL.waiting_agents())
            if is_due(row["waiting"], row["left_waiting"], row["placed"], row["grouped_at"], now)
        ]

    async def _place_and_group(self) -> int:
        worker = self._worker
        if worker is None:
            worker = await asyncio.to_thread(self._loaded)
        changed = 0
        while done := await worker.place_changed():
            changed += done
        for agent in await self._due_agents():
            await worker.group(agent)
        await worker.describe_changed()
        return changed

    def _loaded(self) -> IssueWorker:
        from reporting.issues.worker import IssueWorker

        self._worker = IssueWorker(self._pool, self._clock, self._load())
        return self._worker


def is_available() -> bool:
    """Return True if the packages of the extra `issues` are installed."""
    return all(find_spec(name) is not None for name in _PACKAGES)


def is_due(waiting: int, left_waiting: int, placed: int, grouped_at: int | None, now: int) -> bool:
    """Return True if the turns of an agent should be grouped again.

    Grouping is due on a new UTC day, or earlier if many turns have no issue yet. An agent with few turns has a lower
    threshold, because grouping them is cheap.

    Args:
        waiting: Number of turns without an issue.
        left_waiting: Number of turns without an issue after the last grouping.
        placed: Number of turns with an issue.
        grouped_at: Time of the last grouping in microseconds, or None.
        now: The current time in microseconds.
    """
    enough = min(_ENOUGH, max(_FEW, (waiting + placed) // _SHARE))
    if waiting >= max(enough, 2 * left_waiting):
        return True
    return grouped_at is not None and now // DAY > grouped_at // DAY


def issue_encoder(choice: str) -> Embedder:
    """Load the chosen sentence encoder, or word vectors if none is chosen.

    Raises:
        StartError: If the encoder is not on this machine.
    """
    from detector.encoders.choice import sentence_encoder
    from detector.encoders.embedder import WordLlamaEmbedder
    from detector.encoders.minilm_files import ModelMissing

    try:
        return sentence_encoder(choice, lambda text: log.info("encoder", text=text)) or WordLlamaEmbedder()
    except ModelMissing as error:
        raise StartError(str(error)) from None


def open_work(pool: asyncpg.Pool, clock: Clock, sentence_encoder: str) -> Callable[..., Awaitable[int]]:
    """Return the function that a child process of the service calls.

    Its argument `is_locked` is True if the caller holds the issue lock, and its result is that of `IssueJob.catch_up`.
    """
    job = IssueJob(pool, clock, partial(issue_encoder, sentence_encoder))

    async def run(*, is_locked: bool) -> int:
        return await (job.work() if is_locked else job.catch_up())

    return run
