"""Speed of `agent-feedback rejudge`: re-judged messages per second, on an embedded PostgreSQL.

    python -m benchmarks.rejudge [--events N] [--sentence-encoder NAME]

The index holds the packaged sample (or the recorded conversations), copied with fresh ids. The detector that judges
again has judged none of it before. What it announces is collected instead of written to Kafka. Milliseconds of
processor time are those of a message, ours and PostgreSQL's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from contextlib import AsyncExitStack
from typing import Any

import asyncpg

from benchmarks.effort import Effort
from benchmarks.handled import Collected, received
from benchmarks.workload import Workload, scratch, source_of
from contracts.topics import CHAT_REACTION
from inference.detector_setup import open_detector, open_judging
from inference.handlers import ConversationHandler
from inference.judging import Judging
from inference.parts import MIGRATIONS
from inference.rejudge import rejudge, what_would_change
from inference.rejudgements import Rejudgements
from inference.settings import InferenceSettings
from inference.store_postgres import PostgresConversationStore
from inference.turns.store_postgres import PostgresTurnIndex
from inference.turns.vectors import TurnVectors
from inference.turns.vectors_postgres import take_bytes
from servicekit.clock import SystemClock
from servicekit.db.pools import open_pool
from standalone.embedded.postgres import EmbeddedPostgres

_BATCH = 500


async def measure(url: str, pid: int | None, events: int, encoder: str, source: str) -> dict[str, Any]:
    """Index the events as the service does, then compare and re-judge them as the command does."""
    settings = InferenceSettings(database_url=url, sentence_encoder=encoder)
    pool = await open_pool(url, "inference", MIGRATIONS, size=3, init=take_bytes, plan="indexed")
    try:
        await _index(pool, settings, events, source)
        await pool.execute("analyze")
        async with pool.acquire() as connection, AsyncExitStack() as parts:
            rejudgements = Rejudgements(connection)

            async def judging() -> tuple[Judging, Collected]:
                sent = Collected()
                return await open_judging(
                    settings, pool, sent, await open_detector(settings, print), SystemClock(), parts
                ), sent

            total = await rejudgements.total(0)
            compared, _ = await judging()
            effort = Effort({"postgres": [pid]})
            await what_would_change(rejudgements, compared, 0)
            dry = effort.until_now(total)
            again, announced = await judging()
            run = await rejudgements.begin(0, again.version)
            effort = Effort({"postgres": [pid]})
            found = await rejudge(rejudgements, again, run)
            judged = effort.until_now(total)
            assert found.judged == total
            return {
                "messages": total,
                "sentence_encoder": encoder,
                "dry_run": _figures(dry),
                "rejudge": _figures(judged) | {"events_announced": len(announced.sent)},
                "load": round(os.getloadavg()[0], 1),
            }
    finally:
        await pool.close()


async def _index(pool: asyncpg.Pool, settings: InferenceSettings, events: int, source: str) -> None:
    detector = await open_detector(settings, print)
    turns = await PostgresTurnIndex.over(pool, TurnVectors(detector.embedder))
    handler = ConversationHandler(PostgresConversationStore(pool), turns, Collected(), detector)
    messages = Workload(source, events, seed=1, run="rejudge").messages()
    records = [received(message) for message in messages if message.topic != CHAT_REACTION.name]
    for first in range(0, len(records), _BATCH):
        await handler.handle(records[first : first + _BATCH])


def _figures(spent: dict[str, Any]) -> dict[str, Any]:
    cost = spent["cpu_ms_per_event"]
    return {
        "messages_per_s": spent["events_per_s"],
        "messages_per_processor_s": round(1_000 / sum(cost.values())),
        "processor_ms": cost,
        "others_share_of_cpu": spent["others_share_of_cpu"],
    }


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rejudge", description=__doc__)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--sentence-encoder", default="auto")
    asked = parser.parse_args()
    with scratch() as folder:
        source, name = source_of(folder)
        async with EmbeddedPostgres(folder / "postgres", print) as server:
            found = await measure(server.url, server.pid, asked.events, asked.sentence_encoder, str(source))
    print(json.dumps({"source": name, **found}))


if __name__ == "__main__":
    asyncio.run(main())
