"""Changes that migrations make to the rows of older releases."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from servicekit.db.migrations import migrate
from tests.support.filled_rows import insert

SERVICES = Path(__file__).parents[2] / "services"
ERASED_AT = 1_000_000_000_000
MARGIN = 300_000_000
"""Five minutes: clocks of processes differ."""


def version(at: int) -> bytes:
    """Return a version whose time is `at`, in microseconds."""
    return b"\x01" + at.to_bytes(8) + b"rest"


@asynccontextmanager
async def schema_before(url: str, service: str, number: int, folder: Path) -> AsyncIterator[asyncpg.Pool]:
    """Yield a pool in the schema of `service` before migration `number`."""
    for file in sorted((SERVICES / service / "migrations").glob("*.sql"))[: number - 1]:
        shutil.copy(file, folder)
    connection = await asyncpg.connect(url, server_settings={"search_path": f"{service},public"})
    await migrate(connection, service, folder)
    await connection.close()
    async with asyncpg.create_pool(
        url, min_size=1, max_size=2, server_settings={"search_path": f"{service},public"}
    ) as pool:
        yield pool


async def take_all(pool: asyncpg.Pool, service: str) -> None:
    async with pool.acquire() as borrowed:
        connection: Any = borrowed
        await migrate(connection, service, SERVICES / service / "migrations")


async def erase_in(pool: asyncpg.Pool, **person: Any) -> None:
    await insert(pool, "erasures", {"tenant": "acme", "user_id": "ann", "erased_at": ERASED_AT} | person)


PEOPLE: Mapping[str, tuple[dict[str, Any], bool]] = {
    "erased": ({}, True),
    "written within the margin": ({"version": version(ERASED_AT + MARGIN)}, True),
    "written after it": ({"version": version(ERASED_AT + MARGIN + 1)}, False),
    "of another tenant": ({"tenant": "globex"}, False),
    "of somebody else": ({"sender_id": "bob"}, False),
}
"""Rows, each with the columns in which it differs from the first, and True if the erasure covers it."""


@pytest.mark.parametrize("name", [name for name in PEOPLE if "after" not in name])
async def test_the_bridge_forgets_erased_senders(own_database: str, tmp_path: Path, name: str) -> None:
    change, covered = PEOPLE[name]
    async with schema_before(own_database, "chat_bridge", 3, tmp_path) as pool:
        await erase_in(pool)
        row = {"tenant": "acme", "sender_id": "ann", "sender_type": "human", "version": version(ERASED_AT)} | change
        await insert(pool, "messages", row, row | {"sender_type": "agent", "message_id": "agents"})
        await take_all(pool, "chat_bridge")
        rows = await pool.fetch("select sender_type, sender_id from messages")
        found = {row["sender_type"]: row["sender_id"] for row in rows}
    assert found == {"human": "" if covered else row["sender_id"], "agent": row["sender_id"]}


@pytest.mark.parametrize(
    "name", [*PEOPLE, "of another turn", "asked by another", "in another conversation", "an agent's"]
)
async def test_inference_forgets_what_erased_people_asked(own_database: str, tmp_path: Path, name: str) -> None:
    change, covered = PEOPLE.get(name, ({}, False))
    place = {"tenant": change.get("tenant", "acme"), "project": "support", "conversation_id": "c1"}
    said = place | {"sender_id": "ann", "role": "human", "version": version(ERASED_AT), "message_id": "m1"} | change
    turn = place | {"turn_id": "t1", "user_id": said["sender_id"], "user_text": "words", "user_message_id": "m1"}
    turn |= {
        "of another turn": {"user_message_id": "m2"},
        "asked by another": {"user_id": "bob"},
        "in another conversation": {"conversation_id": "c2"},
    }.get(name, {})
    if name == "an agent's":
        said["role"] = "agent"
    async with schema_before(own_database, "inference", 4, tmp_path) as pool:
        await erase_in(pool)
        await insert(pool, "messages", said)
        await insert(pool, "turns", turn | {"user_embedder": 7})
        await pool.execute("update turns set user_vector = array_fill(0.5::real, array[256])")
        await take_all(pool, "inference")
        found = await pool.fetchrow("select user_id, user_text, user_vector is null, user_embedder from turns")
    assert found is not None
    assert tuple(found) == ((None, None, True, None) if covered else (turn["user_id"], "words", False, 7))


async def test_feedback_takes_requests_into_the_ledger_and_drops_erased_roles(
    own_database: str, tmp_path: Path
) -> None:
    async with schema_before(own_database, "feedback", 3, tmp_path) as pool:
        requests = [
            ("ann", "r1", 5),
            ("ann", "r3", ERASED_AT),
            ("ann", "r2", ERASED_AT),
            ("bob", "r9", 7),
            ("cy", "r7", 9),
        ]
        await insert(
            pool,
            "erasure_requests",
            *({"tenant": "acme", "user_id": one, "request_id": id_, "requested_at": at} for one, id_, at in requests),
        )
        await erase_in(pool, user_id="bob", request_id="known", erased_at=3)
        roles = [("acme", "ann", 0), ("acme", "ann", MARGIN), ("acme", "ann", MARGIN + 1), ("globex", "ann", 0)]
        await insert(
            pool,
            "people",
            *(
                {"tenant": tenant, "user_id": one, "project": str(number), "version": version(ERASED_AT + late)}
                for number, (tenant, one, late) in enumerate([*roles, ("acme", "dan", 0)])
            ),
        )
        await take_all(pool, "feedback")
        ledger = await pool.fetch("select user_id, request_id, erased_at from erasures order by user_id")
        people = await pool.fetch("select tenant, user_id, project from people order by project")
    assert [tuple(one) for one in ledger] == [("ann", "r3", ERASED_AT), ("bob", "known", 3), ("cy", "r7", 9)]
    assert [tuple(one) for one in people] == [("acme", "ann", "2"), ("globex", "ann", "3"), ("acme", "dan", "4")]


async def test_ratings_and_erasures_are_timed_at_their_own_time_at_most_now(own_database: str, tmp_path: Path) -> None:
    async with schema_before(own_database, "feedback", 7, tmp_path) as pool:
        for day in ("2020-01-01", "2999-01-01"):
            await pool.execute(
                "insert into session_feedback (tenant, id, session_id_opaque, user_id_or_null, recorded_at, label,"
                " turn_count_at_end, source, schema_version, idempotency_key) values ('acme', gen_random_uuid(),"
                " repeat('0', 64), 'ann', $1::text::timestamptz, 'positive', 0, 'cli_end', 1, $1)",
                day,
            )
        await erase_in(pool, erased_at=0)
        await erase_in(pool, user_id="bob", erased_at=32_472_144_000_000_000)
        await take_all(pool, "feedback")
        await erase_in(pool, user_id="cy", erased_at=0)
        ratings = await pool.fetch(
            "select stored_at = recorded_at as same, stored_at <= clock_timestamp() as past from session_feedback"
            " order by recorded_at"
        )
        noted = await pool.fetch(
            "select noted_at = timestamptz 'epoch' as same, noted_at <= clock_timestamp() as past from erasures"
            " order by user_id"
        )
    assert [tuple(one) for one in ratings] == [(True, True), (False, True)]
    assert [tuple(one) for one in noted] == [(True, True), (False, True), (False, True)]
