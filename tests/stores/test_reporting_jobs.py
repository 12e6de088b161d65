"""The periodic jobs of reporting share one pool, and none waits for a connection while it holds another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from contracts.erasure import Erasure, Person, confirmation
from contracts.instants import SECOND
from contracts.topics import ERASURE_CONFIRMED
from reporting.alerts.evaluation import AlertEvaluator
from reporting.alerts.sending import AlertSender
from reporting.figures.gauges import FeedbackMetrics
from reporting.issues.job import IssueJob
from reporting.mirror.mirror import ArtifactReplicator
from reporting.mirror.object_store import ObjectStore
from reporting.mirror.store_setting import set_store
from reporting.outbox.courier import Courier
from reporting.outbox.receipts import HeldReceipts
from reporting.outbox.sending import CheckedHttp
from reporting.outbox.store import Deliveries
from reporting.read_models.erasure import ReportingErasures
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.rollups import Rollups
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.db.pools import open_pool
from servicekit.log.records import Message, Written
from tests.support.databases import SCHEMAS, new_database
from tests.support.hand_clock import FixedClock
from tests.support.issue_turns import NOW, TopicEncoder, rejected_turns
from tests.support.reporting_events import START, batch
from tests.support.waits import PATIENCE_SECONDS

RULE: Final = {"name": "low", "kind": "satisfaction_below", "below": 0.8, "channels": []}


class Sent:
    """Producer that keeps what is sent."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    async def send(self, messages: Sequence[Message]) -> Sequence[Written]:
        self.messages += messages
        return []


async def test_all_jobs_end_on_a_pool_of_one_connection(postgres_url: str, tmp_path: Path) -> None:
    async with new_database(postgres_url, "reporting") as url:
        pool = await open_pool(url, "reporting", SCHEMAS["reporting"], size=1)
        try:
            clock, producer, store = FixedClock(NOW), Sent(), tmp_path.as_uri()
            receipts = HeldReceipts(pool, producer, clock)
            await set_store(pool, store, turn_logs=True)
            await pool.execute("insert into alert_rules values ('acme', 'support', 'low', $1)", json.dumps(RULE))
            await ProjectionHandler(PostgresReadModels(pool)).handle(batch(*rejected_turns(0, 45)))
            await ReportingErasures(pool).erase({Person("acme", "u1"): START + 1_000 * SECOND})
            confirmed = confirmation(Erasure(Person("acme", "u1"), "r1", START), "reporting", 1)
            await receipts.send([Message.of(ERASURE_CONFIRMED, confirmed)])
            issues = [IssueJob(pool, clock, TopicEncoder) for _ in range(2)]

            sender = AlertSender(pool, CheckedHttp(), clock)

            async def waiting() -> int:
                return 0

            async with asyncio.timeout(PATIENCE_SECONDS):
                await asyncio.gather(
                    issues[0].prepare(),
                    issues[1].catch_up(),
                    ArtifactReplicator(pool, ObjectStore(store), receipts, clock, turn_logs=True).catch_up(),
                    AlertEvaluator(pool, clock, waiting).evaluate(),
                    Courier(Deliveries(pool), (), sender.send, clock).deliver(),
                    FeedbackMetrics(pool, clock).update(),
                    Rollups(pool, clock).catch_up(),
                )
                assert await pool.fetchval("select count(*) from alerts") == 1
                assert await pool.fetchval("select count(*) from issues") == 3
                assert len(producer.messages) == 1
        finally:
            pool.terminate()
