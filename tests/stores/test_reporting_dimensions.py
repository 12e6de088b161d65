"""Counts by dimension equal a recount from messages and effective reactions, in any order of events."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest

from contracts.base import Origin
from contracts.instants import DAY
from reporting.feedback import search
from reporting.feedback.found_counts import found_and_counted
from reporting.figures.comparison import compare
from reporting.figures.dimension_votes import known_dimensions, value_votes
from reporting.model.dimensions import KNOWN, dimension
from reporting.model.selection import HOUR, Filters, Project, TimeSpan
from reporting.pages.breakdown import breakdown
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.rollups import Rollups
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.clock import SystemClock
from servicekit.db.database import Database
from tests.support.reporting_events import START, batch, feedback, message

AT = Project("acme", "support")
LENGTH = 40 * DAY
ATTRIBUTES = frozenset({"language", "arm"})
DIMENSIONS = [*KNOWN, "attributes.language", "attributes.arm", "attributes.secret"]
RECOUNT = "select * from effective where tenant = 'acme' and project = 'support'"
ANSWERS = "select * from messages where tenant = 'acme' and project = 'support' and sender_type = 'agent'"
SIDES: tuple[Origin, Origin] = ("user", "machine")
COLUMNS = {"version": "agent_version", "model": "model", "agent": "agent_id", "user_type": "user_type"}
COLUMNS |= {"bundle": "bundle_id", "track": "track_id", "intent": "intent"}


def said(choose: random.Random, revision: int) -> Any:
    """Generate an answer, or feedback on one that may not be known yet."""
    turn, at = f"t{choose.randrange(8)}", choose.randrange(LENGTH // 1_000_000)
    tenant = choose.choice(["acme", "acme", "globex"])
    if choose.random() < 0.4:
        languages = {"language": choose.choice(["de", "en", ""]), "arm": choose.choice("ab"), "secret": "x"}
        return message(
            f"{turn}-{choose.choice(['answer', 'second'])}",
            turn=turn,
            tenant=tenant,
            agent=f"a{choose.randrange(2)}",
            at=at,
            strategy=choose.choice([None, "s1", "s2"]),
            attributes=choose.choice([None, languages]),
        )
    return feedback(
        f"f{choose.randrange(40)}",
        revision=revision,
        tenant=tenant,
        turn=turn,
        user=f"u{choose.randrange(3)}",
        agent=f"a{choose.randrange(2)}",
        kind=choose.choice(["reaction", "explicit", "inferred"]),
        reaction=choose.choice(["ok", "not_ok", "neutral", None]),
        agent_version=choose.choice([None, "1", "2"]),
        model=choose.choice([None, "m1"]),
        bundle_id=choose.choice([None, "b1"]),
        track_id=choose.choice([None, "k1"]),
        intent=choose.choice([None, "buy", "ask"]),
        user_type=choose.choice(["human", "moderator"]),
        at=at,
    )


def answer_of(row: Any, answers: list[Any]) -> dict[str, Any]:
    """Return the answer that a feedback row is about; empty if unknown."""
    found: Any = next((one for one in answers if one["message_id"] == row["answer_id"]), {})
    return dict(found)


def value_in(name: str, row: Any, answers: list[Any]) -> str | None:
    if name in COLUMNS:
        value: str | None = row[COLUMNS[name]]
        return value
    answer = answer_of(row, answers)
    if name == "strategy":
        return answer.get("strategy")
    kept: dict[str, str] = answer.get("attributes") or {}
    return kept.get(name.removeprefix("attributes."))


async def check(pool: Database, span: TimeSpan, filters: Filters) -> None:
    answers = [
        {**row, "attributes": json.loads(row["attributes"]) if row["attributes"] else None}
        for row in await pool.fetch(ANSWERS)
    ]
    rows = [row for row in await pool.fetch(RECOUNT) if span.start <= row["occurred_at"] < span.end]
    rows = [row for row in rows if filters.agent_id in (None, row["agent_id"])]
    for name in DIMENSIONS:
        expected = Counter(
            (value, "user" if row["origin"] == "user" else "machine", row["reaction"])
            for row in rows
            if (value := value_in(name, row, answers))
        )
        found = await value_votes(pool, AT, span, filters, dimension(name))
        assert {
            (one.value, origin, reaction): count
            for one in found
            for origin in SIDES
            for reaction in ("ok", "neutral", "not_ok")
            if (count := getattr(one.of(origin), reaction))
        } == expected, name
        for one in found:
            field = {"agent": "agent_id", "version": "agent_version", "bundle": "bundle_id", "track": "track_id"}.get(
                name, name
            )
            value = one.value
            given: dict[str, Any] = (
                {"attributes": {name.removeprefix("attributes."): value}} if "." in name else {field: value}
            )
            narrowed = filters.replace(**{"agent_id": filters.agent_id, **given})
            if name == "agent" and filters.agent_id not in (None, value):
                continue
            whole = (await breakdown(pool, AT, span, narrowed, [span.start])).whole
            assert {origin: votes for origin, votes in whole.items() if votes.total} == {
                origin: votes for origin in SIDES if (votes := one.of(origin)).total
            }, name
            of_list = narrowed.replace(feedback_type="verdict")
            _, _, total = await found_and_counted(pool, AT, span, of_list, 1)
            assert total == (one.people.total + one.machine.total, True)
            rows_found, _ = await search.found(pool, AT, span, of_list, 500)
            assert len(rows_found) == one.people.total + one.machine.total
        pair = [one.value for one in found][:2]
        if len(pair) == 2:
            compared = await compare(pool, AT, span, filters, dimension(name), (pair[0], pair[1]))
            for one, side in zip(found, (compared.a, compared.b), strict=False):
                assert (side.people.ok, side.people.total) == (one.people.ok, one.people.total)
                assert side.machine.effective_size <= side.machine.total
    kinds = {one.name for one in await known_dimensions(pool, AT, span, filters.agent_id)}
    assert {name for name in DIMENSIONS if any(value_in(name, row, answers) for row in rows)} <= kinds
    days = TimeSpan(span.start // DAY * DAY, -(-span.end // DAY) * DAY)  # days may be included as a whole
    nearby = [row for row in await pool.fetch(RECOUNT) if days.start <= row["occurred_at"] < days.end]
    assert kinds - {"version", "model", "agent"} <= {
        name for name in DIMENSIONS if any(value_in(name, row, answers) for row in nearby)
    }


@pytest.mark.parametrize("seed", range(4))
async def test_counts_by_dimension_equal_a_recount_at_any_moment(read_models: Database, seed: int) -> None:
    choose = random.Random(seed)
    handler = ProjectionHandler(PostgresReadModels(read_models), ATTRIBUTES)
    rollups = Rollups(read_models, SystemClock())
    for moment in range(16):
        await handler.handle(batch(*(said(choose, 100 * moment + n) for n in range(choose.randrange(1, 30)))))
        if choose.random() < 0.5:
            await rollups.catch_up(quiet=0)
        if choose.random() < 0.2:
            limit = START + choose.randrange(LENGTH // 8)
            await read_models.execute("delete from messages where occurred_at < $1", limit)
        begin = START + choose.randrange(LENGTH)
        span = TimeSpan(begin, begin + choose.choice([HOUR // 2, 3 * HOUR, 20 * DAY, 45 * DAY]))
        await check(read_models, span, choose.choice([Filters(), Filters(agent_id="a1")]))
    await rollups.catch_up(quiet=0)
    assert await read_models.fetchval("select count(*) from stale_hours") == 0
    await check(read_models, TimeSpan(START - DAY, START + LENGTH), Filters())
