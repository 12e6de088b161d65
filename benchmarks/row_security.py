"""Cost of row-level security for reads: each service's queries with and without it, alternating in one run.

    python -m benchmarks.row_security [--feedbacks N] [--rounds N] [--only PATTERN] [--json]

Two tenants with two projects each share the rows, `--feedbacks` of each kind. Of each pair the order alternates.
Figures are the processor's time in the connection's server process that a fifth of the rounds stay below: other work on
the machine counts least in it. PostgreSQL is the embedded one, on this machine.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

import uvloop

from benchmarks.row_security_lookups import FEEDBACK, INFERENCE, Ask, Asked
from contracts.instants import DAY
from reporting.api.queries.artifacts import KINDS, Search, artifacts
from reporting.api.queries.conversations import conversations_in_period
from reporting.api.queries.latest import LatestQuestion, latest, own_feedback
from reporting.api.queries.turns import turns_with_feedbacks
from reporting.parts import MIGRATIONS
from reporting.queries.calibration import calibration
from reporting.queries.ranking import ranking
from reporting.queries.satisfaction import summary
from reporting.queries.search import search
from reporting.queries.selection import ConversationScope, Filters, Project, TimeSpan
from servicekit.db.database import Database
from servicekit.db.pools import open_pool
from servicekit.db.row_security import tenant_in_sight
from standalone.embedded.postgres import EmbeddedPostgres

START: Final = 1_760_000_000_000_000
AT: Final = Project("acme", "support")
HERE: Final = ConversationScope(*AT, "c-7")
WINDOW: Final = TimeSpan(START, START + 90 * DAY)
NARROW: Final = TimeSpan(START + 80 * DAY, START + 81 * DAY)

_FILL: Final = (
    """
insert into feedbacks (feedback_id, revision, recorded_at, slot, tenant, project, conversation_id, turn_id, user_id,
    user_type, agent_id, origin, feedback_type, source, reaction, value, confidence, text, tags, occurred_at, rn)
select gen_random_uuid(), 1, t, gen_random_uuid(), (array['acme', 'globex'])[1 + n % 2],
    (array['support', 'sales'])[1 + n / 2 % 2], 'c-' || n / 4 % ($1 / 40), 't-' || n / 4 % 10, 'user-' || n % 5000,
    'human', 'agent-' || n % 7, (array['user', 'machine'])[1 + n % 5 / 4],
    (array['explicit', 'inferred'])[1 + n % 5 / 4],
    'api', (array['ok', 'not_ok', 'neutral'])[1 + n % 3], 1, 1, 'some words of feedback ' || n,
    case when n % 50 = 0 then array['wrong'] else '{}' end, t, 'rn-' || n
from generate_series(1, $1::int) n,
    lateral (select $2::bigint + (n::bigint * 7919 % $1) * (90 * 86400000000 / $1) as t) x
""",
    """
insert into messages (tenant, project, message_id, conversation_id, turn_id, sender_type, sender_id, agent_id, content,
    occurred_at, sequence, version)
select (array['acme', 'globex'])[1 + n % 2], (array['support', 'sales'])[1 + n / 2 % 2], 'm-' || n,
    'c-' || n / 4 % ($1 / 40), 't-' || n / 4 % 10, (array['human', 'agent'])[1 + n / 40 % 2], 'user-' || n % 5000,
    case when n / 40 % 2 = 1 then 'agent-' || n % 7 end, 'what was said, in some words more than a few ' || n,
    $2::bigint + n, 0, '\\x00'
from generate_series(1, $1::int) n
""",
)


def _on_connection(ask: Callable[[Any], Awaitable[Any]]) -> Ask:
    async def asked(pool: Database) -> Any:
        async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
            return await ask(connection)

    return asked


def _artifacts(conversation: str | None, user: str | None) -> Ask:
    wanted = Search(
        kinds=list(KINDS), conversation_id=conversation, user_id=user, all_tags=["origin:user"], since=START,
        moments=[], oldest_first=False, limit=100,
    )  # fmt: skip
    return lambda pool: artifacts(pool, AT, wanted, with_payload=True, store_url=None)


_QUESTIONS: Final[dict[str, Ask]] = {
    "own feedback": _on_connection(lambda one: own_feedback(one, HERE, "t-3", "user-7")),
    "latest": _on_connection(lambda one: latest(one, HERE, LatestQuestion())),
    "turns with feedbacks": _on_connection(lambda one: turns_with_feedbacks(one, HERE, None, 0)),
    "artifacts of a conversation": _artifacts("c-7", None),
    "artifacts of a person": _artifacts(None, "user-8"),
    "search, newest": lambda pool: search(pool, AT, WINDOW, Filters(), 50, None),
    "search, a reason": lambda pool: search(pool, AT, WINDOW, Filters(reason="wrong"), 50, None),
    "search, words": lambda pool: search(pool, AT, WINDOW, Filters(text="feedback 99"), 50, None),
    "period, a day": lambda pool: conversations_in_period(pool, AT, NARROW, include_turns=True, limit=100, cursor=None),
    "summary, a day": lambda pool: summary(pool, AT, NARROW, "hour", Filters()),
    "summary, 90 days": lambda pool: summary(pool, AT, WINDOW, "day", Filters()),
    "agents, 90 days": lambda pool: ranking(pool, AT, WINDOW, 10, Filters()),
    "calibration, 90 days": lambda pool: calibration(pool, AT, WINDOW),
}
REPORTING: Final = Asked("reporting", MIGRATIONS, _FILL, _QUESTIONS)


async def measure(folder: Path, feedbacks: int, rounds: int, only: str = "") -> dict[str, dict[str, float]]:
    """Return the server's CPU time in milliseconds without and with row-level security, and the ratio, by query."""
    found: dict[str, dict[str, float]] = {}
    tenant_in_sight.set(AT.tenant)
    async with EmbeddedPostgres(folder / "postgres") as postgres:
        for asked in (REPORTING, INFERENCE, FEEDBACK):
            questions = {name: ask for name, ask in asked.questions.items() if re.search(only, name)}
            if questions:
                plain = await open_pool(postgres.url, asked.schema, asked.migrations, size=1)
                await _fill(plain, asked, feedbacks)
                apart = await open_pool(postgres.url, asked.schema, asked.migrations, size=1, tenants_apart=True)
                for name, ask in questions.items():
                    found[name] = await _pair(ask, plain, apart, rounds)
                await plain.close()
                await apart.close()
    return found


async def _fill(pool: Database, asked: Asked, rows: int) -> None:
    async with pool.acquire() as connection:
        for statement in asked.fill:
            await connection.execute(statement, rows, START, timeout=600)
        await connection.execute("vacuum analyze", timeout=600)


async def _pair(ask: Ask, plain: Database, apart: Database, rounds: int) -> dict[str, float]:
    assert repr(await ask(plain)) == repr(await ask(apart)), "both must give the same"
    taken: dict[str, list[float]] = {"without": [], "with": []}
    servers = {"without": await _server(plain), "with": await _server(apart)}
    for number in range(rounds + 6):
        pairs = [("without", plain), ("with", apart)]
        for name, pool in pairs if number % 2 else reversed(pairs):
            began = _cpu(servers[name])
            await ask(pool)
            if number >= 6:  # by then both have the plans that they keep
                taken[name].append(_cpu(servers[name]) - began)
    without, having = (sorted(taken[name])[rounds // 5] for name in ("without", "with"))
    return {"without_ms": round(without, 3), "with_ms": round(having, 3), "ratio": round(having / without, 3)}


async def _server(pool: Database) -> int:
    """Return the process id of the PostgreSQL backend that serves a pool with one connection."""
    return int(await pool.fetchval("select pg_backend_pid()"))


def _cpu(process: int) -> float:
    """Return the CPU time that a process has used, in milliseconds (Linux)."""
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--feedbacks", type=int, default=200_000)
    parser.add_argument("--only", help="a regular expression for the names of questions")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        found = uvloop.run(measure(Path(folder), options.feedbacks, options.rounds, options.only or ""))
    if options.json:
        json.dump(found, sys.stdout, indent=2)
        return
    print(f"{'':30}{'without':>10}{'with':>10}   ms, the lower fifth of {options.rounds}")
    for name, one in found.items():
        print(f"{name:30}{one['without_ms']:10.2f}{one['with_ms']:10.2f}{100 * (one['ratio'] - 1):+8.1f} %")
    ratios = [one["ratio"] for one in found.values()]
    print(f"{'median of the questions':50}{100 * (median(ratios) - 1):+8.1f} %")


if __name__ == "__main__":
    main()
