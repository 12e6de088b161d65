"""The backends of session ratings: one contract, and the behaviour of each when it is slow, full, locked or down."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import asyncpg
import pytest

from agent_feedback_kit.sessions import backend as sessions
from agent_feedback_kit.sessions.backend import MemoryBackend, NullBackend, SessionFeedbackBackend
from agent_feedback_kit.sessions.choice import INCOGNITO, backend_name, open_backend
from agent_feedback_kit.sessions.postgres import PostgresBackend
from agent_feedback_kit.sessions.record import InvalidRecord, MemoryMode, SessionFeedbackRecord, opaque, parse_time
from agent_feedback_kit.sessions.recorder import record_session_feedback
from agent_feedback_kit.sessions.sqlite import SqliteBackend
from contracts.erasure import Person
from feedback.rate_limit import PersonLimit
from feedback.turn_erasures import TurnErasures
from servicekit.db.database import Database
from servicekit.errors import RequestRefused
from tests.support.databases import empty_schema
from tests.support.waits import PATIENCE_SECONDS

SCHEMA = "kit_sessions"


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[Any]:
    """Yield a pool on an empty schema."""
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(f"drop schema if exists {SCHEMA} cascade; create schema {SCHEMA}")
    await connection.close()
    async with asyncpg.create_pool(
        postgres_url, min_size=0, max_size=4, server_settings={"search_path": SCHEMA}
    ) as opened:
        yield opened


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def backend(request: pytest.FixtureRequest, tmp_path: Path, pool: Any) -> SessionFeedbackBackend:
    match request.param:
        case "memory":
            return MemoryBackend()
        case "sqlite":
            return SqliteBackend(tmp_path / "store" / "ratings.sqlite3")
    postgres = PostgresBackend(pool)
    await postgres.acreate()
    await postgres.acreate()
    return postgres


def rating(thread: str = "t", **more: Any) -> SessionFeedbackRecord:
    given: dict[str, Any] = {"session_id_opaque": opaque(thread), "label": "positive", "turn_count_at_end": 3,
                             "source": "cli_end", "user_id_or_null": "ann"}  # fmt: skip
    return SessionFeedbackRecord(**(given | more))


async def test_what_was_kept_is_found_again_by_its_session(backend: SessionFeedbackBackend) -> None:
    late, early, other = (
        rating(recorded_at="2026-03-01T10:00:00.000001Z", label="skip", user_id_or_null=None),
        rating(recorded_at="2026-03-01T09:00:00.000000Z", label="negative", source="api_end", turn_count_at_end=0),
        rating("another", idempotency_key="k"),
    )
    for one in (late, early, other):
        assert await backend.arecord(one) == one
    assert await backend.alist_by_session(opaque("t")) == [early, late]
    assert await backend.alist_by_session(opaque("another")) == [other]
    assert await backend.alist_by_session(opaque("unknown")) == []
    assert await backend.arecord_count() == 3


async def test_what_is_sent_again_is_kept_once(backend: SessionFeedbackBackend) -> None:
    first = rating(idempotency_key="k", label="negative")
    await backend.arecord(first)
    assert await backend.arecord(first) == first
    assert await backend.arecord(rating(idempotency_key="k")) == first
    assert await backend.arecord_count() == 1
    unnamed = [rating(), rating()]
    for one in unnamed:
        await backend.arecord(one)
    assert await backend.arecord_count() == 3


async def test_many_at_once_under_one_key_are_one(backend: SessionFeedbackBackend) -> None:
    kept = await asyncio.gather(*(backend.arecord(rating(idempotency_key="k")) for _ in range(8)))
    assert len({one.id for one in kept}) == 1
    assert await backend.arecord_count() == 1


async def test_tenants_do_not_meet(backend: SessionFeedbackBackend) -> None:
    mine, theirs = rating(idempotency_key="k"), rating(idempotency_key="k", label="negative")
    assert await backend.arecord(mine, tenant="acme") == mine
    assert await backend.arecord(theirs, tenant="globex") == theirs
    assert await backend.alist_by_session(opaque("t"), tenant="acme") == [mine]
    assert await backend.arecord_count(tenant="globex") == 1
    assert await backend.arecord_count() == 0
    with pytest.raises(InvalidRecord):
        await backend.arecord(rating(), tenant="no tenant")


async def test_ratings_past_their_retention_go(backend: SessionFeedbackBackend) -> None:
    limit = datetime(2026, 3, 1, tzinfo=UTC)
    times = ["2026-02-28T23:59:59.999999Z", "2026-03-01T00:00:00.000000Z", "2026-03-01T00:00:00.000001Z"]
    for tenant in ("acme", "globex"):
        for time in times:
            await backend.arecord(rating(recorded_at=time), tenant=tenant)
    assert await backend.apurge_before(limit, tenant="acme") == 1
    assert await backend.apurge_before(limit, tenant="acme") == 0
    assert await backend.apurge_before(limit) == 1
    kept = await backend.alist_by_session(opaque("t"), tenant="globex")
    assert [one.recorded_at for one in kept] == times[1:]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("label", "great"),
        ("source", "web"),
        ("turn_count_at_end", -1),
        ("turn_count_at_end", 2**31),
        ("schema_version", 2),
        ("session_id_opaque", "t"),
        ("recorded_at", "2026-03-01"),
        ("user_id_or_null", ""),
        ("idempotency_key", "a\x00b"),
    ],
)
async def test_what_breaks_a_rule_is_no_record_and_the_tables_refuse_it_too(
    field: str, value: Any, pool: Any, tmp_path: Path
) -> None:
    with pytest.raises(InvalidRecord) as caught:
        rating(**{field: value})
    assert caught.value.name == field
    bad = rating()
    object.__setattr__(bad, field, value)
    postgres, sqlite = PostgresBackend(pool), SqliteBackend(tmp_path / "ratings.sqlite3")
    await postgres.acreate()
    with pytest.raises((asyncpg.PostgresError, asyncpg.DataError, ValueError)):
        await postgres.arecord(bad)
    assert await postgres.arecord_count() == 0
    if field != "idempotency_key":  # the file has no rule about control characters
        with pytest.raises((sqlite3.IntegrityError, TypeError, InvalidRecord)):
            await sqlite.arecord(bad)
        if value != 2**31:
            assert await sqlite.arecord_count() == 0


@pytest.mark.parametrize("fails", [False, True])
async def test_a_backend_is_closed_by_the_recorder_only_if_the_recorder_opened_it(fails: bool) -> None:
    class Closes(MemoryBackend):
        """Backend that counts how often it is closed."""

        closed = 0

        async def arecord(self, record: Any, **more: Any) -> Any:
            if fails:
                raise OSError
            return await super().arecord(record, **more)

        async def aclose(self) -> None:
            self.closed += 1

    given, opened, modes = Closes(), Closes(), []

    async def opens(mode: MemoryMode) -> SessionFeedbackBackend:
        modes.append(mode)
        return opened

    for one in (given, opens):
        assert (await ended(one, mode=MemoryMode.SYNCED) is None) is fails
    assert (given.closed, opened.closed, modes) == (0, 1, [MemoryMode.SYNCED])


def test_a_record_has_no_room_for_text() -> None:
    assert {one.name for one in fields(SessionFeedbackRecord)} == {
        "id", "session_id_opaque", "user_id_or_null", "recorded_at", "label", "turn_count_at_end", "source",
        "schema_version", "idempotency_key",
    }  # fmt: skip
    assert parse_time(rating().recorded_at) - datetime.now(UTC) < timedelta(minutes=1)
    assert opaque("test") == "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


async def test_the_null_backend_keeps_nothing() -> None:
    null = NullBackend()
    await null.arecord(rating())
    assert await null.arecord_count() == 0
    assert await null.alist_by_session(opaque("t")) == []


async def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MEMORY_LIMIT", 5)
    memory = MemoryBackend()
    for turns in range(8):
        await memory.arecord(rating(turn_count_at_end=turns))
    held = await memory.alist_by_session(opaque("t"))
    assert sorted(one.turn_count_at_end for one in held) == [3, 4, 5, 6, 7], "the oldest are dropped"


async def test_the_file_is_its_owners(tmp_path: Path) -> None:
    path = tmp_path / ".store" / "session_feedback.sqlite3"
    await SqliteBackend(path).arecord(rating())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("mode", "environ", "expected"),
    [
        (MemoryMode.LOCAL, {}, "sqlite"),
        (MemoryMode.SYNCED, {}, "sqlite"),
        (MemoryMode.LOCAL, {"AGENT_FEEDBACK_PERSISTENCE_BACKEND": "postgres"}, "postgres"),
        (MemoryMode.SYNCED, {"OPENCOUCH_PERSISTENCE_BACKEND": "Postgres"}, "postgres"),
        (
            MemoryMode.LOCAL,
            {"AGENT_FEEDBACK_PERSISTENCE_BACKEND": "sqlite", "OPENCOUCH_PERSISTENCE_BACKEND": "postgres"},
            "sqlite",
        ),
        (MemoryMode.INCOGNITO, {"AGENT_FEEDBACK_PERSISTENCE_BACKEND": "postgres"}, "memory"),
    ],
)
def test_mode_and_setting_choose_the_backend(mode: MemoryMode, environ: dict[str, str], expected: str) -> None:
    assert backend_name(mode, environ) == expected


async def test_the_chosen_backend_is_opened(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    environ = {"AGENT_FEEDBACK_PERSISTENCE_BACKEND": "postgres", "AGENT_FEEDBACK_DATABASE_URL": postgres_url}
    postgres = await open_backend(MemoryMode.SYNCED, environ)
    before = await postgres.arecord_count(tenant="chosen")
    await postgres.arecord(rating(), tenant="chosen")
    assert await postgres.arecord_count(tenant="chosen") == before + 1
    await postgres.aclose()
    assert list(tmp_path.iterdir()) == []
    await (await open_backend(MemoryMode.LOCAL, {})).arecord(rating())
    assert (tmp_path / ".store" / "session_feedback.sqlite3").is_file()
    assert await open_backend(MemoryMode.INCOGNITO, environ) is INCOGNITO


class Stuck(MemoryBackend):
    """Backend that never responds."""

    async def arecord(self, record: Any, **_: Any) -> Any:
        await asyncio.Event().wait()


async def ended(backend: Any, **more: Any) -> SessionFeedbackRecord | None:
    return await record_session_feedback("thread-7", "positive", "cli_end", turn_count=1, backend=backend, **more)


async def refuses(backend: Any, caplog: pytest.LogCaptureFixture, seconds: float = 0.5) -> None:
    """Assert that ending a session on that backend returns None in time, with one warning that names no session."""
    caplog.clear()
    caplog.set_level(logging.DEBUG)
    began = monotonic()
    assert await ended(backend, user_id="ann", seconds=seconds) is None
    assert monotonic() - began < seconds + PATIENCE_SECONDS
    warnings = [one for one in caplog.records if one.name.startswith("agent_feedback_kit")]
    assert [one.levelname for one in warnings] == ["WARNING"]
    assert "ann" not in caplog.text and "thread-7" not in caplog.text and opaque("thread-7") not in caplog.text


async def test_a_backend_that_never_answers(caplog: pytest.LogCaptureFixture) -> None:
    await refuses(Stuck(), caplog)


async def test_a_locked_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "ratings.sqlite3"
    backend = SqliteBackend(path, lock_seconds=0.1)
    await backend.arecord(rating())
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin exclusive")
        await refuses(backend, caplog)
        await refuses(SqliteBackend(path, lock_seconds=1.0), caplog)
        other.execute("rollback")
    assert await ended(backend) is not None


async def test_a_file_that_cannot_be(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("no folder")
    await refuses(SqliteBackend(tmp_path / "file" / "ratings.sqlite3"), caplog)
    (tmp_path / "broken.sqlite3").write_bytes(b"no database" * 1000)
    await refuses(SqliteBackend(tmp_path / "broken.sqlite3"), caplog)


async def test_a_database_that_is_slow_or_gone(pool: Any, postgres_url: str, caplog: pytest.LogCaptureFixture) -> None:
    backend = PostgresBackend(pool)
    await backend.acreate()
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("lock table session_feedback in access exclusive mode")
        await refuses(backend, caplog)
    assert await ended(backend) is not None

    async def unreachable(_: MemoryMode) -> SessionFeedbackBackend:
        environ = {"AGENT_FEEDBACK_PERSISTENCE_BACKEND": "postgres"}
        return await open_backend(
            MemoryMode.LOCAL, environ | {"AGENT_FEEDBACK_DATABASE_URL": "postgresql://127.0.0.1:9/x"}
        )

    await refuses(unreachable, caplog)
    await pool.execute("drop table session_feedback")
    await refuses(backend, caplog)


async def test_a_state_that_cannot_be_looked_up(caplog: pytest.LogCaptureFixture) -> None:
    async def fails() -> int:
        raise OSError("ann's state is gone")

    async def hangs() -> int:
        await asyncio.Event().wait()
        return 0

    memory = MemoryBackend()
    for look_up in (fails, hangs):
        kept = await record_session_feedback(
            "thread-7", "negative", "cli_exit", turn_count=look_up, backend=memory, seconds=0.2
        )
        assert kept is None
    assert await memory.arecord_count() == 0
    assert "ann" not in caplog.text
    assert await record_session_feedback("t", "great", "cli_end", turn_count=1, backend=memory) is None  # type: ignore[arg-type]


def test_incognito_reaches_neither_disk_nor_log(tmp_path: Path) -> None:
    """A whole process in incognito, with PostgreSQL selected, writes nothing that names the session."""
    program = """
import asyncio, logging, sys
from agent_feedback_kit.sessions.backend import MemoryBackend
from agent_feedback_kit.sessions.choice import INCOGNITO
from agent_feedback_kit.sessions.record import MemoryMode, opaque
from agent_feedback_kit.sessions.recorder import record_session_feedback
from agent_feedback_kit.sessions.sqlite import SqliteBackend
logging.basicConfig(level=logging.DEBUG, filename="all.log")
async def main():
    how = dict(turn_count=2, mode=MemoryMode.INCOGNITO, user_id="canary-user")
    kept = await record_session_feedback("canary-thread", "negative", "cli_end", **how)
    assert kept.user_id_or_null is None
    assert await INCOGNITO.alist_by_session(opaque("canary-thread")) == [kept]
    refused = await record_session_feedback("canary-thread", "negative", "cli_end", backend=SqliteBackend(), **how)
    assert refused is None
asyncio.run(main())
"""
    environ = {
        "AGENT_FEEDBACK_PERSISTENCE_BACKEND": "postgres",
        "PYTHONPATH": ":".join(sys.path),
        "HOME": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / ".store").exists()
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    written += done.stdout.encode() + done.stderr.encode()
    for canary in ("canary-thread", "canary-user", opaque("canary-thread"), "negative"):
        assert canary.encode() not in written


# Token buckets in PostgreSQL: thousands of people, several processes, time, erasure.

ANN, BOB = Person("acme", "ann"), Person("acme", "bob")


@pytest.fixture
async def limit_pool(postgres_url: str) -> AsyncIterator[Database]:
    async with empty_schema(postgres_url, "feedback") as pool:
        yield pool


async def taken(limit: PersonLimit, person: Person, times: int) -> int:
    """Return the number of accepted judgements of `times` attempts."""
    accepted = 0
    for _ in range(times):
        try:
            await limit.take(person)
            accepted += 1
        except RequestRefused:
            pass
    return accepted


async def later(pool: Database, seconds: float) -> None:
    """Let time pass for the buckets."""
    await pool.execute("update buckets set full_at = full_at - make_interval(secs => $1)", float(seconds))


async def test_a_bucket_holds_the_limit_and_fills_within_a_minute(limit_pool: Database) -> None:
    limit = PersonLimit(limit_pool, 60)
    assert await taken(limit, ANN, 60) == 60
    assert await taken(PersonLimit(limit_pool, 60), BOB, 5) == 5
    await limit_pool.execute(
        "update buckets set full_at = clock_timestamp() + interval '60 seconds' where user_id = 'ann'"
    )
    with pytest.raises(RequestRefused) as caught:
        await limit.take(ANN)
    assert str(caught.value) == "A person may send 60 judgements a minute; try again in 1 s."
    await later(limit_pool, 30)
    assert 30 <= await taken(limit, ANN, 40) <= 39
    await later(limit_pool, 3600)
    assert 60 <= await taken(limit, ANN, 75) <= 74, "an idle person has one bucket, not one per minute"


async def test_processes_share_a_bucket(limit_pool: Database) -> None:
    each = await asyncio.gather(*(taken(PersonLimit(limit_pool, 10), ANN, 5) for _ in range(8)))
    assert sum(each) == 10


async def test_an_erasure_deletes_the_persons_bucket_in_its_tenant(limit_pool: Database) -> None:
    limit = PersonLimit(limit_pool, 60)
    for person in (ANN, BOB, Person("globex", "ann")):
        await limit.take(person)
    await TurnErasures(limit_pool, lambda person: person.user_id).erase({ANN: 1})
    left = await limit_pool.fetch("select tenant, user_id from buckets order by 1")
    assert [tuple(row) for row in left] == [("acme", "bob"), ("globex", "ann")]
