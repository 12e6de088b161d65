"""Contract of inference's conversation indexes."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import inference.service
from contracts.detectors import DetectorVersion, precedence
from contracts.feedback import FeedbackInferredReceived
from contracts.message_fields import MessageKey
from contracts.provenance import Provenance
from detector.encoders.embedder import WordLlamaEmbedder
from detector.model import NEIGHBOURHOOD, Message
from inference.handlers import ConversationHandler
from inference.judging import Judging
from inference.llm_gate.answer import LlmAnswer
from inference.llm_gate.gate import LlmGate
from inference.llm_gate.question import LlmQuestion
from inference.llm_gate.store import GateAnswers
from inference.model import ConversationKey, IndexedMessage, Scope
from inference.store import ConversationStore
from inference.turns.store import TurnIndex
from inference.turns.vectors import TurnVectors
from servicekit.db.pools import open_pool
from tests.support.feedback_events import RecordingProducer
from tests.support.inference_memory import MemoryConversationStore, MemoryGateAnswers
from tests.support.known_detectors import KnownDetector
from tests.support.reporting_events import batch, message

SCHEMA = inference.sql.SQL.schema


HERE = ConversationKey("acme", "p", "c1")


@pytest_asyncio.fixture(params=["memory", "postgres"])
async def store(request: pytest.FixtureRequest, postgres_url: str) -> AsyncIterator[ConversationStore]:
    if request.param == "memory":
        yield MemoryConversationStore()
        return
    pool = await open_pool(postgres_url, "inference", SCHEMA, size=2)
    await pool.execute("truncate messages")
    yield ConversationStore(pool)
    await pool.close()


def said(
    message_id: str, at: int, text: str = "hi", *, said_at: int | None = None, where: ConversationKey = HERE
) -> IndexedMessage:
    """Return a version said at `said_at` (by default `at`); of one time the one with the greater text is the
    greater."""
    message = Message(message_id, f"t-{message_id}", "ann", "human", None, text, at)
    version = (at if said_at is None else said_at).to_bytes(8) + text.encode()
    return IndexedMessage(where, message, version, at.to_bytes(8))


async def all_of(store: ConversationStore, where: ConversationKey = HERE, thread: str = "") -> Sequence[IndexedMessage]:
    return await store.before(Scope(where, thread), b"\xff", 10**6)


async def around(store: ConversationStore, *names: str, after: int = NEIGHBOURHOOD) -> Sequence[IndexedMessage]:
    """Return what is read around messages of the channel."""
    found = await store.around({key(name) for name in names}, after)
    return found[Scope(HERE, "")]


def ids(messages: Sequence[IndexedMessage]) -> list[str]:
    return [one.message.message_id for one in messages]


def key(message_id: str) -> MessageKey:
    return MessageKey(*HERE, message_id)


async def test_messages_come_back_in_order_with_the_conversations_evaluation(store: ConversationStore) -> None:
    assert await store.index([said("b", 20), said("a", 20), said("c", 10)]) == {key("a"), key("b"), key("c")}
    found = await around(store, "a")
    assert ids(found) == ids(await all_of(store)) == ["c", "a", "b"]
    assert [one.evaluation for one in found] == [3, 3, 3]
    assert replace(found[0], evaluation=0) == await store.find(key("c")) == said("c", 10)
    assert await store.find(key("x")) is None


async def test_a_later_version_changes_the_text_and_an_earlier_one_the_position(store: ConversationStore) -> None:
    await store.index([said("a", 50, "second")])
    assert await store.index([said("a", 70, "third")]) == {key("a")}
    assert await store.index([said("a", 30, "first")]) == {key("a")}
    (one,) = await around(store, "a")
    assert (one.message.text, one.message.at, one.position) == ("third", 30, (30).to_bytes(8))
    assert one.evaluation == 3


async def test_provenance_and_user_type_come_back(store: ConversationStore) -> None:
    first = replace(said("a", 1), provenance=Provenance(track_id="t", model="m"), user_type="paid")
    await store.index([first])
    assert await all_of(store) == [first]
    other = replace(first, provenance=Provenance(track_id="u"), version=b"\xff")
    assert await store.index([other]) == {first.key}
    assert await around(store, "a") == [replace(other, evaluation=2)]


async def test_what_is_known_already_changes_nothing(store: ConversationStore) -> None:
    await store.index([said("a", 50, "said")])
    assert await store.index([said("a", 50, "said")]) == set()
    assert await store.index([said("a", 50, "a lesser version")]) == set()
    (one,) = await around(store, "a")
    assert (one.message.text, one.evaluation) == ("said", 1)


async def test_the_order_of_arrival_does_not_matter(store: ConversationStore) -> None:
    versions = [(50, "said"), (60, "said"), (55, "other"), (60, "rather")]
    for number, order in enumerate(permutations(versions)):
        for at, text in order:
            await store.index([said(f"m{number}", at, text)])
    for one in await all_of(store):
        assert (one.message.text, one.message.at) == ("said", 50)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(
    stored=st.sets(st.integers(0, 90), min_size=1, max_size=90),
    changed=st.sets(st.integers(0, 90), min_size=1, max_size=6),
    after=st.integers(0, 5),
)
def test_every_index_reads_the_same_messages(
    both: tuple[asyncio.Runner, ConversationStore], stored: set[int], changed: set[int], after: int
) -> None:
    running, postgres = both

    async def read(store: ConversationStore) -> list[str]:
        await store.index([said(f"m{at:02}", at) for at in stored])
        found = await store.around({key(f"m{at:02}") for at in changed}, after)
        return ids(found.get(Scope(HERE, ""), ()))

    async def both_read() -> tuple[list[str], list[str]]:
        await postgres._pool.execute("truncate messages")
        return await read(MemoryConversationStore()), await read(postgres)

    one, other = running.run(both_read())
    order = sorted(stored)
    near: set[int] = set()
    for number in (order.index(at) for at in changed & stored):
        near.update(order[max(0, number - NEIGHBOURHOOD) : number + after + 1])
    assert one == other == [f"m{at:02}" for at in sorted(near)]


@pytest.fixture(scope="module")
def both(postgres_url: str) -> Iterator[tuple[asyncio.Runner, ConversationStore]]:
    """Yield the index in PostgreSQL with a loop of its own, since hypothesis runs plain functions."""
    with asyncio.Runner() as running:
        pool = running.run(open_pool(postgres_url, "inference", SCHEMA, size=1))
        yield running, ConversationStore(pool)
        running.run(pool.close())


def posted(message_id: str, at: int, thread: str | None = None, reply_to: str | None = None) -> IndexedMessage:
    held = said(message_id, at)
    return replace(held, message=replace(held.message, thread_id=thread, reply_to=reply_to))


async def test_a_thread_is_read_with_the_message_it_hangs_from_and_the_channel_without_threads(
    store: ConversationStore,
) -> None:
    await store.index([posted("root", 1), posted("b", 2), posted("t1", 3, "root"), posted("c", 4)])
    await store.index([posted("t2", 5, "root"), posted("u1", 6, "other"), posted("d", 7)])
    found = await store.around({key("d"), key("t2"), key("u1")}, 2)
    rows = {scope.thread: ids(rows) for scope, rows in found.items()}
    assert rows == {"": ["root", "b", "c", "d"], "other": ["u1"], "root": ["root", "t1", "t2"]}
    root = found[Scope(HERE, "root")]
    assert [one.message.thread_id for one in root] == [None, "root", "root"]
    assert {one.evaluation for one in root} == {7}
    assert ids(await all_of(store, thread="root")) == ["root", "t1", "t2"]


async def test_a_thread_depends_on_the_message_that_it_hangs_from(store: ConversationStore) -> None:
    await store.index([posted("root", 1), posted("b", 2), posted("t1", 3, "root")])
    for name, threads in (("root", {"", "root"}), ("b", {""}), ("t1", {"root"})):
        found = await store.around({key(name)}, 2)
        assert {scope.thread for scope in found} == threads
    assert ids((await store.around({key("root")}, 2))[Scope(HERE, "root")]) == ["root", "t1"]


async def test_reply_and_thread_hold_whichever_version_names_them(store: ConversationStore) -> None:
    versions = [posted("a", 1), posted("a", 2, "t"), posted("a", 3, None, "q"), posted("a", 4)]
    for number, order in enumerate(permutations(versions)):
        for one in order:
            await store.index([replace(one, message=replace(one.message, message_id=f"a{number:02}"))])
    found = await all_of(store, thread="t")
    assert {(one.message.thread_id, one.message.reply_to) for one in found} == {("t", "q")}
    assert len(found) == 24


async def test_the_work_for_a_batch_grows_with_its_conversations_not_with_their_square(postgres_url: str) -> None:
    pool = await open_pool(postgres_url, "inference", SCHEMA, size=1)
    try:
        await pool.execute("truncate messages")
        for count in (40, 400):
            scopes = [ConversationKey("acme", "p", f"c{n}") for n in range(count)]
            await ConversationStore(pool).index([said(f"m{n}", n, where=one) for one in scopes for n in range(3)])
            async with pool.acquire() as connection, connection.transaction():
                looked = "select idx_scan from pg_stat_xact_user_tables where relname = 'messages'"
                before = await connection.fetchval(looked)
                alone: Any = connection  # has the pool's methods
                changed = {MessageKey(*one, "m1") for one in scopes}
                found = await ConversationStore(alone).around(changed, 10)
                assert [ids(rows) for rows in found.values()] == [["m0", "m1", "m2"]] * count
                # A few index scans for each conversation.
                assert await connection.fetchval(looked) - before <= 6 * count
    finally:
        await pool.close()


# Contract of the stores of the LLM gate's answers.

NO = LlmAnswer(is_feedback=True, reaction="not_ok", confidence=0.123457, about=2, reason="rephrased")


YES = LlmAnswer(is_feedback=True, reaction="ok", confidence=1.0, about=None, reason="thanks")


@pytest_asyncio.fixture(params=["memory", "postgres"])
async def answers(request: pytest.FixtureRequest, postgres_url: str) -> AsyncIterator[GateAnswers]:
    if request.param == "memory":
        yield MemoryGateAnswers()
        return
    pool = await open_pool(postgres_url, "inference", SCHEMA, size=4)
    await pool.execute("truncate gate_answers")
    yield GateAnswers(pool)
    await pool.close()


def asked(digest: bytes) -> LlmQuestion:
    return LlmQuestion(HERE, digest, b"{}", ())


A, B, C, NONE = map(asked, (b"a", b"b", b"\x00\xff", b"none"))


async def test_what_was_settled_comes_back_and_nothing_else_does(answers: GateAnswers) -> None:
    assert await answers.find([A, B]) == {}
    assert await answers.keep({A: NO, C: YES, NONE: None}) == {A.digest: NO, C.digest: YES, NONE.digest: None}
    assert await answers.find([NONE, A, B, A]) == {A.digest: NO, NONE.digest: None}
    assert await answers.find([]) == {}
    assert await answers.keep({}) == {}


@pytest.mark.parametrize("first", [NO, None])
@pytest.mark.parametrize("second", [YES, None])
async def test_the_first_answer_stands(answers: GateAnswers, first: LlmAnswer | None, second: LlmAnswer | None) -> None:
    await answers.keep({A: first})
    assert await answers.keep({A: second, B: second}) == {A.digest: first, B.digest: second}
    assert await answers.find([A]) == {A.digest: first}


async def test_of_many_at_once_all_get_the_same(answers: GateAnswers) -> None:
    questions = [asked(number.to_bytes(2, "big")) for number in range(5_000)]
    words = [NO, YES, None] * 4
    await asyncio.gather(*(answers.find(questions) for _ in words))  # every connection is open and can start at once
    heard = await asyncio.gather(
        *(
            answers.keep(dict.fromkeys(questions if turn % 2 else reversed(questions), word))
            for turn, word in enumerate(words)
        )
    )
    assert all(one == heard[0] for one in heard)
    assert set(heard[0]) == {question.digest for question in questions}


# Two detectors in one group: the log ends with the same verdict in any order of their judgements.

TABLES = "truncate messages, turns, verdicts"


OLD = KnownDetector(DetectorVersion(9, 1, "ffffffff"), {"wrong": "rejected", "thanks": "accepted"})


NEW = KnownDetector(DetectorVersion(10, 1, "00000000"), {"wrong": "accepted"})


WORDS = KnownDetector(DetectorVersion(10, 0, "ffffffff"), {"thanks": "rejected"})


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
        turns = TurnIndex(self.pool, VECTORS)
        return ConversationHandler(ConversationStore(self.pool), Judging(turns, self.log, detector, gate))

    async def take(self, detector: Any) -> None:
        await (await self.handler(detector)).handle(batch(*CHAT))

    @property
    def events(self) -> list[FeedbackInferredReceived]:
        return [FeedbackInferredReceived.model_validate_json(one.value or b"") for one in self.log.sent]

    @property
    def standing(self) -> dict[str, tuple[str | None, DetectorVersion]]:
        """Return the final verdict of each message for a consumer, and its detector."""
        newest: dict[str, FeedbackInferredReceived] = {}
        for event in sorted(self.events, key=lambda e: (precedence(e.detector_version), e.evaluation)):
            newest[event.detected_in_message_id] = event
        return {name: (event.verdict, DetectorVersion.parse(event.detector_version)) for name, event in newest.items()}


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
        assert group.standing.get("q3", (None, None))[0] is None
