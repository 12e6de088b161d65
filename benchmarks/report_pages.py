"""How long the search, the overview and calibration take over many feedbacks: best and median of a few reads each.

    python -m benchmarks.report_pages [--feedbacks N] [--times N]

One project, 60 agents, 180 days, a quarter of the feedbacks people's, no messages. PostgreSQL is the embedded one, on
this machine; what else runs on it counts.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

import asyncpg

from contracts.instants import DAY
from reporting.main import MIGRATIONS
from reporting.pages.overview import overview
from reporting.pages.view import View
from reporting.queries.breakdown import breakdown
from reporting.queries.calibration import calibration
from reporting.queries.search import found
from reporting.selection import Filters, Project, Span
from servicekit.database import open_pool
from standalone.embedded.postgres import EmbeddedPostgres

NOW: Final = 1_790_000_000_000_000
AT: Final = Project("acme", "support")
_FILL: Final = """
insert into feedbacks (feedback_id, revision, recorded_at, slot, tenant, project, conversation_id, turn_id, user_id,
    user_type, agent_id, origin, feedback_type, source, reaction, value, confidence, text, tags, occurred_at, rn,
    agent_version, model)
select id, 1, $2, case when i % 4 = 0 then gen_random_uuid() else id end, 'acme', 'support', 'c' || i / 8, 't' || i,
    'u' || i % 5000, 'human', 'agent-' || i % 60, case when i % 4 = 0 then 'user' else 'machine' end,
    case when i % 4 = 0 then 'explicit' else 'inferred' end, 'chat',
    (array['ok', 'ok', 'not_ok', 'neutral'])[1 + (i * 7919 % 4)::int], 0.5, 0.7 + 0.3 * random(),
    'no that is wrong ' || i, case when i % 40 = 0 then array['wrong'] else '{}' end, $2 - i * 180 * $3::bigint / $1,
    'rn' || i, 'v' || i * 5 / $1, 'm' || i % 3
from (select i::bigint, gen_random_uuid() as id from generate_series(1, $1::bigint) i) made
"""
SEARCHES: Final = {
    "no filter": Filters(),
    "agent": Filters(agent_id="agent-7"),
    "oldest version": Filters(agent_version="v4"),
    "model": Filters(model="m1"),
    "reaction": Filters(reaction="neutral"),
    "origin": Filters(origin="user"),
    "tag of 2.5 %": Filters(reason="wrong"),
    "tag of nobody": Filters(reason="none"),
    "person": Filters(user_id="u7"),
    "confidence": Filters(min_confidence=0.99),
    "text of all": Filters(text="wrong"),
    "text of nobody": Filters(text="zzzz"),
}


async def timed(name: str, read: Callable[[], Awaitable[Any]], times: int) -> None:
    took = []
    for _ in range(times):
        began = time.perf_counter()
        await read()
        took.append(1_000 * (time.perf_counter() - began))
    print(f"{name:32}{min(took):9.1f} ms best{median(took):9.1f} ms median", flush=True)


async def measure(pool: asyncpg.Pool, feedbacks: int, times: int) -> None:
    await pool.execute(_FILL, feedbacks, NOW, DAY, timeout=3_600)
    await pool.execute("vacuum analyze feedbacks", timeout=3_600)
    print(f"{feedbacks:,} feedbacks")
    whole, month = Span(0, NOW + 1), Span(NOW - 30 * DAY, NOW + 1)
    for name, filters in SEARCHES.items():
        await timed(f"search, {name}", lambda filters=filters: found(pool, AT, whole, filters, 50), times)  # type: ignore[misc]
    await timed("counts of 30 days", lambda: breakdown(pool, AT, month, Filters()), times)
    await timed("calibration of 30 days", lambda: calibration(pool, AT, month), times)
    for period in ("7d", "30d"):
        view = View.model_validate({"period": period})
        await timed(f"overview of {period}", lambda view=view: overview(pool, AT, view, NOW, _no_link), times)  # type: ignore[misc]


def _no_link(path: str, **_: Any) -> str:
    return path


async def run(feedbacks: int, times: int) -> None:
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        async with EmbeddedPostgres(Path(folder) / "data") as server:
            pool = await open_pool(server.url, "reporting", MIGRATIONS)
            try:
                await measure(pool, feedbacks, times)
            finally:
                await pool.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report_pages", description=__doc__)
    parser.add_argument("--feedbacks", type=int, default=250_000)
    parser.add_argument("--times", type=int, default=5)
    asked = parser.parse_args()
    asyncio.run(run(asked.feedbacks, asked.times))


if __name__ == "__main__":
    main()
