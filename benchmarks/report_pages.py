"""Latency of reports and pages over many feedbacks: minimum, median and 99th percentile of a few reads each.

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

from benchmarks.effort import Effort
from benchmarks.report_rows import AT, AUDITED, LONG, NOW, Say, fill
from contracts.ids import derived_id, feedback_id
from contracts.instants import DAY
from contracts.scopes import ALL_SCOPES
from reporting.alerts.administration import AlertAdministration
from reporting.alerts.channels import AlertChannels
from reporting.alerts.sending import AlertSender
from reporting.feedback.search import found
from reporting.figures.calibration import calibration
from reporting.figures.ranking import ranking
from reporting.figures.reasons import reasons
from reporting.figures.satisfaction import summary
from reporting.http.reviews import figures
from reporting.model.projection import FeedbackRow, person_slot
from reporting.model.responses import Window
from reporting.model.selection import Filters, FoundType, Project, TimeSpan
from reporting.outbox.sending import CheckedHttp
from reporting.pages.overview import overview
from reporting.pages.queries.breakdown import breakdown
from reporting.pages.routes import pages_router
from reporting.pages.view import View
from reporting.parts import SCHEMA
from reporting.read_models.store_postgres import PostgresReadModels
from reporting.reviews.sample import pending
from reporting.turns.conversations import conversations_in_period
from reporting.turns.latest import LatestQuestion, latest
from reporting.turns.turns import turns_with_feedbacks
from servicekit.clock import FixedClock
from servicekit.db.database import Database
from servicekit.db.pools import open_pool
from servicekit.db.row_security import tenant_in_sight
from servicekit.garbage_collection import tune_gc
from servicekit.web.application import add_routes, application, guarded
from servicekit.web.auth import Caller
from standalone.embedded.postgres import EmbeddedPostgres

Read = Callable[[], Awaitable[Any]]
SEARCHES: Final = {
    "no filter": Filters(),
    "agent": Filters(agent_id="agent-7"),
    "oldest version": Filters(agent_version="v4"),
    "model": Filters(model="m1"),
    "reaction": Filters(reaction="neutral"),
    "origin": Filters(origins=("user",)),
    "tag of 2.5 %": Filters(tag="wrong"),
    "tag of nobody": Filters(tag="none"),
    "person": Filters(user_id="u7"),
    "confidence": Filters(min_confidence=0.99),
    "text of all": Filters(text="wrong"),
    "text of nobody": Filters(text="zzzz"),
}
_OF: Final = "at=acme/support"
PAGE_ADDRESSES: Final = {
    "overview, 30 days": f"/?{_OF}",
    "overview, 7 days": f"/?{_OF}&period=7d",
    "overview, all time": f"/?{_OF}&period=all",
    "overview, every agent": f"/?{_OF}&every=1",
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
    "agent": f"/dashboard/agent?{_OF}&agent_id=agent-7",
    "agent, all time": f"/dashboard/agent?{_OF}&agent_id=agent-7&period=all",
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
FOUND_TYPES: Final[dict[str, FoundType]] = {"replies": "implicit", "verdicts": "verdict"}


Figures = dict[str, dict[str, float]]
"""`best_ms`, `median_ms` and `p99_ms` by the name of the read.

A page also has `first_ms`, the latency of its first request, the `blocks` per request, and the least and the median
processor time of the server and of PostgreSQL: `server_ms`, `server_median_ms`, `postgres_ms` and `postgres_median_ms`.
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


async def measure(pool: Database, times: int) -> Figures:
    """Measure each page at least `times` times; fast pages more often, because rare delays show only in many reads."""
    whole, month = TimeSpan(0, NOW + 1), TimeSpan(NOW - 30 * DAY, NOW + 1)

    async def period() -> None:
        await conversations_in_period(
            pool, AT, month, Window(start="", end=""), include_turns=True, limit=100, cursor=None
        )

    async def turns() -> None:
        async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
            await turns_with_feedbacks(connection, LONG, None, 0, 500, None)

    async def newest() -> None:
        async with pool.acquire() as connection:
            await latest(connection, LONG, LatestQuestion([f"t{turn}" for turn in range(200)]))

    def searched(filters: Filters) -> Read:
        return lambda: found(pool, AT, whole, filters, 50)

    def seen(period: str) -> Read:
        return lambda: overview(
            pool, AT, (view := View.model_validate({"period": period})), view.span(NOW, 0), _no_link
        )

    reads: dict[str, tuple[Read, int]] = {
        "period page of 100, with turns": (period, 20 * times),
        "turns-with-feedbacks, 200 turns": (turns, 20 * times),
        "latest of 200 turns": (newest, 20 * times),
        **{f"search, {name}": (searched(filters), 4 * times) for name, filters in SEARCHES.items()},
        **{
            f"search, {name}, {kind} only": (searched(filters.replace(feedback_type=wanted)), 4 * times)
            for name, filters in SEARCHES.items()
            for kind, wanted in FOUND_TYPES.items()
            if filters.has_replies
        },
        "counts of 30 days": (lambda: breakdown(pool, AT, month, Filters()), times),
        "summary of 30 days": (lambda: summary(pool, AT, month, "day", Filters()), times),
        "agents of 30 days": (lambda: ranking(pool, AT, month, 10, Filters()), times),
        "reasons of 30 days": (lambda: reasons(pool, AT, month, Filters()), times),
        "calibration of 30 days": (lambda: calibration(pool, AT, month), times),
        "audit of 50,000 answers": (lambda: figures(pool, AUDITED, whole), times),
        "audit queue of 250": (lambda: pending(pool, AUDITED, 0, 100), 4 * times),
        "overview of 7d": (seen("7d"), times),
        "overview of 30d": (seen("30d"), times),
    }
    return {name: await timed(read, count) for name, (read, count) in reads.items()}


class _EveryToken:
    """Authenticator whose callers may do everything in the tenant."""

    async def authenticate(self, token: str) -> Caller | None:
        return Caller("someone", "acme", scopes=ALL_SCOPES)


def _pages(reads: Database, pool: Database) -> ASGIApp:
    """Return an app with the dashboard's pages, for a caller who may do everything."""

    async def ready() -> None:
        return None

    clock = FixedClock(NOW)
    channels = AlertChannels(pool, clock)
    sender = AlertSender(channels, CheckedHttp(), clock)
    administration = AlertAdministration(reads, pool, channels, sender, clock)
    app = application(ready)
    add_routes(app, [pages_router(reads, clock, alert_administration=administration)])
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
            figures[f"page {name}"] = took
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


async def projection(pool: Database, postgres: int | None, events: int = 10_000, rounds: int = 8) -> dict[str, float]:
    """Measure the cost of replies, and of the triggers that record changed hours.

    With replies, every fifth event is a reply; otherwise replies are omitted. The result has the best rate of `rounds`
    in events per second. It also has the median rate with the triggers per second of CPU time, which includes ours and
    that of the process `postgres` with its children and background work.
    """
    store, person = PostgresReadModels(pool), Project("bench", "projection")
    took: dict[str, list[float]] = defaultdict(list)
    spent: list[float] = []
    for number, mode in enumerate(("triggers", "no triggers", "replies") * rounds):
        await pool.execute(f"alter table feedbacks {'disable' if mode == 'no triggers' else 'enable'} trigger user")
        rows = [_row(person, number * events + one) for one in range(events)]
        if mode == "replies":
            rows += [_reply(row) for row in rows[::4]]
        effort, began = Effort({"postgres": [postgres]}), time.perf_counter()
        chunk = 1_000 * len(rows) // events
        for first in range(0, len(rows), chunk):
            await store.apply([], sorted(rows[first : first + chunk]))
        took[mode].append(time.perf_counter() - began)
        if mode == "triggers":
            spent.append(sum(effort.until_now(events)["cpu_ms_per_event"].values()))
    return {
        "feedbacks_per_s": round(events / min(took["triggers"])),
        "without_triggers_per_s": round(events / min(took["no triggers"])),
        "with_replies_per_s": round((events + events // 4) / min(took["replies"])),
        "time_with_replies": round(min(took["replies"]) / min(took["triggers"]), 2),
        "feedbacks_per_cpu_s": round(1_000 / median(spent)),
    }


def _reply(row: FeedbackRow) -> FeedbackRow:
    event = derived_id(str(row.feedback_id))
    said: dict[str, Any] = {
        "feedback_id": event,
        "slot": event,
        "origin": "user",
        "feedback_type": "implicit",
        "reaction": None,
    }
    return row._replace(**said, value=0.4, source="chat", decided_by=None)


def _row(at: Project, number: int) -> FeedbackRow:
    conversation, turn, user = f"c{number // 8}", f"t{number}", f"u{number % 5_000}"
    event = feedback_id(*at, conversation, source="api", user_id=user, agent_id="", source_id=turn)
    person = number % 4 == 0
    return FeedbackRow(
        feedback_id=event,
        revision=1,
        recorded_at=NOW,
        slot=person_slot(*at, conversation, turn, user) if person else event,
        tenant=at.tenant,
        project=at.project,
        conversation_id=conversation,
        turn_id=turn,
        user_id=user,
        user_type="human",
        agent_id=f"agent-{number % 60}",
        agent_message_id=None,
        origin="user" if person else "machine",
        feedback_type="explicit" if person else "inferred",
        source="api" if person else "inference",
        reaction="ok",
        value=1.0,
        confidence=1.0,
        text="no that is wrong",
        tags=(),
        correction=None,
        emoji=None,
        correction_type=None,
        occurred_at=NOW - number * 3_600_000,  # a thousand an hour
        rn=f"rn{number}",
        track_id=None,
        bundle_id=None,
        agent_version=None,
        model=None,
        trace_id=None,
        intent=None,
        reviews=None,
        overruled_by=None,
        overruled_reaction=None,
        detector=None,
        decided_by=None if person else "rules",
    )


def _no_link(path: str, **_: Any) -> str:
    return path


async def report_pages(
    records: int, times: int, say: Say, folder: Path | None = None, html: Path | None = None
) -> dict[str, Any]:
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
                pages = await measure(pool, times) | await measure_pages(reads, several, pool, 4 * times, html)
                for name, took in pages.items():
                    say(_line(name, took))
            finally:
                for one in (reads, several, pool):
                    await one.close()
            pool = await open_pool(server.url, "reporting", SCHEMA, plan="indexed")  # as the service writes
            try:
                return {"pages": pages, "projection": await projection(pool, server.pid)}
            finally:
                await pool.close()


def _line(name: str, took: dict[str, float]) -> str:
    milliseconds = "".join(f"{took[kind]:9.1f} ms {kind[:-3]}" for kind in ("best_ms", "median_ms", "p99_ms"))
    if "blocks" not in took:
        return f"{name:42}{milliseconds}"
    processor = "".join(
        f"{who:>10} {took[f'{who}_ms']:.1f} ms ({took[f'{who}_median_ms']:.1f})" for who in ("server", "postgres")
    )
    milliseconds += f"{took['first_ms']:9.1f} ms first"
    return f"{name:42}{milliseconds}{took['blocks']:11,} blocks{processor}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report_pages", description=__doc__)
    parser.add_argument("--records", type=int, default=250_000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="folder of the database, kept for the next run")
    parser.add_argument("--html", type=Path, help="folder to which the pages are written, for comparisons")
    asked = parser.parse_args()
    measured = asyncio.run(
        report_pages(asked.records, asked.times, lambda text: print(text, flush=True), asked.folder, asked.html)
    )
    print(f"projection: {measured['projection']}")


if __name__ == "__main__":
    main()
