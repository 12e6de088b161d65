"""Contract of inference's index of turns, in PostgreSQL."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

import inference.service
import inference.turns.search
from contracts.chat import ChatMessageIngested
from contracts.detectors import DetectorVersion
from contracts.erasure import ERASURE_MARGIN
from contracts.feedback import FeedbackCreated, FeedbackErased
from contracts.message_fields import TurnKey
from detector.detector import Detector
from detector.encoders.embedder import Vectors, WordLlamaEmbedder
from detector.model import CorrectionType, Feedback, Message, Reaction, Target, Verdict
from inference.handlers import ConversationHandler
from inference.judging import Judging
from inference.model import ConversationKey, IndexedMessage
from inference.store import ConversationStore
from inference.turns.facts import Facts, Question, Reply, facts_of, joined
from inference.turns.model import PersonTurns, PreviousVerdict, StrategyFilter, UserReaction
from inference.turns.rules import Turn
from inference.turns.search import LATEST, NEAREST
from inference.turns.store import TurnIndex
from inference.turns.user_reactions import NO_REACTION, UserReactionHandler, reaction_of
from inference.turns.vectors import TurnVectors
from servicekit.db.pools import open_pool
from servicekit.log.records import Coordinates, RawRecord, Received, Written
from tests.support.filled_rows import insert
from tests.support.logs import NOW, example

SCHEMA = inference.sql.SQL.schema


HERE = ConversationKey("acme", "p", "c1")
DETECTOR = DetectorVersion(3, 1, "a1b2c3d4")


TABLES = "truncate messages, turns, verdicts, user_reactions"


MINUTE = 60_000_000


VECTORS = TurnVectors(WordLlamaEmbedder())


@pytest_asyncio.fixture
async def pool(postgres_url: str) -> AsyncIterator[Any]:
    """Yield the empty tables."""
    opened = await open_pool(postgres_url, "inference", SCHEMA, size=2)
    await opened.execute(TABLES)
    yield opened
    await opened.close()


@pytest_asyncio.fixture
async def turns(pool: Any) -> TurnIndex:
    return TurnIndex(pool, VECTORS)


def key(turn_id: str) -> TurnKey:
    return TurnKey(*HERE, turn_id)


def verdict(feedback: Feedback, confidence: float, turn_id: str | None, evaluation: int, *, by: str = "m9") -> Any:
    target = None if turn_id is None else Target(turn_id, f"{turn_id}-a", "bot", 0.9, 0.9, 1.0, 1)
    kind: CorrectionType | None = "explicit" if feedback == "rejected" else None
    reactions: dict[Feedback, Reaction | None] = {"rejected": "not_ok", "accepted": "ok", "neutral": None}
    reaction = reactions[feedback]
    said = Verdict(feedback, reaction, confidence, kind, "no", target, (), "rules", "neutral")
    message = Message(by, f"t-{by}", "ann", "human", None, "no", 50)
    return IndexedMessage(HERE, message, b"", b"", evaluation=evaluation), said


def judged(
    number: int, status: Feedback | None, revision: int, at: int = 60, *, explicit: bool = True, user: str | None = None
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


async def status(turns: TurnIndex, turn_id: str = "t1") -> tuple[Any, ...]:
    """Return the status as queries show it; the table's generated columns must be equal."""
    found = await turns.turn(key(turn_id))
    stored = await turns._pool.fetchrow(
        "select user_feedback_status, feedback_confidence, rejection_detected_in from turns where turn_id = $1", turn_id
    )
    shown = (None,) if found is None else (found.status, found.feedback.confidence, found.rejection_detected_in)
    assert shown == ((None,) if stored is None else tuple(stored))
    return shown


async def test_halves_of_a_turn_join_in_any_order(turns: TurnIndex, pool: Any) -> None:
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
            await turns.take([facts_of(event)], [], DETECTOR)
        seen.add(await turns.turn(key("t1")))
        vectors = await pool.fetchrow("select user_vector, assistant_vector from turns")
        assert tuple(vectors) == tuple(VECTORS.stored(["When exactly?", "At ten."]).values())
        await pool.execute(TABLES)
        await turns.take(joined(map(facts_of, order)), [], DETECTOR)
        seen.add(await turns.turn(key("t1")))
    (turn,) = seen
    assert turn == Turn(
        key("t1"), "ann", "When exactly?", "bot", "a", "At ten.", 10, strategy="repair", quality_score=0.9
    )


async def test_a_question_that_was_read_before_its_writers_erasure_is_not_stored(turns: TurnIndex, pool: Any) -> None:
    await pool.execute("insert into erasures values ($1, 'ann', 'r', 15)", HERE.tenant)
    late = 16 + ERASURE_MARGIN
    asked = [message(name, at, "When?", turn=name) for name, at in (("q1", 10), ("q2", late))]
    await turns.take([facts_of(question) for question in asked], [], DETECTOR)
    await pool.execute("truncate erasures")
    stored = await pool.fetch("select user_id, user_text, user_vector is null from turns order by turn_id")
    assert [tuple(row) for row in stored] == [(None, None, True), ("ann", "When?", False)]


async def test_a_verdict_stands_until_a_later_look_says_otherwise(turns: TurnIndex) -> None:
    await turns.take([], [verdict("rejected", 0.9, "t1", 5)], DETECTOR)
    assert await status(turns) == ("rejected", 0.9, "t-m9")
    await turns.take([], [verdict("accepted", 0.7, "t2", 6)], DETECTOR)
    assert await status(turns) == ("neutral", 0.5, None)
    assert await status(turns, "t2") == ("accepted", 0.7, None)
    await turns.take([], [verdict("neutral", 0.5, None, 7)], DETECTOR)
    await turns.take([], [verdict("rejected", 0.9, "t1", 6)], DETECTOR)
    assert await status(turns) == ("neutral", 0.5, None)
    assert await status(turns, "t2") == ("neutral", 0.5, None)


async def test_of_two_messages_about_a_turn_the_announced_one_stands(turns: TurnIndex) -> None:
    await turns.take(
        [], [verdict("rejected", 0.9, "t1", 5, by="m1"), verdict("accepted", 0.5, "t1", 5, by="m2")], DETECTOR
    )
    assert await status(turns) == ("rejected", 0.9, "t-m1")
    await turns.take([], [verdict("neutral", 0.5, None, 6, by="m1")], DETECTOR)
    assert await status(turns) == ("accepted", 0.5, None)


async def test_a_person_beats_the_machine_and_taking_back_falls_back(turns: TurnIndex) -> None:
    await turns.take([], [verdict("rejected", 0.9, "t1", 5)], DETECTOR)
    assert await turns.take_reactions([judged(1, "accepted", 1)]) == {UUID(int=1)}
    assert await status(turns) == ("accepted", 1.0, None)
    assert await turns.take_reactions([judged(1, None, 2)]) == {UUID(int=1)}
    assert await status(turns) == ("rejected", 0.9, "t-m9")
    assert await turns.take_reactions([judged(1, "accepted", 1)]) == set()
    assert await status(turns) == ("rejected", 0.9, "t-m9")


async def test_a_reaction_moves_to_the_turn_that_its_answer_gets_later(turns: TurnIndex) -> None:
    await turns.take_reactions([replace(judged(1, "accepted", 1), turn=key("m2"))])
    await turns.take_reactions([judged(1, "rejected", 2)])
    assert [(await status(turns, turn))[0] for turn in ("t1", "m2")] == ["rejected", "neutral"]


async def test_revisions_and_verdicts_end_alike_in_any_order(turns: TurnIndex, pool: Any) -> None:
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
            await (turns.take_reactions([step]) if isinstance(step, UserReaction) else turns.take([], [step], DETECTOR))
        found = await turns.turn(key("t1"))
        assert found is not None and found.machine is not None and found.user is not None
        seen.add((*await status(turns), found.machine.status, found.user.tags))
    assert seen == {("rejected", 1.0, "t-m9", "rejected", ("wrong",))}


async def test_feedback_on_an_unseen_turn_makes_a_stub_that_the_message_fills(turns: TurnIndex) -> None:
    await turns.take_reactions([judged(1, "rejected", 1)])
    stub = await turns.turn(key("t1"))
    assert stub is not None and (stub.status, stub.assistant_text) == ("rejected", None)
    await turns.take([facts_of(message("a", 20, "At nine.", turn="t1", agent=True))], [], DETECTOR)
    filled = await turns.turn(key("t1"))
    assert filled is not None and (filled.status, filled.assistant_text) == ("rejected", "At nine.")


async def test_search_gives_accepted_before_neutral_by_quality_and_none_rejected(turns: TurnIndex) -> None:
    qualities = {"t1": 0.9, "t2": 0.4, "t3": 0.8, "t4": 0.6, "t5": None}
    await turns.take(
        [
            facts_of(
                message(f"{turn}-a", 20, "x", turn=turn, agent=True, strategy="s", intent="price", quality_score=q)
            )
            for turn, q in qualities.items()
        ],
        [verdict("rejected", 0.9, "t1", 5, by="m1"), verdict("accepted", 0.7, "t2", 5, by="m2")],
        DETECTOR,
    )
    await turns.take([facts_of(message("plain", 20, "x", turn="t6", agent=True, quality_score=1.0))], [], DETECTOR)
    found = await turns.search(StrategyFilter(HERE.tenant, HERE.project), 10)
    assert [turn.key.turn_id for turn in found] == ["t2", "t3", "t4", "t5"]
    assert [turn.ranking_score for turn in found] == [0.44, 0.48, 0.36, 0.0]
    assert [turn.key.turn_id for turn in await turns.search(StrategyFilter(HERE.tenant, HERE.project, "price"), 2)] == [
        "t2",
        "t3",
    ]
    assert await turns.search(StrategyFilter(HERE.tenant, HERE.project, "other"), 10) == []
    assert await turns.search(StrategyFilter("globex", HERE.project), 10) == []


async def test_the_latest_turns_of_a_thread_are_those_whose_answers_are_in_it(turns: TurnIndex, pool: Any) -> None:
    for name, thread, at in (
        ("t1", "", 1),
        ("t2", "root", 2),
        ("t3", "root", 3),
        ("t4", "other", 4),
        ("t5", "root", 5),
    ):
        await turns.take([facts_of(message(f"a{name}", at, "x", turn=name, agent=True))], [], DETECTOR)
        place = {
            **HERE._asdict(),
            "message_id": f"a{name}",
            "turn_id": name,
            "thread": thread,
            "position": at.to_bytes(8),
        }
        await insert(pool, "messages", place)
        await insert(pool, "messages", place | {"message_id": f"q{name}", "thread": "root"})
    assert [turn.key.turn_id for turn in await turns.latest(HERE, 4, 9, "root")] == ["t3", "t2"]
    assert [turn.key.turn_id for turn in await turns.latest(HERE, 9, 2, "root")] == ["t5", "t3"]
    assert [turn.key.turn_id for turn in await turns.latest(HERE, 9, 9)] == ["t1"]
    assert [turn.key.turn_id for turn in await turns.latest(HERE, 9, 9, "other")] == ["t4"]


async def test_a_hundred_later_answers_hide_no_earlier_one(turns: TurnIndex, pool: Any) -> None:
    times = range(1, 104)
    await turns.take(joined(facts_of(message(f"a{n}", n, "x", turn=f"t{n}", agent=True)) for n in times), [], DETECTOR)

    async def latest(until: int, thread: str) -> list[str]:
        return [turn.key.turn_id for turn in await turns.latest(HERE, until, 9, thread)]

    assert [await latest(until, "") for until in (0, 1, 2)] == [[], ["t1"], ["t2", "t1"]]
    in_thread = {**HERE._asdict(), "thread": "root"}
    await insert(
        pool,
        "messages",
        *(in_thread | {"message_id": f"a{n}", "turn_id": f"t{n}", "position": n.to_bytes(8)} for n in times),
    )
    assert [await latest(until, "root") for until in (0, 1, 2)] == [[], ["t1"], ["t2", "t1"]]
    assert await latest(999, "") == []


async def test_the_time_of_a_turn_is_that_of_its_earliest_message(turns: TurnIndex) -> None:
    await turns.take_reactions([judged(1, "rejected", 1)])
    for at, known in ((None, None), (50, 50), (None, 50), (60, 50), (40, 40), (50, 40)):
        await turns.take([Facts(key("t1"), at)], [], DETECTOR)
        found = await turns.turn(key("t1"))
        assert found is not None and found.at == known


@pytest.mark.parametrize(
    ("verdicts", "shown"),
    [
        ([("m1", 50, "rejected"), ("m2", 60, "accepted")], "m1"),  # the announced one
        ([("m1", 50, "rejected"), ("m2", 60, "rejected")], "m2"),  # of two, the later one
        ([("m1", 60, "accepted"), ("m2", 50, "accepted")], "m1"),
        ([("m1", 50, "rejected"), ("m2", 50, "rejected")], "m2"),  # of the same time, the greater id
        ([("m2", 50, "accepted"), ("m1", 50, "accepted")], "m2"),
    ],
)
async def test_one_of_several_verdicts_on_a_turn_is_shown(
    turns: TurnIndex, verdicts: Sequence[tuple[str, int, Feedback]], shown: str
) -> None:
    said = [verdict(status, 0.9 if status == "rejected" else 0.5, "t1", 5, by=name) for name, _, status in verdicts]
    await turns.take(
        [],
        [
            (replace(judged, message=replace(judged.message, at=at)), one)
            for (judged, one), (_, at, _) in zip(said, verdicts, strict=True)
        ],
        DETECTOR,
    )
    found = await turns.turn(key("t1"))
    assert found is not None and found.machine is not None
    assert found.machine.detected_in == f"t-{shown}"


async def test_a_judged_message_returns_its_verdict_and_the_turn_that_was_announced(
    turns: TurnIndex, pool: Any
) -> None:
    placed, said = verdict("rejected", 0.9, "t1", 5)
    place = {**HERE._asdict(), "message_id": "m9", "emitted_turn_id": "t7", "emitted_agent_id": "bot"}
    await insert(pool, "messages", place)
    for other in ({"tenant": "globex"}, {"project": "q"}, {"conversation_id": "c2"}, {"message_id": "m8"}):
        await insert(pool, "messages", place | other | {"emitted_turn_id": "t8"})
    [first] = (await turns.take([], [(placed, said)], DETECTOR)).values()
    assert first == PreviousVerdict(None, 0, False, "t7", "bot")
    [second] = (await turns.take([], [(placed, said)], DETECTOR)).values()
    assert second == PreviousVerdict(DETECTOR, 5, True, "t7", "bot")


CONVERSATION = [
    message("q1", 1 * MINUTE, "When does the museum open?"),
    message("a1", 2 * MINUTE, "The museum opens at nine.", agent=True),
    message("q2", 3 * MINUTE, "That's wrong, it opens at ten."),
    message("a2", 4 * MINUTE, "You are right, it opens at ten.", agent=True, strategy="repair"),
    message("q3", 5 * MINUTE, "Thanks, that helps!"),
]


class Discarding:
    async def send(self, messages: Sequence[Any]) -> list[Written]:
        return []


async def test_messages_in_any_order_and_batches_end_in_the_same_turns(turns: TurnIndex, pool: Any) -> None:
    detector = Detector.default()
    seen: list[list[Any]] = []
    shuffled = random.Random(7)
    for size in (5, 1, 2, 1, 3, 1):
        await pool.execute(TABLES)
        handler = ConversationHandler(ConversationStore(pool), Judging(turns, Discarding(), detector))
        order = [
            Received(event, RawRecord(Coordinates("t", 0, n), None, None, (), 0))
            for n, event in enumerate(CONVERSATION)
        ]
        if seen:
            shuffled.shuffle(order)
        for start in range(0, len(order), size):
            await handler.handle(order[start : start + size])
        seen.append([await turns.turn(key(name)) for name in ("q1", "a1", "q2", "a2", "q3")])
    first, second = seen[0][1], seen[0][3]
    assert first is not None and second is not None
    assert (first.status, first.rejection_detected_in, first.feedback.correction_type) == ("rejected", "q2", "explicit")
    assert (first.user_text, first.feedback.user_said) == (
        "When does the museum open?",
        "That's wrong, it opens at ten.",
    )
    assert (second.status, second.rejection_detected_in, second.feedback.user_said) == (
        "accepted",
        None,
        "Thanks, that helps!",
    )
    assert (second.user_text, second.strategy) == ("That's wrong, it opens at ten.", "repair")
    assert all(one == seen[0] for one in seen)


# Explicit judgements and tombstones in the index of turns.

TOPIC = "feedback.created"


def record() -> RawRecord:
    return RawRecord(Coordinates(TOPIC, 0, 1), None, None, (), NOW)


def judged_reaction(revision: int, reaction: str) -> Received[FeedbackCreated]:
    value = example(TOPIC, "created", revision=revision, feedbackType="explicit", reaction=reaction)
    return Received(FeedbackCreated.model_validate_json(value), record())


def ended(revision: int = 2) -> Received[FeedbackErased]:
    return Received(FeedbackErased(judged_reaction(1, "ok").event.feedback_id, revision), record())


async def reaction_status(pool: Any) -> str | None:
    found: str | None = await pool.fetchval("select user_feedback_status from turns")
    return found


@pytest.mark.parametrize("together", [True, False])
async def test_a_tombstone_erases_only_the_revisions_up_to_its_own(pool: Any, together: bool) -> None:
    """A tombstone is written to all partitions, so its copies may be read after a later revision."""
    events = UserReactionHandler(TurnIndex(pool, VECTORS))
    said: list[Received[Any]] = [judged_reaction(3, "not_ok"), ended(2)]
    for part in [said] if together else [[one] for one in said]:
        await events.handle(part)
    assert await reaction_status(pool) == "rejected"
    await events.handle([ended(3)])
    assert await pool.fetchval("select count(*) from user_reactions") == 0


async def test_a_record_that_is_no_reaction_of_a_person_is_ignored(pool: Any) -> None:
    events = UserReactionHandler(TurnIndex(pool, VECTORS))
    inferred = example(TOPIC, "created", feedbackType="inferred", origin="machine")
    verdict = Received(FeedbackCreated.model_validate_json(inferred), record())
    outcomes = await events.handle([verdict])
    assert outcomes == [NO_REACTION]
    assert await pool.fetchval("select count(*) from user_reactions") == 0


async def test_a_tombstone_takes_back_what_was_said_before_it(pool: Any) -> None:
    events = UserReactionHandler(TurnIndex(pool, VECTORS))
    await events.handle([judged_reaction(1, "not_ok")])
    assert await reaction_status(pool) == "rejected"
    await events.handle([ended()])
    assert await reaction_status(pool) == "neutral"


def test_a_cleared_reaction_keeps_no_words() -> None:
    value = example(
        TOPIC, "created", feedbackType="explicit", change="cleared", reaction=None, text="My number is 555."
    )
    found = reaction_of(FeedbackCreated.model_validate_json(value))
    assert found is not None
    assert (found.status, found.text, found.tags, found.correction) == (None, None, (), None)


# Vector search in the index of turns.

WORDS = WordLlamaEmbedder()


ALL = PersonTurns("acme", "p", "ann", 0, 10_000)


class Renamed:
    """The same vectors under another name."""

    name = "another"
    dimension = 256

    def embed(self, texts: Sequence[str]) -> Vectors:
        return WORDS.embed(texts)


def turn(
    name: str,
    at: int,
    question: str = "x",
    answer: str = "y",
    *,
    user: str = "ann",
    conversation: str = "c1",
    tenant: str = "acme",
    **fields: Any,
) -> Facts:
    key = TurnKey(tenant, "p", conversation, name)
    version = at.to_bytes(8)
    asked, replied = (
        Question(version, f"{name}-q", user, question),
        Reply(version, f"{name}-a", "bot", answer, **fields),
    )
    return Facts(key, at, asked, replied)


async def names(turns: TurnIndex, looked: PersonTurns, text: str) -> list[tuple[str, int]]:
    return sorted((one.key.turn_id, one.turns_back) for one in await turns.nearby(looked, text))


async def test_a_persons_turns_come_from_all_their_conversations_and_from_nowhere_else(turns: TurnIndex) -> None:
    await turns.take(
        [
            turn("t1", 10),
            turn("t2", 20, conversation="c2"),
            turn("t3", 20, conversation="c3"),
            turn("t4", 30, conversation="c2"),
            turn("later", 40),
            turn("older", 9),
            turn("other", 15, user="bob"),
            turn("elsewhere", 15, tenant="globex"),
            turn("other at once", 30, user="bob"),
            turn("elsewhere at once", 30, tenant="globex"),
            Facts(
                TurnKey("acme", "q", "c1", "of another project"),
                30,
                Question(b"1", "u", "ann", "z"),
                Reply(b"1", "a", "bot", "y"),
            ),
            Facts(TurnKey("acme", "p", "c1", "unanswered at once"), 30, Question(b"1", "u", "ann", "z")),
            Facts(TurnKey("acme", "p", "c1", "unanswered"), 25, Question(b"\x19", "u", "ann", "z")),
        ],
        [],
        DETECTOR,
    )
    looked = PersonTurns("acme", "p", "ann", 10, 40)
    assert await names(turns, looked, "y") == [("t1", 4), ("t2", 2), ("t3", 2), ("t4", 1)]
    assert await names(turns, PersonTurns("acme", "p", "eve", 0, 100), "y") == []


async def test_the_nearest_answers_and_the_latest_are_picked(turns: TurnIndex) -> None:
    await turns.take([turn("museum", 1, answer="The museum opens at nine.")], [], DETECTOR)
    await turns.take(
        [turn(f"t{n:03}", n, answer=f"Your train {n} leaves from platform two.") for n in range(2, 90)], [], DETECTOR
    )
    found = await turns.nearby(ALL, "No, the museum opens at ten.")
    assert NEAREST <= len(found) <= NEAREST + LATEST
    nearest = max(found, key=lambda one: one.cosine)
    assert (nearest.key.turn_id, nearest.turns_back) == ("museum", 89)
    expected = WORDS.embed(["No, the museum opens at ten.", "The museum opens at nine."])
    assert nearest.cosine == pytest.approx(float(expected[0] @ expected[1]), abs=2e-3)
    assert {f"t{n:03}" for n in range(85, 90)} <= {one.key.turn_id for one in found}


async def test_of_a_name_that_many_share_the_latest_turns_are_looked_at(
    turns: TurnIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference.turns.search, "SCANNED_TURNS_LIMIT", 2)
    await turns.take([turn(f"t{n}", n) for n in range(1, 5)], [], DETECTOR)
    assert await names(turns, ALL, "y") == [("t3", 2), ("t4", 1)]


async def test_turns_without_a_vector_and_those_of_another_embedder_count_as_unlike(
    turns: TurnIndex, pool: Any
) -> None:
    facts = [turn("t1", 1, "When does it open?", "At nine.", strategy="s")]
    await turns.take(facts, [], DETECTOR)
    others = TurnIndex(pool, TurnVectors(Renamed()))
    asked = StrategyFilter("acme", "p", text="When does it open?")
    assert [one.cosine for one in await others.nearby(ALL, "At nine.")] == [0.0]
    assert await others.search(asked, 5) == []
    await others.take(facts, [], DETECTOR)
    assert [one.cosine for one in await others.nearby(ALL, "At nine.")] == [pytest.approx(1, abs=1e-3)]
    assert [one.cosine for one in await turns.nearby(ALL, "At nine.")] == [0.0]
    assert [one.key.turn_id for one in await others.search(asked, 5)] == ["t1"]
    await pool.execute("update turns set user_vector = null, assistant_vector = null")
    assert await others.search(asked, 5) == []
    assert [(one.key.turn_id, one.cosine) for one in await others.nearby(ALL, "At nine.")] == [("t1", 0.0)]


async def test_texts_that_say_nothing_are_like_nothing(turns: TurnIndex) -> None:
    await turns.take(
        [turn("t1", 1, "", "🙂", strategy="s"), turn("t2", 2, "?", "At nine.", strategy="s")], [], DETECTOR
    )
    assert [one.cosine for one in await turns.nearby(ALL, "At nine.")] == [pytest.approx(1, abs=1e-3), 0.0]
    assert {one.cosine for one in await turns.nearby(ALL, "🙂")} == {0.0}
    assert await turns.search(StrategyFilter("acme", "p", text="🙂"), 5) == []


async def test_strategies_are_found_by_questions_like_the_one_asked(turns: TurnIndex) -> None:
    await turns.take(
        [
            turn("same", 1, "When does the museum open?", strategy="a", quality_score=0.6),
            turn("reworded", 2, "What are the museum's opening hours?", strategy="b", quality_score=0.7),
            turn("unrelated", 3, "Translate this letter into French", strategy="c", quality_score=1.0),
            turn("tied", 4, "When does the museum open today?", strategy="d", quality_score=0.6),
            turn("plain", 5, "When does the museum open?"),
        ],
        [],
        DETECTOR,
    )
    found = await turns.search(StrategyFilter("acme", "p", text="When does the museum open?"), 10)
    assert [one.key.turn_id for one in found] == ["reworded", "same", "tied"]
    assert [one.similarity for one in found][1] == pytest.approx(1, abs=1e-3)
    assert (await turns.search(StrategyFilter("acme", "p"), 10))[0].key.turn_id == "unrelated"
    assert (await turns.search(StrategyFilter("acme", "p"), 10))[0].similarity is None
    assert await turns.search(StrategyFilter("acme", "p", user_id="bob", text="When does the museum open?"), 10) == []


async def test_the_best_of_the_fifty_most_similar_questions_is_found(turns: TurnIndex) -> None:
    asked = "When does the museum open?"
    same = [turn(f"t{n:02}", n, asked, strategy="s", quality_score=0.1) for n in range(1, 50)]
    other = turn("other", 60, "When does the museum open today?", strategy="s", quality_score=0.9)
    await turns.take([*same, other], [], DETECTOR)
    wanted = StrategyFilter("acme", "p", text=asked)
    assert [one.key.turn_id for one in await turns.search(wanted, 1)] == ["other"]
    await turns.take([turn("t50", 50, asked, strategy="s", quality_score=0.2)], [], DETECTOR)
    assert [one.key.turn_id for one in await turns.search(wanted, 1)] == ["t50"]
    assert [one.key.turn_id for one in await turns.search(wanted, 51)][:2] == ["other", "t50"]
