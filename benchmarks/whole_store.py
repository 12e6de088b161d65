"""Operations on all feedbacks: rebuilding the reports, exporting, marking turns for an artifact store.

    python -m benchmarks.whole_store [--feedbacks N] [--exported N]

People's verdicts, a quarter of them rejections and every tenth of those with a correction, eight turns a conversation,
a question and an answer each. The newest are exported. PostgreSQL is the embedded one, on this machine. Rebuild and
exports are processes of their own; their memory is the most that was resident, with Python and all that is imported.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

import asyncpg

from benchmarks.workload import scratch
from contracts.instants import DAY, SECOND
from feedback.model import Entry, Key, Payload, Record, Stamp
from feedback.store import Save
from feedback.store_choice import MIGRATIONS as STORE_MIGRATIONS
from feedback.store_postgres import PostgresStore
from reporting.egress.exports.cases import cases
from reporting.egress.exports.examples import Format
from reporting.egress.exports.files import as_jsonl, examples
from reporting.egress.mirror.store_setting import mark_more, set_store
from reporting.parts import MIGRATIONS
from reporting.queries.selection import Filters, Project, TimeSpan
from servicekit.db.pools import open_pool
from servicekit.garbage_collection import tune_gc
from standalone.embedded.postgres import EmbeddedPostgres

NOW: Final = 1_790_000_000_000_000
BEGIN: Final = NOW - 180 * DAY
"""Time of the first feedback record. Each second has one more."""
AT: Final = Project("acme", "support")
FORMATS: Final[tuple[Format, ...]] = ("kto", "dpo", "events")
_A_TURN: Final = 8
_MESSAGES: Final = """
insert into messages (tenant, project, conversation_id, message_id, turn_id, sender_type, sender_id, content,
    occurred_at, sequence, version, agent_id)
select 'acme', 'support', 'c' || i / 8, kind || i, 't' || i, case kind when 'q' then 'human' else 'agent' end,
    case kind when 'q' then 'u' || i % 5000 else 'agent-' || i % 60 end, repeat('Some words of a message. ', 8),
    $3 + i * 1000000, case kind when 'q' then 0 else 1 end,
    '\\x02'::bytea || int8send($3 + i * 1000000) || '\\x00000000000000000000000000000000', null
from generate_series($1::bigint, $2::bigint) i, unnest(array['q', 'a']) kind
"""


def _record(number: int) -> Record:
    key = Key(*AT, f"c{number // _A_TURN}", "api", f"u{number % 5_000}", "", f"t{number}")
    bad = number % 4 == 0
    said = Payload(
        turn_id=f"t{number}",
        agent_id=f"agent-{number % 60}",
        agent_message_id=f"a{number}",
        user_type="human",
        causation_id=f"e{number}",
        reaction="not_ok" if bad else "ok",
        value=-1.0 if bad else 1.0,
        text="Some words of what is thought of it.",
        correction="What should have been answered." if number % 40 == 0 else None,
    )
    stamp = Stamp(0, BEGIN + number * SECOND + 1, -1, False, f"e{number}", "")
    return Record(key, "explicit", "user", {"": Entry(stamp, True, said)}, revision=NOW // 1_000, created_revision=1)


async def fill(url: str, feedbacks: int) -> None:
    """Insert feedback records, and the messages that they are about."""
    pool = await open_pool(url, "feedback", STORE_MIGRATIONS)
    store = PostgresStore(pool)
    for first in range(0, feedbacks, 5_000):
        await store.save([Save(_record(number), 0) for number in range(first, min(first + 5_000, feedbacks))])
    await pool.close()
    pool = await open_pool(url, "reporting", MIGRATIONS)
    for first in range(0, feedbacks, 100_000):
        last = min(first + 100_000, feedbacks) - 1
        await pool.execute(_MESSAGES, first, last, BEGIN, timeout=3_600)
    await pool.execute("vacuum analyze messages", timeout=3_600)
    await pool.close()


def rebuilt(url: str) -> dict[str, float]:
    """Run `agent-feedback rebuild reporting` in a process. Return its duration and memory."""
    command = [sys.executable, "-m", "standalone", "rebuild", "reporting", "--store", url, "--database", url, "--json"]
    began, peak = time.perf_counter(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        time.sleep(0.05)
    if process.returncode:
        raise AssertionError("the rebuild failed")
    return {"seconds": round(time.perf_counter() - began, 1), "peak_mib": peak}


def exported(url: str, wanted: Format, span: TimeSpan) -> dict[str, float]:
    """Run one export in a separate process, streamed as by the service, but without HTTP."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
        return processes.submit(_exported, url, wanted, span).result()


def _exported(url: str, wanted: Format, span: TimeSpan) -> dict[str, float]:
    return asyncio.run(_export(url, wanted, span))


async def _export(url: str, wanted: Format, span: TimeSpan) -> dict[str, float]:
    pool = await open_pool(url, "reporting", MIGRATIONS, plan="custom")
    tune_gc()  # as every service does
    before = resident("self")
    began, rows, size = time.perf_counter(), 0, 0
    async for piece in as_jsonl(examples(cases(pool, AT, span, Filters(origins=("user",))), wanted)):
        rows += piece.count(b"\n")
        size += len(piece)
    seconds = time.perf_counter() - began
    await pool.close()
    return {
        "examples": rows,
        "mib": round(size / 2**20),
        "seconds": round(seconds, 1),
        "peak_mib": resident("self"),
        "before_mib": before,
    }


def resident(process: int | str) -> int:
    """Return a process's maximum resident memory so far, in MiB; 0 if it has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return round(int(found[1]) / 1_024) if found else 0


async def marked(pool: asyncpg.Pool) -> dict[str, float]:
    """Measure the first start with an artifact store, until all turns are marked."""
    began = time.perf_counter()
    await set_store(pool, "file:///nowhere", turn_logs=True)
    adopted = time.perf_counter()
    longest = 0.0
    async with pool.acquire() as connection:
        more = True
        while more:
            step = time.perf_counter()
            more = await mark_more(connection)
            longest = max(longest, time.perf_counter() - step)
    return {
        "start_s": round(adopted - began, 3),
        "all_marked_s": round(time.perf_counter() - adopted, 1),
        "longest_step_s": round(longest, 3),
        "turns": await pool.fetchval("select count(*) from stale_turns"),
    }


async def measure(feedbacks: int, newest: int, say: Callable[[str], None]) -> None:
    with scratch() as folder:
        async with EmbeddedPostgres(folder / "data") as server:
            began = time.perf_counter()
            await fill(server.url, feedbacks)
            say(f"{feedbacks:,} feedbacks in the store after {time.perf_counter() - began:.0f} s")
            say(f"rebuild: {await asyncio.to_thread(rebuilt, server.url)}")
            pool = await open_pool(server.url, "reporting", MIGRATIONS)
            await pool.execute("vacuum analyze feedbacks", timeout=3_600)
            span = TimeSpan(BEGIN + (feedbacks - newest) * SECOND, NOW)
            for wanted in FORMATS:
                say(f"export {wanted}: {await asyncio.to_thread(exported, server.url, wanted, span)}")
            say(f"marking: {await marked(pool)}")
            await pool.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.whole_store", description=__doc__)
    parser.add_argument("--feedbacks", type=int, default=1_000_000)
    parser.add_argument("--exported", type=int, default=200_000)
    asked = parser.parse_args()
    asyncio.run(measure(asked.feedbacks, asked.exported, lambda text: print(text, flush=True)))


if __name__ == "__main__":
    main()
