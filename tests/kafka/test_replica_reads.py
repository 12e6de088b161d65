"""Reports from a streaming replica: what is read from it, and what happens while it lags or is down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from contracts.topics import CHAT_MESSAGE, CHAT_REACTION
from servicekit.db.database import Database
from servicekit.db.row_security import tenant_in_sight
from servicekit.log.topics import partitions_by_topic
from servicekit.service import Service, ServiceContext
from standalone.embedded.backpressure import Backpressure
from standalone.embedded.memory_broker import MemoryBroker
from standalone.one_process.stack import Stack
from tests.support.databases import SCHEMAS, new_database
from tests.support.replicas import Pair, pair
from tests.support.running_stack import RunningStack
from tests.support.waits import PATIENCE_SECONDS

pytestmark = [pytest.mark.real, pytest.mark.timeout(400)]
SUMMARY = "/conversations/{tenant}/support/feedback/summary?start=2026-01-01T00:00:00Z&end=2026-01-02T00:00:00Z"
WATERMARK = "/conversations/acme/support/c1/feedback/latest"


@dataclass
class Reports:
    """All services on a primary, with reports from its replica."""

    running: RunningStack
    servers: Pair
    reads: Database

    async def react(self, tenant: str, n: int) -> None:
        """Let a person react to an answer in conversation `n`, and wait until the primary has it."""
        common = {"tenant": tenant, "project": "support", "conversationId": f"c{n}", "messageId": f"m{n}"}
        at = f"2026-01-01T10:00:{n:02}Z"
        answer = {"senderId": "bot", "senderType": "agent", "content": "It opens at nine.", "turnId": f"t{n}"}
        emoji = {"userId": "ann", "userType": "human", "emoji": "👍", "action": "added"}
        await self.running.publish(
            {**common, **answer, "topic": CHAT_MESSAGE.name, "eventId": f"a{n}", "occurredAt": at},
            {**common, **emoji, "topic": CHAT_REACTION.name, "eventId": f"r{n}", "occurredAt": at},
        )
        await self.running.quiet()

    async def total(self, tenant: str = "acme", token: str = "all") -> int:
        """Return the number of reactions that the summary counts."""
        async with self.running.client(token) as client:
            answer = await client.get(SUMMARY.format(tenant=tenant))
            assert answer.status_code == 200, answer.text
            found: int = answer.json()["totals"]["total"]
        return found

    async def latest(self) -> int:
        async with self.running.client() as client:
            answer = await client.post(WATERMARK, json={})
            assert answer.status_code == 200, answer.text
            return len(answer.json()["items"])


@asynccontextmanager
async def reports(patched: pytest.MonkeyPatch) -> AsyncIterator[Reports]:
    pools: list[Database] = []
    original = Service.open_reads

    async def noted(self: Service, *given: Any, **options: Any) -> Database:
        pool = await original(self, *given, **options)
        if options.get("replica"):
            pools.append(pool)
        return pool

    patched.setattr(Service, "open_reads", noted)
    async with pair() as servers, new_database(servers.primary.url, *SCHEMAS) as url:
        name = urlsplit(url).path
        patched.setenv("REPORTING_READ_DATABASE_URL", urlsplit(servers.replica.url)._replace(path=name).geturl())
        with MemoryBroker(partitions_by_topic()) as broker:
            stack = Stack(ServiceContext(broker.bootstrap), url)
            try:
                await stack.start()
                async with asyncio.timeout(60):
                    while await stack.not_ready():
                        await asyncio.sleep(0.05)
                yield Reports(RunningStack(stack, broker, url, Backpressure()), servers, pools[0])
            finally:
                await stack.stop()


async def test_reports_use_the_replica(monkeypatch: pytest.MonkeyPatch) -> None:
    async with reports(monkeypatch) as place:
        await place.react("acme", 1)
        await place.react("globex", 1)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await place.total() < 1 or await place.total("globex") < 1:
                await asyncio.sleep(0.05)

        # The replica reads one tenant at a time, as the primary does.
        for tenant in ("acme", "globex"):
            tenant_in_sight.set(tenant)
            assert await place.reads.fetchval("select pg_is_in_recovery()")
            rows = await place.reads.fetch("select distinct tenant from feedbacks union select tenant from messages")
            assert [row["tenant"] for row in rows] == [tenant]
        async with place.running.client("gus") as client:
            assert (await client.get(SUMMARY.format(tenant="acme"))).status_code == 403

        # A replica that lags is read for reports; what people act on is the primary's.
        await place.servers.pause_replay()
        await place.react("acme", 2)
        assert await place.total() == 1
        assert await place.latest() == 1
        async with place.running.client() as client:
            page = await client.get("/dashboard/conversation?at=acme/support&id=c2&period=all")
            assert page.status_code == 200
            assert "It opens at nine." in page.text
            front = await client.get("/?at=acme/support&period=all")
            assert front.status_code == 200

        # Without the replica, reports are refused, and everything else works.
        await place.servers.replica.stop()
        async with place.running.client() as client:
            assert (await client.get(SUMMARY.format(tenant="acme"))).status_code == 503
        assert await place.latest() == 1


async def test_a_watermark_of_a_replica_skips_no_open_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replica's snapshot does not name transactions that are open on the primary."""
    import asyncpg

    from reporting.turns.snapshots import snapshot_of

    async with reports(monkeypatch) as place:
        await place.react("acme", 1)
        tenant_in_sight.set("acme")
        connection = await asyncpg.connect(place.running.database_url, server_settings={"search_path": "reporting"})
        reads: Any = place.reads
        open_one = connection.transaction()
        await open_one.start()
        await connection.execute(
            "update reporting.feedbacks set written_by = pg_current_xact_id() where tenant = 'acme'"
        )
        await place.react("acme", 2)  # a later transaction, which commits first
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await place.total() < 2:
                await asyncio.sleep(0.05)
        async with reads.acquire() as reader:
            earlier = (await snapshot_of(reader)).partition("/")[2]
        unseen = """
            select exists (select from feedbacks where not pg_visible_in_snapshot(written_by, $1::text::pg_snapshot))
        """
        await open_one.commit()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await reads.fetchval(unseen, earlier):
                await asyncio.sleep(0.05)
        await connection.close()
