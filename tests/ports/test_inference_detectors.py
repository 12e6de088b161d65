"""Two detectors in one group: the log ends with the same verdict in any order of their judgements."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

import inference.service
from contracts.detectors import precedence
from contracts.feedback import FeedbackInferredReceived
from detector.encoders.embedder import WordLlamaEmbedder
from inference.handlers import ConversationHandler
from inference.llm_gate.gate import LlmGate
from inference.store_postgres import PostgresConversationStore
from inference.turns.store_postgres import PostgresTurnIndex
from inference.turns.vectors import TurnVectors
from servicekit.db.pools import open_pool
from tests.support.feedback_events import RecordingProducer
from tests.support.known_detectors import KnownDetector
from tests.support.reporting_events import batch, message

SCHEMA = Path(inference.service.__file__).parent / "sql" / "schema.sql"
TABLES = "truncate messages, turns, verdicts, rejudgements"
OLD = KnownDetector("2026-11-01.ffffffff", {"wrong": "rejected", "thanks": "accepted"})
NEW = KnownDetector("2026-11-23.00000000", {"wrong": "accepted"})
WORDS = KnownDetector("2026-11-24.00000000-words", {"thanks": "rejected"})
CHAT = [
    message("q1", content="When does it open?", at=0),
    message("a1", content="It opens at nine.", agent="bot", at=5),
    message("q2", content="wrong", turn="t2", at=60),
    message("q3", content="thanks", turn="t3", at=70),
]
VECTORS = TurnVectors(WordLlamaEmbedder())


class Group:
    """Processes with different detectors on one database and one log."""

    def __init__(self, pool: Any) -> None:
        self.pool, self.log = pool, RecordingProducer()

    async def handler(self, detector: Any, gate: LlmGate | None = None) -> ConversationHandler:
        turns = PostgresTurnIndex(self.pool, VECTORS)
        return ConversationHandler(PostgresConversationStore(self.pool), turns, self.log, detector, gate)

    async def take(self, detector: Any) -> None:
        await (await self.handler(detector)).handle(batch(*CHAT))

    @property
    def events(self) -> list[FeedbackInferredReceived]:
        return [FeedbackInferredReceived.model_validate_json(one.value or b"") for one in self.log.sent]

    @property
    def standing(self) -> dict[str, tuple[str | None, str]]:
        """Return the final verdict of each message for a consumer, and its detector."""
        newest: dict[str, FeedbackInferredReceived] = {}
        for event in sorted(self.events, key=lambda e: (e.epoch, precedence(e.detector_version), e.evaluation)):
            newest[event.detected_in_message_id] = event
        return {name: (event.verdict, event.detector_version) for name, event in newest.items()}


@pytest_asyncio.fixture
async def group(postgres_url: str) -> AsyncIterator[Group]:
    pool = await open_pool(postgres_url, "inference", SCHEMA, size=6)
    await pool.execute(TABLES)
    yield Group(pool)
    await pool.close()


@pytest.mark.parametrize("order", list(itertools.permutations([OLD, NEW, WORDS])), ids=str)
async def test_the_latest_detector_with_an_encoder_has_the_last_word(group: Group, order: list[KnownDetector]) -> None:
    for detector in order:
        await group.take(detector)
    assert group.standing["q2"] == ("accepted", NEW.version)
    assert group.standing.get("q3", (None, NEW.version)) == (None, NEW.version), "an old verdict does not stand alone"
    status = await group.pool.fetch("select turn_id, machine_status from turns where machine_status is not null")
    assert {row["machine_status"] for row in status} == {"accepted"}


async def test_processes_that_race_end_with_the_same_verdicts(group: Group) -> None:
    for _ in range(15):
        await group.pool.execute(TABLES)
        group.log.sent.clear()
        await asyncio.gather(*(group.take(detector) for detector in (OLD, NEW, WORDS, OLD)))
        assert group.standing["q2"] == ("accepted", NEW.version)
        assert group.standing.get("q3", (None, ""))[0] is None


async def test_a_repeated_judgement_is_the_same_event_and_a_later_epochs_another(group: Group) -> None:
    await group.take(OLD)
    first = [event.event_id for event in group.events]
    await group.take(OLD)
    assert [event.event_id for event in group.events] == first * 2
    await group.pool.execute("insert into rejudgements (epoch, since, detector) values (7, 0, 'x')")
    await group.take(OLD)
    last = group.events[len(first) * 2 :]
    assert {event.epoch for event in last} == {7}
    assert not {event.event_id for event in last} & set(first)


async def test_another_language_model_is_another_detector(group: Group) -> None:
    unasked: Any = None  # every verdict of these detectors is settled
    versions = []
    for model in ("small", "large"):
        handler = await group.handler(OLD, LlmGate(unasked, unasked, unasked, model=model, seconds=1))
        await handler.handle(batch(*CHAT))
        versions.append(handler.judging.version)
        assert group.standing["q2"] == ("rejected", max(versions))
    assert len({*versions, OLD.version}) == 3
    await group.take(NEW)
    assert group.standing["q2"] == ("rejected", max(versions)), "a process that lacks the model overrides nothing"


async def test_an_older_detector_holds_in_a_later_epoch(group: Group) -> None:
    await group.take(NEW)
    await group.pool.execute("insert into rejudgements (epoch, since, detector) values (7, 0, 'x')")
    await group.take(OLD)
    assert group.standing == {"q2": ("rejected", OLD.version), "q3": ("accepted", OLD.version)}
    await group.pool.execute("delete from rejudgements")
    await group.take(NEW)
    assert group.standing["q2"] == ("rejected", OLD.version), "an epoch that was forgotten overrides nothing"
