"""Contract of inference's index of turns, in PostgreSQL."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

import inference.service
from contracts.chat import ChatMessageIngested
from detector.detector import Detector
from detector.encoders.embedder import WordLlamaEmbedder
from detector.model import CorrectionType, Feedback, Message, Reaction, Target, Verdict
from inference.handlers import ConversationHandler
from inference.store import ConversationKey, IndexedMessage, Placed
from inference.store_postgres import PostgresConversationStore
from inference.turns.facts import facts_of, joined
from inference.turns.rules import Turn, TurnKey
from inference.turns.store import StrategyFilter, UserReaction
from inference.turns.store_postgres import PostgresTurnIndex
from inference.turns.vectors import TurnVectors
from inference.turns.vectors_postgres import take_bytes
from servicekit.db.pools import open_pool
from servicekit.log.messages import Written
from servicekit.log.records import Coordinates, RawRecord, Received
from tests.support.turn_database import url_without_pgvector

MIGRATIONS = Path(inference.service.__file__).parent / "migrations"
HERE = ConversationKey("acme", "p", "c1")
TABLES = "truncate messages, turns, verdicts, user_reactions"
TYPE = "select pg_typeof(user_vector)::text from (select null) one left join turns on false"
MINUTE = 60_000_000
VECTOR = TurnVectors(WordLlamaEmbedder())


@pytest_asyncio.fixture(params=["halfvec", "real[]"])
async def pool(request: pytest.FixtureRequest, postgres_url: str) -> AsyncIterator[Any]:
    """Yield the empty tables, in a database with pgvector and in one without."""
    url = postgres_url if request.param == "halfvec" else await url_without_pgvector(postgres_url)
    opened = await open_pool(url, "inference", MIGRATIONS, size=2, init=take_bytes)
    assert await opened.fetchval(TYPE) == request.param
    await opened.execute(TABLES)
    yield opened
    await opened.close()


@pytest_asyncio.fixture
async def turns(pool: Any) -> PostgresTurnIndex:
    return await PostgresTurnIndex.over(pool, VECTOR)


def key(turn_id: str) -> TurnKey:
    return TurnKey(*HERE, turn_id)


def verdict(feedback: Feedback, confidence: float, turn_id: str | None, evaluation: int, *, by: str = "m9") -> Any:
    target = None if turn_id is None else Target(turn_id, f"{turn_id}-a", "bot", 0.9, 0.9, 1.0, 1)
    kind: CorrectionType | None = "explicit" if feedback == "rejected" else None
    reactions: dict[Feedback, Reaction | None] = {"rejected": "not_ok", "accepted": "ok", "neutral": None}
    reaction = reactions[feedback]
    said = Verdict(feedback, reaction, confidence, kind, "no", target, (), "rules", "neutral")
    message = Message(by, f"t-{by}", "ann", "human", None, "no", 50)
    return Placed(IndexedMessage(HERE, message, b""), evaluation, None, None), said


def judged(
    number: int,
    status: Feedback | None,
    revision: int,
    at: int = 60,
    *,
    explicit: bool = True,
    user: str | None = None,
) -> UserReaction:
    tags = ("wrong",) if status == "rejected" else ()
    who = user or f"u{number}"
    return UserReaction(UUID(int=number), key("t1"), who, explicit, False, status, None, tags, None, at, revision)


def message(name: str, at: int, text: str, *, turn: str | None = None, agent: bool = False, **fields: Any) -> Any:
    return ChatMessageIngested(
        event_id=f"{name}-{at}",
        occurred_at=at,
        tenant=HERE.tenant,
        project=HERE.project,
        conversation_id=HERE.conversation_id,
        message_id=name,
        turn_id=turn,
        sender_id="bot" if agent else "ann",
        sender_type="agent" if agent else "human",
        agent_id="bot" if agent else None,
        content=text,
        **fields,
    )


async def status(turns: PostgresTurnIndex, turn_id: str = "t1") -> tuple[Any, ...]:
    found = await turns.find(key(turn_id))
    return (None,) if found is None else (found.status, found.confidence, found.rejection_detected_in)


VECTORS = """
select coalesce(likeness(user_vector, turn_vector($1)), 0), coalesce(likeness(assistant_vector, turn_vector($2)), 0)
from turns
"""


async def test_halves_of_a_turn_join_in_any_order(turns: PostgresTurnIndex, pool: Any) -> None:
    events = [
        message("q", 10, "When?", turn="t1"),
        message("a", 20, "At nine.", turn="t1", agent=True, strategy="lookup", quality_score=0.8),
        message("a", 25, "At ten.", turn="t1", agent=True, strategy="repair", quality_score=0.9),
        message("q", 12, "When exactly?", turn="t1"),
    ]
    seen = set()
    for order in permutations(events):
        await pool.execute(TABLES)
        for event in order:
            await turns.take([facts_of(event)], [])
        seen.add(await turns.find(key("t1")))
        alike = await pool.fetchrow(VECTORS, VECTOR.of("When exactly?"), VECTOR.of("At ten."))
        assert tuple(alike) == pytest.approx((1, 1), abs=1e-3)
        await pool.execute(TABLES)
        await turns.take(joined(map(facts_of, order)), [])
        seen.add(await turns.find(key("t1")))
    (turn,) = seen
    assert turn == Turn(
        key("t1"), "ann", "When exactly?", "bot", "a", "At ten.", 10, strategy="repair", quality_score=0.9
    )


async def test_a_verdict_stands_until_a_later_look_says_otherwise(turns: PostgresTurnIndex) -> None:
    await turns.take([], [verdict("rejected", 0.9, "t1", 5)])
    assert await status(turns) == ("rejected", 0.9, "t-m9")
    await turns.take([], [verdict("accepted", 0.7, "t2", 6)])
    assert await status(turns) == ("neutral", 0.5, None)
    assert await status(turns, "t2") == ("accepted", 0.7, None)
    await turns.take([], [verdict("neutral", 0.5, None, 7)])
    await turns.take([], [verdict("rejected", 0.9, "t1", 6)])
    assert await status(turns) == ("neutral", 0.5, None)
    assert await status(turns, "t2") == ("neutral", 0.5, None)


async def test_of_two_messages_about_a_turn_the_announced_one_stands(turns: PostgresTurnIndex) -> None:
    await turns.take([], [verdict("rejected", 0.9, "t1", 5, by="m1"), verdict("accepted", 0.5, "t1", 5, by="m2")])
    assert await status(turns) == ("rejected", 0.9, "t-m1")
    await turns.take([], [verdict("neutral", 0.5, None, 6, by="m1")])
    assert await status(turns) == ("accepted", 0.5, None)


async def test_a_person_beats_the_machine_and_taking_back_falls_back(turns: PostgresTurnIndex) -> None:
    await turns.take([], [verdict("rejected", 0.9, "t1", 5)])
    assert await turns.take_reactions([judged(1, "accepted", 1)]) == {UUID(int=1)}
    assert await status(turns) == ("accepted", 1.0, None)
    assert await turns.take_reactions([judged(1, None, 2)]) == {UUID(int=1)}
    assert await status(turns) == ("rejected", 0.9, "t-m9")
    assert await turns.take_reactions([judged(1, "accepted", 1)]) == set()
    assert await status(turns) == ("rejected", 0.9, "t-m9")


async def test_where_the_newest_judgement_is_taken_back_the_one_before_counts(turns: PostgresTurnIndex) -> None:
    await turns.take_reactions([judged(1, "rejected", 1, at=60), judged(2, "accepted", 1, at=70)])
    assert await status(turns) == ("accepted", 1.0, None)
    await turns.take_reactions([judged(2, None, 2, at=80)])
    assert await status(turns) == ("rejected", 1.0, None)


async def test_a_persons_newest_of_explicit_and_live_emoji_is_their_verdict(turns: PostgresTurnIndex) -> None:
    emoji = partial(judged, explicit=False, user="ann")
    await turns.take([], [verdict("rejected", 0.9, "t1", 5)])
    await turns.take_reactions([emoji(1, "accepted", 1, at=60)])
    assert await status(turns) == ("accepted", 1.0, None)
    await turns.take_reactions([judged(2, "rejected", 1, at=70, user="ann")])
    assert (await status(turns))[:2] == ("rejected", 1.0)
    await turns.take_reactions([emoji(1, "accepted", 2, at=80)])
    assert (await status(turns))[:2] == ("accepted", 1.0)
    await turns.take_reactions([emoji(1, None, 3, at=90)])
    assert (await status(turns))[:2] == ("rejected", 1.0), "an emoji that was taken away leaves the one before"
    await turns.take_reactions([judged(2, None, 2, at=95, user="ann"), emoji(3, "accepted", 1, at=94)])
    assert (await status(turns))[:2] == ("rejected", 0.9), "an explicit null that is newest leaves none of the person's"


async def test_revisions_and_verdicts_end_alike_in_any_order(turns: PostgresTurnIndex, pool: Any) -> None:
    steps: Sequence[Any] = [
        judged(1, "accepted", 1),
        judged(1, "rejected", 2),
        judged(2, "neutral", 1, at=40),
        verdict("accepted", 0.7, "t1", 3),
        verdict("rejected", 0.9, "t1", 4),
    ]
    seen = set()
    for order in permutations(steps):
        await pool.execute(TABLES)
        for step in order:
            await (turns.take_reactions([step]) if isinstance(step, UserReaction) else turns.take([], [step]))
        found = await turns.find(key("t1"))
        assert found is not None and found.machine is not None and found.user is not None
        seen.add((found.status, found.confidence, found.rejection_detected_in, found.machine.status, found.user.tags))
    assert seen == {("rejected", 1.0, "t-m9", "rejected", ("wrong",))}


async def test_feedback_on_an_unseen_turn_makes_a_stub_that_the_message_fills(turns: PostgresTurnIndex) -> None:
    await turns.take_reactions([judged(1, "rejected", 1)])
    stub = await turns.find(key("t1"))
    assert stub is not None and (stub.status, stub.assistant_text) == ("rejected", None)
    await turns.take([facts_of(message("a", 20, "At nine.", turn="t1", agent=True))], [])
    filled = await turns.find(key("t1"))
    assert filled is not None and (filled.status, filled.assistant_text) == ("rejected", "At nine.")


async def test_a_forgotten_person_leaves_no_judgement(turns: PostgresTurnIndex, pool: Any) -> None:
    await turns.take_reactions([judged(1, "rejected", 1), judged(2, "accepted", 1, at=10)])
    await turns.forget([UUID(int=1), UUID(int=77)])
    assert await status(turns) == ("accepted", 1.0, None)
    assert await pool.fetchval("select count(*) from user_reactions") == 1


async def test_search_gives_accepted_before_neutral_by_quality_and_none_rejected(turns: PostgresTurnIndex) -> None:
    qualities = {"t1": 0.9, "t2": 0.4, "t3": 0.8, "t4": 0.6, "t5": None}
    await turns.take(
        [
            facts_of(
                message(f"{turn}-a", 20, "x", turn=turn, agent=True, strategy="s", intent="price", quality_score=q)
            )
            for turn, q in qualities.items()
        ],
        [verdict("rejected", 0.9, "t1", 5, by="m1"), verdict("accepted", 0.7, "t2", 5, by="m2")],
    )
    await turns.take([facts_of(message("plain", 20, "x", turn="t6", agent=True, quality_score=1.0))], [])
    found = await turns.search(StrategyFilter(HERE.tenant, HERE.project), 10)
    assert [turn.key.turn_id for turn in found] == ["t2", "t3", "t4", "t5"]
    assert [turn.ranking_score for turn in found] == [0.44, 0.48, 0.36, 0.0]
    assert [turn.key.turn_id for turn in await turns.search(StrategyFilter(HERE.tenant, HERE.project, "price"), 2)] == [
        "t2",
        "t3",
    ]
    assert await turns.search(StrategyFilter(HERE.tenant, HERE.project, "other"), 10) == []
    assert await turns.search(StrategyFilter("globex", HERE.project), 10) == []


async def test_the_latest_turns_come_newest_first(turns: PostgresTurnIndex) -> None:
    for number in (1, 3, 2):
        await turns.take([facts_of(message(f"a{number}", number, "x", turn=f"t{number}", agent=True))], [])
    await turns.take([facts_of(message("q", 4, "x", turn="t4"))], [])
    assert [turn.key.turn_id for turn in await turns.latest(HERE, 9, 2)] == ["t3", "t2"]
    assert [turn.key.turn_id for turn in await turns.latest(HERE, 2, 5)] == ["t2", "t1"]


CONVERSATION = [
    message("q1", 1 * MINUTE, "When does the museum open?"),
    message("a1", 2 * MINUTE, "The museum opens at nine.", agent=True),
    message("q2", 3 * MINUTE, "That's wrong, it opens at ten."),
    message("a2", 4 * MINUTE, "You are right, it opens at ten.", agent=True, strategy="repair"),
    message("q3", 5 * MINUTE, "Thanks, that helps!"),
]


def received(event: ChatMessageIngested, offset: int) -> Received[ChatMessageIngested]:
    return Received(event, RawRecord(Coordinates("chat.message.ingested", 0, offset), None, None, (), 0))


class Discarding:
    async def send(self, messages: Sequence[Any]) -> list[Written]:
        return []


async def test_messages_in_any_order_and_batches_end_in_the_same_turns(turns: PostgresTurnIndex, pool: Any) -> None:
    detector = Detector.default()
    seen: list[list[Any]] = []
    shuffled = random.Random(7)
    for size in (5, 1, 2, 1, 3, 1):
        await pool.execute(TABLES)
        handler = ConversationHandler(PostgresConversationStore(pool), turns, Discarding(), detector)
        order = [
            Received(event, RawRecord(Coordinates("t", 0, n), None, None, (), 0))
            for n, event in enumerate(CONVERSATION)
        ]
        if seen:
            shuffled.shuffle(order)
        for start in range(0, len(order), size):
            await handler.handle(order[start : start + size])
        seen.append([await turns.find(key(name)) for name in ("q1", "a1", "q2", "a2", "q3")])
    first, second = seen[0][1], seen[0][3]
    assert first is not None and second is not None
    assert (first.status, first.rejection_detected_in, first.correction_type) == ("rejected", "q2", "explicit")
    assert (first.user_text, first.user_said) == ("When does the museum open?", "That's wrong, it opens at ten.")
    assert (second.status, second.rejection_detected_in, second.user_said) == ("accepted", None, "Thanks, that helps!")
    assert (second.user_text, second.strategy) == ("That's wrong, it opens at ten.", "repair")
    assert all(one == seen[0] for one in seen)
