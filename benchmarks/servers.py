"""Servers that all runs of a benchmark share: one PostgreSQL with a database per run, and one Kafka."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from benchmarks.jobs import Job
from benchmarks.workload import Workload
from servicekit.log.topics import ensure_topics
from standalone.embedded.postgres import EmbeddedPostgres
from tests.support.local_kafka import LocalKafka, LocalKafkaError


@dataclass(frozen=True, slots=True)
class Servers:
    """Running servers. `kafka` is None if no Kafka can run here; `why` then has the reason."""

    postgres: EmbeddedPostgres
    kafka: LocalKafka | None
    why: str = ""

    async def job(self, workload: Workload, *, on_kafka: bool) -> Job:
        """Return a job with a new database, on Kafka or an in-process log. Databases of earlier runs are dropped."""
        kafka = self.kafka if on_kafka else None
        bootstrap = kafka.bootstrap if kafka else None
        url = await self._database(workload.run)
        return Job(workload, url, bootstrap, self.postgres.pid, kafka.pid if kafka else None)

    async def _database(self, run: str) -> str:
        name = f"bench_{run}"
        connection = await asyncpg.connect(self.postgres.url)
        try:
            # Otherwise PostgreSQL would vacuum and write the rows of earlier runs during this run.
            for (left,) in await connection.fetch(r"select datname from pg_database where datname like 'bench\_%'"):
                await connection.execute(f'drop database "{left}" with (force)')
            await connection.execute(f"create database {name}")
            await connection.execute("checkpoint")
        finally:
            await connection.close()
        return self.postgres.url.replace("/postgres?", f"/{name}?")


@asynccontextmanager
async def servers(folder: Path, say: Callable[[str], None], *, with_kafka: bool) -> AsyncIterator[Servers]:
    async with AsyncExitStack() as parts:
        say("Starting PostgreSQL ...")
        postgres = await parts.enter_async_context(EmbeddedPostgres(folder / "postgres", say))
        if not with_kafka:
            yield Servers(postgres, None, "not asked for")
            return
        say("Starting Kafka ...")
        try:
            kafka = await parts.enter_async_context(LocalKafka(folder / "kafka"))
        except LocalKafkaError as error:
            yield Servers(postgres, None, str(error))
            return
        await ensure_topics(kafka.bootstrap, say=say)
        yield Servers(postgres, kafka)
