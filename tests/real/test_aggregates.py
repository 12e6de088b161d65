"""`feedback.aggregated` on a real Kafka: two processes, one of them killed, sum up what the verdicts amount to."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from contracts.feedback import FeedbackReactionReceived
from contracts.topics import FEEDBACK_AGGREGATED, FEEDBACK_CREATED, REACTION_RECEIVED
from proofs.chaos.logs import records_of
from servicekit.log.cluster import Bootstrap
from servicekit.log.messages import Message
from servicekit.log.producer import BatchProducer
from servicekit.log.topics import ensure_topics
from tests.support.aggregate_recount import Raw, announced, recounted
from tests.support.local_kafka import LocalKafka
from tests.support.processes import Members, stop_service

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]
SETTINGS = {"FEEDBACK_AGGREGATE_AFTER": "5", "FEEDBACK_AGGREGATE_QUIET_SECONDS": "1"}
TURNS, PEOPLE = 40, 12
EMOJIS = {"👍": 0.6, "❤️": 0.8, "👎": -0.6}


def reaction(turn: int, person: int, emoji: str) -> Message:
    event = FeedbackReactionReceived(
        event_id=f"{turn}-{person}",
        occurred_at=1_790_000_000_000_000 + person,
        tenant="acme",
        project="support",
        conversation_id=f"c{turn % 7}",
        turn_id=f"t{turn}",
        agent_id="bot",
        agent_message_id=f"m{turn}",
        agent_message_content="It opens at nine.",
        reaction_user_id=f"p{person}",
        reaction_user_type="human",
        emoji=emoji,
    )
    return Message.of(REACTION_RECEIVED, event)


async def raw(broker: Bootstrap, topic: str) -> list[Raw]:
    return [Raw(one.key.decode(), one.value) for one in await records_of(broker, topic)]


async def test_two_processes_of_which_one_is_killed_sum_up_every_verdict(postgres_url: str, tmp_path: Path) -> None:
    choose = random.Random(7)
    given = {(turn, person): choose.choice(sorted(EMOJIS)) for turn in range(TURNS) for person in range(PEOPLE)}
    order = sorted(given, key=lambda _: choose.random())
    async with LocalKafka(tmp_path / "kafka") as kafka:
        await ensure_topics(kafka.bootstrap)
        producer = BatchProducer(kafka.bootstrap, client_id="chat")
        async with Members(kafka.bootstrap, postgres_url, tmp_path / "members.log") as members:
            killed = await members.start("feedback", SETTINGS)
            stays = await members.start("feedback", SETTINGS)
            for start in range(0, len(order), 60):
                await producer.send([reaction(*one, given[one]) for one in order[start : start + 60]])
                if start == 240:
                    await _until(kafka.bootstrap, lambda events: len(events) > 0)
                    killed.kill()
                    await killed.wait()
            again = await members.start("feedback", SETTINGS)
            await producer.stop()

            rewards: defaultdict[int, list[float]] = defaultdict(list)
            for (turn, _), emoji in given.items():
                rewards[turn].append(EMOJIS[emoji])
            expected = {
                ("acme", "support", f"c{turn % 7}", f"t{turn}", "bot"): (len(values), round(fmean(values), 9))
                for turn, values in rewards.items()
            }
            await _until(kafka.bootstrap, lambda events: announced(events) == expected)
            recount = recounted(await raw(kafka.bootstrap, FEEDBACK_CREATED.name))
            assert announced(await raw(kafka.bootstrap, FEEDBACK_AGGREGATED.name)) == recount
            await stop_service(stays)
            await stop_service(again)
        events = await raw(kafka.bootstrap, FEEDBACK_AGGREGATED.name)
        assert announced(events) == expected
        last = {one.key: one for one in events}
        assert announced(last.values()) == expected, "compaction keeps the last record of a key"


async def _until(broker: Bootstrap, holds: Any) -> None:
    async with asyncio.timeout(150):
        while not holds(await raw(broker, FEEDBACK_AGGREGATED.name)):
            await asyncio.sleep(0.5)
