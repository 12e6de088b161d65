"""Latency of the dashboard's pages over many feedbacks: minimum, median and 99th percentile of a few reads each.

    python -m benchmarks.report_pages [--records N] [--times N] [--folder FOLDER] [--html FOLDER]

One project, 60 agents of 5 versions and 3 models, 180 days, a quarter of the feedbacks people's, eight a conversation,
one conversation of 200 turns, a question and an answer with bundle, intent, strategy, language and channel for each
feedback, one reply for every four feedbacks. A machine's rejections have a correction type, a person's now and then a
tag. Twenty issues of each agent, of the newest 50,000 rejections. For the audit a second project with 50,000 answers,
five a conversation, a verdict of the machine on every fourth, 500 drawn and 250 reviewed. The pages are rendered by
the dashboard's routes, without network, and read with row level security. PostgreSQL is the embedded one, on this
machine; what else runs on it counts. A page is measured twice. Its latency is measured with three connections, because
a page sends independent statements at the same time. The first request on these connections is reported separately: it
prepares the statements. Its blocks and the processor time of the server and of PostgreSQL (Linux only) are measured
with one connection. Two million feedback records take 10 GB of disk; `--folder` keeps them for the next run. `--html`
writes the pages without stamps of reads, so that `diff -r` compares two versions of the code on the same records.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx
from starlette.types import ASGIApp

from benchmarks.report_rows import NOW, fill
from benchmarks.workload import Say
from contracts.scopes import ALL_SCOPES
from reporting.alerts.administration import AlertAdministration
from reporting.alerts.sending import AlertSender
from reporting.outbox.sending import CheckedHttp
from reporting.pages.routes import pages_router
from reporting.pages.visits import PageSources
from reporting.parts import SCHEMA
from servicekit.db.database import Database
from servicekit.db.pools import open_pool
from servicekit.db.row_security import tenant_in_sight
from servicekit.garbage_collection import tune_gc
from servicekit.web.application import add_routes, application, guarded
from servicekit.web.auth import Caller
from standalone.embedded.postgres import EmbeddedPostgres
from tests.support.hand_clock import FixedClock

Read = Callable[[], Awaitable[Any]]
_OF: Final = "at=acme/support"
PAGE_ADDRESSES: Final = {
    "overview, 30 days": f"/?{_OF}&period=30d",
    "overview, 7 days": f"/?{_OF}&period=7d",
    "overview, all time": f"/?{_OF}&period=all",
    "overview, agent": f"/?{_OF}&agent_id=agent-7",
    "overview, language": f"/?{_OF}&attributes.language=de",
    "overview, people": f"/?{_OF}&origin=user",
    "list": f"/dashboard/feedback?{_OF}",
    "list, all time": f"/dashboard/feedback?{_OF}&period=all",
    "list, rejected": f"/dashboard/feedback?{_OF}&reaction=not_ok",
    "list, language": f"/dashboard/feedback?{_OF}&attributes.language=ja",
    "list, strategy": f"/dashboard/feedback?{_OF}&strategy=strategy-11&period=all",
    "list, words": f"/dashboard/feedback?{_OF}&words=invoice+export&period=all",
    "list, rare words": f"/dashboard/feedback?{_OF}&words=order+49999&period=all",
    "list, issue": f"/dashboard/feedback?{_OF}&issue=141&period=all",
    "list, person": f"/dashboard/feedback?{_OF}&user_id=u7&period=all",
    "list, disputed": f"/dashboard/feedback?{_OF}&judged=ok",
    "overview of an agent": f"/?{_OF}&agent_id=agent-7",
    "overview of an agent, all time": f"/?{_OF}&agent_id=agent-7&period=all",
    "compare versions": f"/dashboard/compare?{_OF}&agent_id=agent-7&dimension=version&period=all",
    "compare languages": f"/dashboard/compare?{_OF}&dimension=attributes.language",
    "accuracy": f"/dashboard/accuracy?{_OF}",
    "accuracy, all time": f"/dashboard/accuracy?{_OF}&period=all",
    "accuracy with reviews": "/dashboard/accuracy?at=acme/audit&period=all",
    "review": f"/dashboard/review?{_OF}",
    "sessions": f"/dashboard/sessions?{_OF}",
    "alerts": f"/dashboard/alerts?{_OF}",
    "issues": f"/dashboard/issues?{_OF}",
    "issue": f"/dashboard/issue?{_OF}&issue=141",
    "conversation": f"/dashboard/conversation?{_OF}&id=c1000",
    "conversation of 200 turns": f"/dashboard/conversation?{_OF}&id=c0",
}
Figures = dict[str, dict[str, float]]
"""`best_ms`, `median_ms`, `p99_ms` and `first_ms`, the latency of the first request, by the name of the page.

A page also has the `blocks` per request, and the least and the median processor time of the server and of PostgreSQL:
`server_ms`, `server_median_ms`, `postgres_ms` and `postgres_median_ms`.
"""
_LATENCIES: Final = 5
_PREPARING: Final = 4
"""Number of unmeasured requests after which each connection has prepared the page's statements."""
_STAMP: Final = re.compile(r"data-stamp=\S*")


async def timed(read: Read, times: int) -> dict[str, float]:
    took = []
    for _ in range(times):
        began = time.perf_counter()
        await read()
        took.append(1_000 * (time.perf_counter() - began))
    took.sort()
    p99 = took[math.ceil(0.99 * len(took)) - 1]
    return {"best_ms": round(took[0], 1), "median_ms": round(median(took), 1), "p99_ms": round(p99, 1)}


class _EveryToken:
    """Authenticator whose callers may do everything in the tenant."""

    async def authenticate(self, token: str) -> Caller | None:
        return Caller("someone", "acme", scopes=ALL_SCOPES)


def _pages(reads: Database, pool: Database) -> ASGIApp:
    """Return an app with the dashboard's pages, for a caller who may do everything."""

    async def ready() -> None:
        return None

    clock = FixedClock(NOW)
    administration = AlertAdministration(reads, pool, AlertSender(pool, CheckedHttp(), clock), clock)
    app = application(ready)
    add_routes(app, [pages_router(PageSources(reads, reads, clock, alerts=administration))])
    return guarded(app, _EveryToken())


def _client(app: ASGIApp) -> httpx.AsyncClient:
    headers = {"Authorization": "Bearer any"}
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://pages", headers=headers)


async def measure_pages(
    reads: Database, several: Database, pool: Database, times: int, html: Path | None = None
) -> Figures:
    """Measure each page of the dashboard as its route renders it, and count the blocks that PostgreSQL reads for it.

    Latency is measured with _LATENCIES times as many requests, because rare delays show only in many reads.
    `reads` has one connection, `several` has the connections with which latency is measured. The pages are written to
    the folder `html` if it is given.
    """
    figures: Figures = {}
    tenant_in_sight.set("acme")
    async with _client(_pages(reads, pool)) as client, _client(_pages(several, pool)) as user:
        backend = int(await reads.fetchval("select pg_backend_pid()"))
        spent: dict[str, list[float]] = defaultdict(list)

        async def get(path: str) -> str:
            server, postgres = time.thread_time(), _processor_ms(backend)
            response = await client.get(path)
            if response.status_code != 200:
                raise RuntimeError(f"{path}: {response.status_code} {response.text[:300]}")
            spent["server"].append(1_000 * (time.thread_time() - server))
            spent["postgres"].append(_processor_ms(backend) - postgres)
            return response.text

        for name, path in PAGE_ADDRESSES.items():
            text = await get(path)
            if html is not None:
                html.mkdir(parents=True, exist_ok=True)
                (html / f"{name.replace(', ', '-').replace(' ', '-')}.html").write_text(_STAMP.sub("", text))
            spent.clear()
            before = await _blocks(reads, pool)
            await timed(partial(get, path), times)
            blocks = (await _blocks(reads, pool) - before) // times
            first = await timed(partial(user.get, path), 1)
            await timed(partial(user.get, path), _PREPARING)
            took = await timed(partial(user.get, path), _LATENCIES * times)
            took |= {"first_ms": first["best_ms"], "blocks": blocks}
            for who, each in spent.items():
                took |= {f"{who}_ms": round(min(each), 1), f"{who}_median_ms": round(median(each), 1)}
            figures[name] = took
    return figures


def _processor_ms(process: int) -> float:
    """Return the processor time that a process of one thread has used, in milliseconds; 0 except on Linux."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1_000_000
    except OSError:
        return 0.0


async def _blocks(reads: Database, pool: Database) -> int:
    """Return the number of blocks that the database has read, from its cache or from the file system."""
    for each in (reads, pool):  # each has one connection
        await each.execute("select pg_stat_force_next_flush()")
    return int(
        await pool.fetchval("select blks_hit + blks_read from pg_stat_database where datname = current_database()")
    )


async def report_pages(
    records: int, times: int, say: Say, folder: Path | None = None, html: Path | None = None
) -> Figures:
    """Fill a PostgreSQL with `records` feedback records, and read every page at least `times` times.

    A `folder` keeps the rows; one that has rows is not filled again. The pages are written to the folder `html`.
    """
    with nullcontext(folder) if folder else TemporaryDirectory() as chosen:
        kept = Path(chosen)
        kept.mkdir(parents=True, exist_ok=True)
        kept.chmod(0o755)
        async with EmbeddedPostgres(kept / "data") as server:
            pool = await open_pool(server.url, "reporting", SCHEMA, size=1, plan="custom")
            reads, several = [
                await open_pool(server.url, "reporting", SCHEMA, size=size, tenants_apart=True, plan="custom")
                for size in (1, 3)  # three by default
            ]
            try:
                if not await pool.fetchval("select exists (select from feedbacks)"):
                    await fill(pool, records, say)
                tune_gc()  # as every service does
                figures = await measure_pages(reads, several, pool, 4 * times, html)
                for name, took in figures.items():
                    say(_line(name, took))
                return figures
            finally:
                for one in (reads, several, pool):
                    await one.close()


def _line(name: str, took: dict[str, float]) -> str:
    milliseconds = "".join(f"{took[f'{kind}_ms']:9.1f} ms {kind}" for kind in ("best", "median", "p99", "first"))
    processor = "".join(
        f"{who:>10} {took[f'{who}_ms']:.1f} ms ({took[f'{who}_median_ms']:.1f})" for who in ("server", "postgres")
    )
    return f"{name:42}{milliseconds}{took['blocks']:11,} blocks{processor}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report_pages", description=__doc__)
    parser.add_argument("--records", type=int, default=250_000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="folder of the database, kept for the next run")
    parser.add_argument("--html", type=Path, help="folder to which the pages are written, for comparisons")
    options = parser.parse_args()

    def say(text: str) -> None:
        print(text, flush=True)

    asyncio.run(report_pages(options.records, options.times, say, options.folder, options.html))


if __name__ == "__main__":
    main()
