"""`rejudge` with another detector next to live traffic on a real Kafka, stopped and run again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from detector.detector import Detector
from detector.encoders.choice import sentence_encoder
from detector.encoders.minilm_files import ModelMissing
from detector.model import Message, Neighbourhood
from servicekit.log.topics import ensure_topics
from standalone.embedded.postgres import EmbeddedPostgres
from tests.support.command import COMMAND, HANG_SECONDS, agent_feedback, state_folder
from tests.support.local_kafka import LocalKafka
from tests.support.processes import Members, publish, stop_service, until_quiet

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]
EXCHANGES = Path(__file__).parents[2] / "training" / "generated.jsonl"
CONVERSATIONS = 400
SINCE = "2026-01-01T00:00:00Z"
SECOND = 1_000_000
WAITING = "select count(*) from pg_locks where not granted and relation = 'inference.verdicts'::regclass"
WORDS: dict[str, Any] = {"INFERENCE_SENTENCE_ENCODER": "none"}
SENTENCES: dict[str, Any] = {"INFERENCE_SENTENCE_ENCODER": "minilm"}
Verdicts = dict[str, tuple[str, str]]
"""By conversation, the announced verdict on its last message: the detector's version and the reaction."""


def conversation(name: str, row: dict[str, str]) -> list[dict[str, Any]]:
    """Return a question, an answer and a message after it, as a chat service writes them."""
    place = {"topic": "chat.message.ingested", "tenant": "acme", "project": "support", "conversationId": name}
    said = (("q", "ann", row["request"]), ("a", "bot", row["answer"]), ("m", "ann", row["message"]))
    return [
        {
            **place,
            "eventId": f"{name}-{kind}",
            "occurredAt": f"2026-01-02T10:00:{10 * number:02}Z",
            "messageId": kind,
            "turnId": "t2" if kind == "m" else "t1",
            "senderId": sender,
            "senderType": "agent" if kind == "a" else "human",
            **({"agentId": "bot"} if kind == "a" else {}),
            "content": content,
        }
        for number, (kind, sender, content) in enumerate(said)
    ]


@cache
def rows() -> tuple[dict[str, str], ...]:
    """Return requests, answers and messages, no two alike."""
    found = [json.loads(line) for line in EXCHANGES.read_text("utf-8").splitlines()]
    return tuple(row for row in found if row["request"] and row["answer"] and row["message"])[:CONVERSATIONS]


@cache
def detector(encoder: str) -> Detector:
    try:
        return Detector.default(sentence_encoder(encoder, print))
    except ModelMissing as error:
        pytest.skip(str(error))


def fresh(encoder: str) -> Verdicts:
    """Return the verdicts of a detector, judged here without any service."""
    judge = detector(encoder)
    items = []
    for row in rows():
        before = (
            Message("q", "t1", "ann", "human", None, row["request"], 0),
            Message("a", "t1", "bot", "agent", "bot", row["answer"], 10 * SECOND),
        )
        items.append(Neighbourhood(before, Message("m", "t2", "ann", "human", None, row["message"], 20 * SECOND)))
    return {
        f"c{number}": (str(judge.version), str(verdict.reaction))
        for number, verdict in enumerate(judge.judge(items))
        if verdict.emitted
    }


@dataclass
class Platform:
    """Kafka, PostgreSQL and the processes of services on both."""

    broker: str
    database: str
    members: Members

    async def publish(self, events: Sequence[dict[str, Any]]) -> None:
        await publish(self.broker, [json.dumps(event).encode() for event in events])

    async def quiet(self) -> None:
        await until_quiet(self.broker, within=200)

    async def fetch(self, query: str, *given: Any) -> list[asyncpg.Record]:
        connection = await asyncpg.connect(self.database)
        try:
            return list(await connection.fetch(query, *given))
        finally:
            await connection.close()

    async def counting(self) -> Verdicts:
        """Return the machine's verdicts that count in the reports."""
        found = await self.fetch(
            "select conversation_id, detector, reaction from reporting.effective where origin = 'machine'"
        )
        assert len(found) == len({row["conversation_id"] for row in found}), "a verdict counts twice"
        return {row["conversation_id"]: (row["detector"], row["reaction"]) for row in found}

    def rejudging(self, *more: str) -> tuple[str, ...]:
        return ("rejudge", "--broker", self.broker, "--database", self.database, "--json", *more)


@pytest_asyncio.fixture
async def platform(tmp_path: Path) -> AsyncIterator[Platform]:
    detector("minilm")
    async with (
        state_folder() as state,
        LocalKafka(tmp_path / "kafka") as kafka,
        EmbeddedPostgres(state / "postgres") as postgres,
        Members(kafka.bootstrap, postgres.url, tmp_path / "services.log") as members,
    ):
        await ensure_topics(kafka.bootstrap)
        for name in ("chat_bridge", "feedback", "reporting"):
            await members.start(name)
        yield Platform(kafka.bootstrap, postgres.url, members)


async def test_judging_again_is_stopped_finished_and_retracts_beside_live_traffic(platform: Platform) -> None:
    events = [event for number, row in enumerate(rows()) for event in conversation(f"c{number}", row)]
    words, sentences = fresh("none"), fresh("minilm")
    process = await platform.members.start("inference", WORDS)
    await platform.publish(events)
    await platform.quiet()
    before = await platform.fetch("select feedback_id, revision from feedback.feedback")
    await stop_service(process)

    compared = await agent_feedback(*platform.rejudging("--since", SINCE, "--dry-run"), **SENTENCES)
    expected = {
        "withdrawn": len(words.keys() - sentences.keys()),
        "added": len(sentences.keys() - words.keys()),
        "reversed": sum(words[one][1] != sentences[one][1] for one in words.keys() & sentences.keys()),
        "moved": 0,
    }
    assert {name: compared.facts[name] for name in expected} == expected
    assert min(expected["withdrawn"], expected["added"]) > 0
    assert await platform.counting() == words

    await platform.members.start("inference", SENTENCES)
    holder = await asyncpg.connect(platform.database)
    try:
        run = await asyncio.create_subprocess_exec(
            COMMAND, *platform.rejudging("--since", SINCE), stdout=PIPE, stderr=PIPE, env=os.environ | SENTENCES
        )
        async with asyncio.timeout(120):
            while not await holder.fetchval("select max(mode) > 0 from inference.verdicts"):
                await asyncio.sleep(0.02)
        async with holder.transaction():
            await holder.execute("lock table inference.verdicts in share mode")  # no further batch can end
            async with asyncio.timeout(120):
                # PostgreSQL ignores a request to cancel a statement that it has not begun.
                while not await holder.fetchval(WAITING):
                    await asyncio.sleep(0.02)
            run.send_signal(signal.SIGINT)
            out, err = await asyncio.wait_for(run.communicate(), HANG_SECONDS)
        assert run.returncode == 130, (out, err)
        assert 0 < await holder.fetchval("select count(*) from inference.verdicts where mode > 0") < 2 * len(rows())
    finally:
        await holder.close()

    live = [event for number, row in enumerate(rows()[:50]) for event in conversation(f"live{number}", row)]
    resumed, _ = await asyncio.gather(agent_feedback(*platform.rejudging(), **SENTENCES), platform.publish(live))
    assert resumed.code == 0, resumed.err
    await platform.quiet()

    held = await platform.counting()
    assert {name: one for name, one in held.items() if name.startswith("c")} == sentences
    assert {name: one for name, one in held.items() if name.startswith("live")} == {
        f"live{name[1:]}": one for name, one in sentences.items() if int(name[1:]) < 50
    }
    earlier = {row["feedback_id"]: row["revision"] for row in before}
    after = {row["feedback_id"]: row for row in await platform.fetch("select * from feedback.feedback")}
    cleared = {one for one in earlier if not after[one]["live"]}
    assert len(cleared) == expected["withdrawn"]
    assert all(after[one]["revision"] > earlier[one] for one in cleared)
    compared = await agent_feedback(*platform.rejudging("--since", SINCE, "--dry-run"), **SENTENCES)
    assert compared.facts["judged"] == 0
    verified = await agent_feedback(
        "ledger", "verify", "--broker", platform.broker, "--store", platform.database, "--json"
    )
    assert verified.code == 0, verified.out
