"""Latency of reports over many feedbacks: minimum, median and 99th percentile of a few reads each.

    python -m benchmarks.report_pages [--feedbacks N] [--times N]

One project, 60 agents of 5 versions and 3 models, 180 days, a quarter of the feedbacks people's, eight a conversation,
one conversation of 200 turns, one message a conversation, one reply for every four feedbacks. A machine's rejections
have a correction type, a person's now and then a tag. For the audit a second project with 50,000 answers, five a
conversation, a verdict of the machine on every fourth, 500 drawn and 250 reviewed. PostgreSQL is the embedded one, on
this machine; what else runs on it counts.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.effort import Effort
from contracts.ids import derived_id, feedback_id
from contracts.instants import DAY
from reporting.api.audit.queries import pending
from reporting.api.audit.routes import figures
from reporting.api.queries.conversations import conversations_in_period
from reporting.api.queries.latest import LatestQuestion, latest
from reporting.api.queries.turns import turns_with_feedbacks
from reporting.dashboard.overview import overview
from reporting.dashboard.queries.breakdown import breakdown
from reporting.dashboard.view import View
from reporting.parts import MIGRATIONS
from reporting.queries.calibration import calibration
from reporting.queries.ranking import ranking
from reporting.queries.reasons import reasons
from reporting.queries.satisfaction import summary
from reporting.queries.search import found
from reporting.queries.selection import ConversationScope, Filters, FoundType, Project, TimeSpan
from reporting.read_models.projection import FeedbackRow, person_slot
from reporting.read_models.rollups import Rollups
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.clock import SystemClock
from servicekit.db.database import Database
from servicekit.db.pools import open_pool
from servicekit.garbage_collection import tune_gc
from standalone.embedded.postgres import EmbeddedPostgres

Say = Callable[[str], None]
Read = Callable[[], Awaitable[Any]]
NOW: Final = 1_790_000_000_000_000
AT: Final = Project("acme", "support")
DAYS: Final = 180
LONG: Final = ConversationScope(*AT, "c0")
"""A conversation of 200 turns."""
_CHUNK: Final = 100_000
# Feedback i was given i steps before now.
_FILL: Final = """
insert into feedbacks (feedback_id, revision, recorded_at, slot, tenant, project, conversation_id, turn_id, user_id,
    user_type, agent_id, origin, feedback_type, source, reaction, value, confidence, text, tags, correction_type,
    occurred_at, rn, agent_version, model)
select id, 1, $2, case when person then gen_random_uuid() else id end, 'acme', 'support',
    case when i <= 400 then 'c0' else 'c' || i / 8 end, 't' || case when i <= 400 then i % 200 else i end,
    'u' || i % 5000, 'human', 'agent-' || i % 60, case when person then 'user' else 'machine' end,
    case when person then 'explicit' else 'inferred' end, 'chat', reaction, 0.5,
    case when person then 1 else 0.7 + 0.3 * random() end, 'no that is wrong ' || i,
    case when person and i % 40 = 0 then array['wrong'] when person then '{}'
        else array['en.wrong', 'learned.reject'] end,
    case when not person and reaction = 'not_ok' then (array['explicit', 'rephrased', 'abandonment'])[1 + i % 3] end,
    $2 - i * ($3::bigint / $1), 'rn' || i, 'v' || i * 5 / $1, 'm' || i % 3
from (
    select i::bigint, gen_random_uuid() as id, i % 4 = 0 as person,
           (array['ok', 'ok', 'not_ok', 'neutral'])[1 + (i * 7919 / 4 % 4)::int] as reaction
    from generate_series($4::bigint, $5::bigint) i
) made
"""
_REPLIES: Final = """
insert into replies (feedback_id, revision, recorded_at, slot, tenant, project, conversation_id, turn_id, user_id,
    user_type, agent_id, origin, feedback_type, source, value, confidence, text, tags, occurred_at, rn,
    agent_version, model)
select id, 1, $2, id, 'acme', 'support', case when i <= 400 then 'c0' else 'c' || i / 8 end,
    't' || case when i <= 400 then i % 200 else i end, 'u' || i % 5000, 'human', 'agent-' || i % 60, 'user', 'implicit',
    'chat', 0.4, 1, 'and that is wrong ' || i, '{}', $2 - i * ($3::bigint / $1) - 1, 'rn' || i, 'v' || i * 5 / $1,
    'm' || i % 3
from (select i::bigint, gen_random_uuid() as id from generate_series(1, $1::bigint, 4) i) made
"""
_MESSAGES: Final = """
insert into messages (tenant, project, conversation_id, message_id, turn_id, sender_type, sender_id, content,
    occurred_at, sequence, version, agent_id)
select 'acme', 'support', 'c' || i, 'q' || i, null, 'human', 'u' || i % 5000, 'How much is it?',
    $2::bigint - i * ($3::bigint / $1), -1,
    '\\x00'::bytea, null
from generate_series(1, $1::bigint / 8) i
union all
select 'acme', 'support', 'c0', kind || i, 't' || i, case kind when 'q' then 'human' else 'agent' end,
    case kind when 'q' then 'u1' else 'agent-1' end, repeat('Some words of an answer. ', 8),
    $2::bigint - 1000000000 + i * 1000000,
    case kind when 'q' then 0 else 1 end, '\\x00'::bytea, case kind when 'a' then 'agent-1' end
from generate_series(0, 199) i, unnest(array['q', 'a']) kind
"""
AUDITED: Final = Project("acme", "audit")
ANSWERS: Final = 50_000
_ANSWERS: Final = """
insert into messages (tenant, project, conversation_id, message_id, turn_id, sender_type, sender_id, content,
    occurred_at, sequence, version, agent_id)
select 'acme', 'audit', 'c' || i / 5, kind || i, case kind when 'a' then 't' || i end,
    case kind when 'q' then 'human' else 'agent' end,
    case kind when 'q' then 'u' || i % 5000 else 'agent-' || i % 60 end,
    repeat('Some words of a message. ', 8), $2::bigint - ($1 - i) * 50_000_000 + case kind when 'a' then 1 else 0 end,
    -1, '\\x00'::bytea, case kind when 'a' then 'agent-' || i % 60 end
from generate_series(1, $1::bigint) i, unnest(array['q', 'a']) kind
"""
_VERDICTS: Final = """
insert into feedbacks (feedback_id, revision, recorded_at, slot, tenant, project, conversation_id, turn_id, user_id,
    user_type, agent_id, origin, feedback_type, source, reaction, value, confidence, tags, occurred_at, rn)
select id, 1, $2, id, 'acme', 'audit', 'c' || i / 5, 't' || i, 'u' || i % 5000, 'human', 'agent-' || i % 60,
    origin, case origin when 'machine' then 'inferred' else 'explicit' end,
    case origin when 'machine' then 'inference' else 'review' end,
    case i % 8 when 0 then 'ok' else 'not_ok' end, 0.5, 1, '{}', $2::bigint - ($1 - i) * 50_000_000 + 2, 'rn' || i
from generate_series(4, $1::bigint, $3::bigint) i
cross join lateral (select md5($4::text || i)::uuid as id, $4::text as origin) made
"""
_DRAWS: Final = """
insert into audit_draws (tenant, project, conversation_id, turn_id, drawn_at)
select 'acme', 'audit', 'c' || i / 5, 't' || i, $2 from generate_series(4, $1::bigint, $1 / 500) i
"""
SEARCHES: Final = {
    "no filter": Filters(),
    "agent": Filters(agent_id="agent-7"),
    "oldest version": Filters(agent_version="v4"),
    "model": Filters(model="m1"),
    "reaction": Filters(reaction="neutral"),
    "origin": Filters(origins=("user",)),
    "tag of 2.5 %": Filters(reason="wrong"),
    "tag of nobody": Filters(reason="none"),
    "person": Filters(user_id="u7"),
    "confidence": Filters(min_confidence=0.99),
    "text of all": Filters(text="wrong"),
    "text of nobody": Filters(text="zzzz"),
}
FOUND_TYPES: Final[dict[str, FoundType]] = {"replies": "implicit", "verdicts": "verdict"}


Figures = dict[str, dict[str, float]]
"""`best_ms`, `median_ms` and `p99_ms`, by the name of the read."""


async def timed(read: Read, times: int) -> dict[str, float]:
    took = []
    for _ in range(times):
        began = time.perf_counter()
        await read()
        took.append(1_000 * (time.perf_counter() - began))
    took.sort()
    p99 = took[math.ceil(0.99 * len(took)) - 1]
    return {"best_ms": round(took[0], 1), "median_ms": round(median(took), 1), "p99_ms": round(p99, 1)}


async def fill(pool: Database, feedbacks: int, say: Say) -> None:
    """Insert the rows, newest first."""
    began = time.perf_counter()
    for first in range(1, feedbacks + 1, _CHUNK):
        last = min(first + _CHUNK - 1, feedbacks)
        await pool.execute(_FILL, feedbacks, NOW, DAYS * DAY, first, last, timeout=3_600)
    await pool.execute(_MESSAGES, feedbacks, NOW, DAYS * DAY, timeout=3_600)
    await pool.execute(_REPLIES, feedbacks, NOW, DAYS * DAY, timeout=3_600)
    await pool.execute(_ANSWERS, ANSWERS, NOW, timeout=3_600)
    await pool.execute(_VERDICTS, ANSWERS, NOW, 4, "machine", timeout=3_600)
    await pool.execute(_VERDICTS, ANSWERS, NOW, ANSWERS // 250, "reviewer", timeout=3_600)
    await pool.execute(_DRAWS, ANSWERS, NOW, timeout=3_600)
    await pool.execute("analyze feedbacks", timeout=3_600)
    say(f"{feedbacks:,} feedbacks written in {time.perf_counter() - began:.0f} s")
    began = time.perf_counter()
    hours = await Rollups(pool, SystemClock()).catch_up(quiet=0)
    say(f"{hours:,} hours rolled up in {time.perf_counter() - began:.0f} s")
    for table in ("feedbacks", "replies", "messages", "rollups", "stale_hours", "audit_draws"):
        await pool.execute(f"vacuum analyze {table}", timeout=3_600)


async def measure(pool: Database, times: int) -> Figures:
    """Measure each page at least `times` times; fast pages more often, because rare delays show only in many reads."""
    whole, month = TimeSpan(0, NOW + 1), TimeSpan(NOW - 30 * DAY, NOW + 1)

    async def period() -> None:
        await conversations_in_period(pool, AT, month, include_turns=True, limit=100, cursor=None)

    async def turns() -> None:
        async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
            await turns_with_feedbacks(connection, LONG, None, 0, 500, None)

    async def newest() -> None:
        async with pool.acquire() as connection:
            await latest(connection, LONG, LatestQuestion([f"t{turn}" for turn in range(200)]))

    def searched(filters: Filters) -> Read:
        return lambda: found(pool, AT, whole, filters, 50)

    def seen(period: str) -> Read:
        return lambda: overview(pool, AT, View.model_validate({"period": period}), NOW, _no_link)

    reads: dict[str, tuple[Read, int]] = {
        "period page of 100, with turns": (period, 20 * times),
        "turns-with-feedbacks, 200 turns": (turns, 20 * times),
        "latest of 200 turns": (newest, 20 * times),
        **{f"search, {name}": (searched(filters), 4 * times) for name, filters in SEARCHES.items()},
        **{
            f"search, {name}, {kind} only": (searched(replace(filters, feedback_type=wanted)), 4 * times)
            for name, filters in SEARCHES.items()
            for kind, wanted in FOUND_TYPES.items()
            if filters.has_non_verdicts
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


async def report_pages(feedbacks: int, times: int, say: Say) -> dict[str, Any]:
    """Fill a PostgreSQL with `feedbacks` records, and read every page at least `times` times."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        async with EmbeddedPostgres(Path(folder) / "data") as server:
            pool = await open_pool(server.url, "reporting", MIGRATIONS, plan="custom")
            try:
                await fill(pool, feedbacks, say)
                tune_gc()  # as every service does
                pages = await measure(pool, times)
            finally:
                await pool.close()
            pool = await open_pool(server.url, "reporting", MIGRATIONS, plan="indexed")  # as the service writes
            try:
                return {"pages": pages, "projection": await projection(pool, server.pid)}
            finally:
                await pool.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report_pages", description=__doc__)
    parser.add_argument("--feedbacks", type=int, default=250_000)
    parser.add_argument("--times", type=int, default=5)
    asked = parser.parse_args()
    measured = asyncio.run(report_pages(asked.feedbacks, asked.times, lambda text: print(text, flush=True)))
    for name, took in measured["pages"].items():
        print(f"{name:32}" + "".join(f"{ms:9.1f} ms {kind[:-3]}" for kind, ms in took.items()))
    print(f"projection: {measured['projection']}")


if __name__ == "__main__":
    main()
