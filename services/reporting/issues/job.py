"""Job that keeps issues up to date. It assigns changed rejections immediately and groups turns daily."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import asyncpg
import structlog

from contracts.instants import DAY
from detector.encoders import EncoderChoice
from reporting.issues.store import AgentScope
from reporting.sql import SQL
from servicekit.clock import Clock
from servicekit.errors import StartError

if TYPE_CHECKING:
    from detector.encoders.embedder import Embedder
    from reporting.issues.worker import IssueWorker
    from reporting.sql.connection import Connection

_ENOUGH: Final = 20
"""Number of turns without an issue at which an agent's turns are grouped before the next day."""
_FEW: Final = 5
"""Lower threshold for an agent with few turns."""
_SHARE: Final = 10
"""Between the two thresholds, grouping is due if one in this many turns has no issue."""
_PACKAGES: Final = ("numpy", "sklearn", "wordllama")
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
        self._encoder: Embedder | None = None
        self._seeded = False

    async def catch_up(self) -> int:
        """Assign all changed rejections, and group the turns of each agent that is due.

        Returns:
            The number of changed turns. It is 0 if another process holds the lock or the extra `issues` is not
            installed.

        Raises:
            StartError: If the encoder is not on this machine.
        """
        async with self._locked() as connection:
            if connection is None or not await self._prepare(connection):
                return 0
            return await self._place_and_group(connection)

    async def prepare(self) -> bool:
        """Do the work that needs no encoder.

        Returns:
            True if there is work left for `catch_up`. If another process holds the lock, this is False.
        """
        async with self._locked() as connection:
            return connection is not None and await self._prepare(connection)

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[Connection | None]:
        """Hold the issue lock, and yield its connection, or None if another process holds the lock.

        All work is done on this connection. If jobs waited for a second one, they could wait for each other.
        """
        async with self._pool.acquire() as connection:
            if not await connection.fetchval(*SQL.lock_issues()):
                yield None
                return
            try:
                yield connection
            finally:
                await connection.execute(*SQL.unlock_issues())

    async def _prepare(self, connection: Connection) -> bool:
        """Do the work that needs no encoder. Returns True if changed turns or due agents are left."""
        if not is_available():
            # `seed_rejection_changes` finds these changes again after the extra is installed.
            await connection.execute(*SQL.drop_rejection_changes())
            return False
        if not self._seeded:
            await connection.execute(*SQL.seed_rejection_changes())
            self._seeded = True
        return await connection.fetchval(*SQL.has_changed_turns()) or bool(await self._due_agents(connection))

    async def _due_agents(self, connection: Connection) -> list[AgentScope]:
        """Return the agents whose turns should be grouped."""
        now = self._clock.now()
        return [
            AgentScope(row["tenant"], row["project"], row["agent_id"])
            for row in await connection.fetch(*SQL.waiting_agents())
            if is_due(row["waiting"], row["left_waiting"], row["placed"], row["grouped_at"], now)
        ]

    async def _place_and_group(self, connection: Connection) -> int:
        worker = await asyncio.to_thread(self._worker, connection)
        changed = 0
        while done := await worker.place_changed():
            changed += done
        for agent in await self._due_agents(connection):
            await worker.group(agent)
        await worker.describe_changed()
        return changed

    def _worker(self, connection: Connection) -> IssueWorker:
        from reporting.issues.worker import IssueWorker

        if self._encoder is None:
            self._encoder = self._load()
        return IssueWorker(connection, self._clock, self._encoder)


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


def issue_encoder(choice: EncoderChoice) -> Embedder:
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
