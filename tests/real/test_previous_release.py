"""The previous release and this one on the same log and database: a rollout, a rollback, and an incompatible schema."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

import asyncpg
import pytest

from servicekit.log.topics import ensure_topics
from standalone.embedded.local_kafka import LocalKafka
from standalone.embedded.postgres import EmbeddedPostgres
from tests.support.command import agent_feedback, state_folder
from tests.support.previous_release import ROOT, HistoryMissing, previous_release, runs_from, source_folders
from tests.support.processes import GROUPS, Members, stop_service, until_quiet

pytestmark = pytest.mark.real
CONVERSATIONS = 50
"""Number of conversations of a phase; each has a question, an answer, a reaction and a reply."""
STORED = {
    "chat_bridge.messages": 3,
    "feedback.feedback where source = 'chat'": 2,
    "inference.messages": 3,
    "reporting.messages": 3,
    "reporting.effective where origin = 'user'": 1,
}
"""Number of rows that each conversation must leave."""


def events(phase: str) -> Iterator[bytes]:
    for number in range(CONVERSATIONS):
        place = {"tenant": "acme", "project": "support", "conversationId": f"{phase}-{number}"}

        def event(topic: str, moment: int, place: Mapping[str, str] = place, **fields: str) -> bytes:
            at = {"occurredAt": f"2026-01-01T10:00:{moment:02}Z", "eventId": f"{place['conversationId']}-{moment}"}
            return json.dumps({"topic": f"chat.message.{topic}", **at, **place, **fields}).encode()

        person = f"person-{phase}-{number}"  # one person who rates all alike would be suspect
        ann: dict[str, Any] = {"senderId": person, "senderType": "human", "userType": "human"}
        bot: dict[str, Any] = {"senderId": "bot", "senderType": "agent", "agentId": "bot"}
        yield event("ingested", 1, messageId="1", content="When does it open?", **ann)
        yield event("ingested", 2, messageId="2", content="It opens at nine.", **bot)
        yield event("reaction.ingested", 3, messageId="2", userId=person, userType="human", emoji="👍", action="added")
        yield event("reply.ingested", 4, messageId="3", originalMessageId="2", content="Thanks, that helps.", **ann)


def later_release(folder: Path, compatible_from: int) -> Path:
    """Copy this tree with one more migration in every service, like the next release."""
    for name in ("services", "libs"):
        copytree(ROOT / name, folder / name, ignore=ignore_patterns("__pycache__", "node_modules"))
    for service in GROUPS:
        migrations = folder / "services" / service / "migrations"
        number = len(list(migrations.glob("*.sql"))) + 1
        table = "feedback" if service == "feedback" else "messages"
        (migrations / f"{number:04}_later.sql").write_text(
            f"-- compatible_from: {compatible_from or number:04}\n"
            f"alter table {table} add column later text, add column later_count integer not null default 0;\n"
            "create table later (n integer);\n"
        )
    return folder


def imported(release: Mapping[str, str]) -> list[Path]:
    """Return the files of the packages that a process of `release` imports."""
    names = [*GROUPS, "contracts", "servicekit", "detector", "agent_feedback_kit"]
    shown = f"import {', '.join(names)}; print(*({', '.join(f'{name}.__file__' for name in names)}), sep='\\n')"
    printed = subprocess.run(
        [sys.executable, "-c", shown], env={**os.environ, **release}, stdout=subprocess.PIPE, check=True
    )
    return [Path(line) for line in printed.stdout.decode().splitlines()]


async def dead_letters(broker: str) -> int:
    ended = await agent_feedback("dlq", "list", "--broker", broker, "--json")
    assert ended.code == 0, ended.err
    return int(ended.facts["count"])


async def publish(broker: str, folder: Path, phase: str) -> None:
    file = folder / f"{phase}.jsonl"
    file.write_bytes(b"\n".join(events(phase)))
    published = await agent_feedback("replay", file, "--broker", broker, "--json")
    assert published.facts["events"] == 4 * CONVERSATIONS, published.err


async def stored(database_url: str) -> dict[str, int]:
    connection = await asyncpg.connect(database_url)
    try:
        return {table: await connection.fetchval(f"select count(*) from {table}") for table in STORED}
    finally:
        await connection.close()


async def test_a_rollout_and_a_rollback_lose_nothing(tmp_path: Path) -> None:
    try:
        packages = previous_release(tmp_path / "older")
    except HistoryMissing as error:
        pytest.skip(str(error))
    older = runs_from(packages)
    assert {file.parents[1] for file in imported(older)} == {packages}, "its processes must not import this tree's code"
    later = runs_from(*source_folders(later_release(tmp_path / "later", 1)))
    log = tmp_path / "services.log"
    async with (
        state_folder() as state,
        LocalKafka(tmp_path / "kafka") as kafka,
        EmbeddedPostgres(state / "postgres") as postgres,
        Members(kafka.bootstrap, postgres.url, log) as members,
    ):
        await ensure_topics(kafka.bootstrap)

        async def start(release: dict[str, str]) -> list[Process]:
            return [await members.start(name, release) for name in GROUPS]

        previous = await start(dict(older))
        await publish(kafka.bootstrap, tmp_path, "before")
        await until_quiet(kafka.bootstrap, within=120)
        current = await start(dict(later))
        await publish(kafka.bootstrap, tmp_path, "alongside")
        await until_quiet(kafka.bootstrap, within=120)
        for process in previous:
            await stop_service(process)
        await publish(kafka.bootstrap, tmp_path, "after")
        previous = await start(dict(older))
        for process in current:
            await stop_service(process)
        await publish(kafka.bootstrap, tmp_path, "rolled-back")
        await until_quiet(kafka.bootstrap, within=120)
        assert [process.returncode for process in previous] == [None] * len(previous), log.read_text()[-3000:]
        for process in previous:
            await stop_service(process)
        connection = await asyncpg.connect(postgres.url)
        assert await connection.fetchval("select count(*) from reporting.later") == 0, "the schema is the later one"
        await connection.close()
        assert await stored(postgres.url) == {table: 4 * CONVERSATIONS * rows for table, rows in STORED.items()}
        assert await dead_letters(kafka.bootstrap) == 0
        assert '"event": "bug"' not in log.read_text()


async def test_a_running_release_leaves_when_the_schema_excludes_it(tmp_path: Path) -> None:
    later = runs_from(*source_folders(later_release(tmp_path / "later", compatible_from=0)))
    log = tmp_path / "services.log"
    async with (
        state_folder() as state,
        LocalKafka(tmp_path / "kafka") as kafka,
        EmbeddedPostgres(state / "postgres") as postgres,
        Members(kafka.bootstrap, postgres.url, log) as members,
    ):
        await ensure_topics(kafka.bootstrap)
        current = [await members.start(name) for name in GROUPS]
        await publish(kafka.bootstrap, tmp_path, "before")
        await until_quiet(kafka.bootstrap, within=120)
        for name in GROUPS:
            await members.start(name, dict(later))
        await publish(kafka.bootstrap, tmp_path, "alongside")
        assert [await process.wait() for process in current] == [3] * len(current)
        await until_quiet(kafka.bootstrap, within=120)
        assert log.read_text().count("cannot use, and this program is at") >= len(current)
        assert await stored(postgres.url) == {table: 2 * CONVERSATIONS * rows for table, rows in STORED.items()}
        assert await dead_letters(kafka.bootstrap) == 0
