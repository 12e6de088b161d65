"""Processes of every service join and leave on a real Kafka while real conversations are processed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import asyncpg
import pytest

from servicekit.log.topics import ensure_topics
from standalone.embedded.postgres import EmbeddedPostgres
from tests.support.command import said_at, state_folder
from tests.support.local_kafka import LocalKafka
from tests.support.processes import GROUPS, Members, publish, stop_service, until_joined, until_quiet
from tests.support.recount import CHAT_EVENTS, lines_of, needs_samples, recount

pytestmark = [pytest.mark.real, needs_samples, pytest.mark.samples]


async def test_nothing_is_lost_or_doubled_while_members_come_and_go(tmp_path: Path) -> None:
    log = tmp_path / "services.log"
    async with (
        state_folder() as state,
        LocalKafka(tmp_path / "kafka") as kafka,
        EmbeddedPostgres(state / "postgres") as postgres,
        Members(kafka.bootstrap, postgres.url, log) as members,
    ):
        await ensure_topics(kafka.bootstrap)
        lines = lines_of(CHAT_EVENTS)
        thirds = [lines[: len(lines) // 3], lines[len(lines) // 3 : len(lines) * 2 // 3], lines[len(lines) * 2 // 3 :]]
        first = {name: await members.start(name) for name in GROUPS}
        second = {}
        for number, third in enumerate(thirds):
            await publish(kafka.bootstrap, third)
            if number == 0:
                second = {name: await members.start(name) for name in GROUPS}
                for group in (group for groups in GROUPS.values() for group in groups):
                    await until_joined(kafka.bootstrap, group, 2)
            if number == 1:
                for process in first.values():
                    await stop_service(process)
                first = {name: await members.start(name) for name in GROUPS}
        await until_quiet(kafka.bootstrap, within=150)
        for process in (*first.values(), *second.values()):
            await stop_service(process)

        expected = recount(lines)
        assert await said_at(postgres.url) == expected
        connection = await asyncpg.connect(postgres.url)
        shown = await connection.fetch(
            "select reaction, count(*) as n from reporting.effective where origin = 'user' group by reaction"
        )
        await connection.close()
        reactions = Counter(said.reaction for said in expected if said.kind == "reaction")
        assert {row["reaction"]: row["n"] for row in shown} == reactions
        assert '"event": "bug"' not in log.read_text()
