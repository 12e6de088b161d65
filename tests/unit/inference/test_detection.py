"""Messages that are judged during a request, as feedback on an answer in their own or another conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from contracts.message_fields import TurnKey
from detector.detector import Detector
from detector.location import MAX_AGE_US
from detector.model import NEIGHBOURHOOD, Message
from inference.detection import RECENT_TURNS, Detected, Detection, LookBack
from inference.handlers import indexed
from inference.last_answer import LastAnswer
from inference.model import ConversationKey
from inference.turns.candidates import Answered
from inference.turns.model import PersonTurns, StrategyFilter
from inference.turns.rules import Turn, TurnFeedback
from inference.turns.search import TurnSearch
from tests.support.inference_memory import MemoryConversationStore
from tests.support.reporting_events import START, message

HERE = ConversationKey("acme", "support", "c-fresh")
KNOWN = TurnKey("acme", "support", "c-old", "t1")
NOW = 2 * MAX_AGE_US
TURN = Turn(KNOWN, "ann", "When does the museum open?", "bot", "a1", "It opens at nine.", NOW - 60_000_000)


class OneTurn(TurnSearch):
    """Index with one turn, whose answer has the given cosine to every text."""

    def __init__(self, cosine: float) -> None:
        self.cosine = cosine
        self.looked: list[PersonTurns] = []

    async def turn(self, key: TurnKey) -> Turn | None:
        return TURN if key == KNOWN else None

    async def latest(self, where: ConversationKey, until: int, limit: int, thread: str = "") -> Sequence[Turn]:
        return ()

    async def nearby(self, person: PersonTurns, text: str) -> Sequence[Answered]:
        self.looked.append(person)
        return [Answered(KNOWN, "a1", "bot", TURN.assistant_text or "", 1, self.cosine)]

    async def search(self, wanted: StrategyFilter, limit: int) -> Sequence[Turn]:
        return ()


async def found(detector: Detector, turns: OneTurn, text: str) -> Detected:
    new = Message("m9", "t9", "ann", "human", None, text, NOW)
    return await Detection(MemoryConversationStore(), turns, detector).detect(HERE, new, look_back="user")


@pytest.mark.parametrize(("cosine", "feedback"), [(1.0, "rejected"), (0.999, "neutral")])
async def test_an_answer_elsewhere_is_judged_from_a_similarity_of_a_fifth_on(
    detector: Detector, cosine: float, feedback: str
) -> None:
    """Without a word in common, the cosine makes up a fifth of the similarity."""
    turns = OneTurn(cosine)
    result = await found(detector, turns, "That's wrong.")
    assert result.verdict.feedback == feedback
    assert turns.looked == [PersonTurns("acme", "support", "ann", NOW - MAX_AGE_US, NOW)]


async def test_feedback_on_an_answer_elsewhere_is_advice_without_a_target(detector: Detector) -> None:
    result = await found(detector, OneTurn(1.0), "That's wrong.")
    assert result.verdict.target is None
    assert [one.target.turn_id for one in result.candidates] == ["t1"]
    assert result.advice is not None and result.advice.turn.machine is not None
    about, machine = result.advice.turn, result.advice.turn.machine
    assert (about.key, about.user_text, about.status) == (KNOWN, "When does the museum open?", "rejected")
    assert (machine.user_said, machine.detected_in, machine.detected_at) == ("That's wrong.", "t9", NOW)
    assert machine.correction_type == "explicit"


async def test_a_message_that_is_no_feedback_has_no_candidates_elsewhere(detector: Detector) -> None:
    result = await found(detector, OneTurn(1.0), "🙂")
    assert (result.verdict.feedback, result.advice, result.candidates) == ("neutral", None, ())


async def test_a_question_asked_once_more_in_another_conversation_rejects_its_answer(detector: Detector) -> None:
    result = await found(detector, OneTurn(1.0), "When exactly does the museum open?")
    assert (result.verdict.feedback, result.verdict.correction_type) == ("rejected", "rephrased")


class Index(OneTurn):
    """Index with the given turns, newest first, of which `latest` returns only the first `shown`."""

    def __init__(self, *turns: Turn, shown: int = 9) -> None:
        super().__init__(1.0)
        self.turns, self.shown = turns, shown
        self.asked: list[tuple[ConversationKey, int, int, str]] = []

    async def turn(self, key: TurnKey) -> Turn | None:
        return next((one for one in (*self.turns, TURN) if one.key == key), None)

    async def latest(self, where: ConversationKey, until: int, limit: int, thread: str = "") -> Sequence[Turn]:
        self.asked.append((where, until, limit, thread))
        return self.turns[: self.shown]


ASKED, ANSWERED, SAID = START + 1_000_000, START + 2_000_000, START + 10_000_000
CONVERSATION = (
    message("q1", conversation="c-fresh", content="When does the museum open?", at=1),
    message("a1", conversation="c-fresh", content="It opens at nine.", agent="bot", at=2),
)
FIRST = TurnKey("acme", "support", "c-fresh", "t1")
REPEATED = "When exactly does the museum open?"
RULED = TurnFeedback("rejected", 0.9, "explicit", "No.", "t1", ANSWERED)


async def detected(detector: Detector, turns: Index, text: str, *said: Any, **options: Any) -> Detected:
    """Judge a message in a conversation with one exchange, after `said`."""
    store = MemoryConversationStore()
    await store.index([indexed(one) for one in (*CONVERSATION, *said)])
    new = Message("m9", "t9", options.pop("sender", "ann"), "human", None, text, SAID)
    return await Detection(store, turns, detector).detect(HERE, new, **options)


async def test_advice_is_about_the_judged_turn_with_all_that_is_known_of_it(detector: Detector) -> None:
    known = Turn(FIRST, "ann", "When does the museum open?", "bot", "a1", "It opens at nine.", ANSWERED, strategy="s")
    unrelated = Turn(FIRST._replace(turn_id="t0"), agent_id="bot", at=ASKED)
    for turns, strategy, recent, rejections in (
        (Index(known, unrelated), "s", ["t1", "t0"], 1),
        (Index(unrelated, known, shown=1), "s", ["t0"], 0),
        (Index(unrelated), None, ["t0"], 0),
        (Index(), None, [], 0),
    ):
        result = await detected(detector, turns, "That's wrong.")
        assert result.advice is not None and result.verdict.target is not None
        about = result.advice.turn
        assert (about.key, about.agent_id, about.status, about.strategy) == (FIRST, "bot", "rejected", strategy)
        assert [one.key.turn_id for one in result.advice.recent] == recent
        assert result.advice.rejections == rejections
        assert turns.asked == [(HERE, SAID, RECENT_TURNS, "")]


async def test_consecutive_rejections_count_the_judged_turn_and_those_before_it(detector: Detector) -> None:
    turns = Index(Turn(FIRST, at=ANSWERED), Turn(FIRST._replace(turn_id="t0"), at=ASKED, machine=RULED))
    for text, rejections in (("That's wrong.", 2), ("Thanks!", 0)):
        advice = (await detected(detector, turns, text)).advice
        assert advice is not None and advice.rejections == rejections


async def test_a_verdict_that_is_not_announced_leaves_an_announced_rejection(detector: Detector) -> None:
    result = await detected(detector, Index(Turn(FIRST, at=ANSWERED, machine=RULED)), "Really?")
    assert (result.verdict.status, result.verdict.emitted) == ("accepted", False)
    assert result.advice is not None
    assert (result.advice.turn.status, result.advice.rejections) == ("rejected", 1)


async def test_without_a_verdict_advice_is_about_the_latest_turn(detector: Detector) -> None:
    turns = Index(Turn(FIRST._replace(turn_id="t0"), at=ASKED, machine=RULED))
    for text in ("Where is it?", "🙂"):
        result = await detected(detector, turns, text)
        assert result.advice is not None
        assert (result.advice.turn, result.advice.rejections) == (turns.turns[0], 1), text
        assert (await detected(detector, Index(), text)).advice is None


async def test_messages_at_a_later_time_are_not_read(detector: Detector) -> None:
    later = message("a2", conversation="c-fresh", content="It closes at ten.", agent="closer", turn="t2", at=11)
    result = await detected(detector, Index(), REPEATED, later)
    assert result.verdict.target is not None and result.verdict.target.turn_id == "t1"


async def test_a_message_that_is_indexed_already_is_judged_alike(detector: Detector) -> None:
    own = message("m9", conversation="c-fresh", content=REPEATED, turn="t9", at=10)
    assert await detected(detector, Index(), REPEATED, own) == await detected(detector, Index(), REPEATED)


@pytest.mark.parametrize(
    ("sender", "names_writer", "feedback"),
    [("ann", True, "rejected"), ("ann", False, "rejected"), ("bob", True, "neutral"), ("bob", False, "rejected")],
)
async def test_a_program_that_names_no_writer_speaks_for_the_person_of_the_conversation(
    detector: Detector, sender: str, names_writer: bool, feedback: str
) -> None:
    result = await detected(detector, Index(), REPEATED, sender=sender, names_writer=names_writer)
    assert result.verdict.feedback == feedback


async def test_a_program_speaks_for_the_last_person_who_wrote(detector: Detector) -> None:
    first = message("q0", conversation="c-fresh", content="Hello everybody.", sender="bob", turn="t0", at=0)
    for sender, feedback in (("program", "rejected"), ("ann", "rejected"), ("bob", "neutral")):
        result = await detected(detector, Index(), REPEATED, first, sender=sender, names_writer=False)
        assert result.verdict.feedback == feedback, sender


async def test_the_callers_last_answer_is_judged_before_it_is_indexed(detector: Detector) -> None:
    previous = LastAnswer(
        message_id="a5",
        content="It closes at ten.",
        turn_id="t5",
        agent_id="closer",
        strategy="lookup",
        question="When does it close?",
    )
    result = await detected(detector, Index(Turn(FIRST, at=ANSWERED)), "That's wrong.", previous=previous)
    assert result.advice is not None
    assert [one.key.turn_id for one in result.advice.recent] == ["t5", "t1"]
    about = result.advice.turn
    assert (about.key.turn_id, about.agent_id, about.strategy) == ("t5", "closer", "lookup")
    assert (about.status, result.advice.rejections) == ("rejected", 1)


@pytest.mark.parametrize(
    ("look_back", "text", "candidates"),
    [
        ("user", "That's wrong.", 1),
        ("conversation", "That's wrong.", 0),
        ("user", "🙂", 0),
        ("user", "Where is it?", 0),
    ],
)
async def test_feedback_in_a_conversation_with_an_answer_is_about_that_answer(
    detector: Detector, look_back: LookBack, text: str, candidates: int
) -> None:
    """All of the person's turns are searched as well, if the caller asks for it and the message says something."""
    result = await detected(detector, Index(), text, look_back=look_back)
    assert len(result.candidates) == candidates
    assert (result.verdict.feedback == "rejected") is (text == "That's wrong.")
    if text == "That's wrong.":
        assert result.verdict.target is not None and result.verdict.target.turn_id == "t1"


async def test_a_question_in_a_conversation_without_an_answer_is_no_answer(detector: Detector) -> None:
    store, turns = MemoryConversationStore(), OneTurn(1.0)
    await store.index([indexed(CONVERSATION[0])])
    new = Message("m9", "t9", "ann", "human", None, "That's wrong.", SAID)
    result = await Detection(store, turns, detector).detect(HERE, new, look_back="user")
    assert (result.verdict.feedback, result.verdict.target) == ("rejected", None)
    assert turns.looked == [PersonTurns("acme", "support", "ann", SAID - MAX_AGE_US, SAID)]


async def test_an_answer_of_the_same_instant_precedes_the_message(detector: Detector) -> None:
    store, turns = MemoryConversationStore(), OneTurn(1.0)
    await store.index([indexed(one) for one in CONVERSATION])
    new = Message("m9", "t9", "ann", "human", None, "That's wrong.", ANSWERED)
    result = await Detection(store, turns, detector).detect(HERE, new)
    assert result.verdict.target is not None and result.verdict.target.message_id == "a1"
    position = indexed(CONVERSATION[1]).position
    assert (await Detection(store, turns, detector).detect(HERE, new, position)).verdict.target is None


@pytest.mark.parametrize("known", [False, True], ids=["not indexed", "indexed"])
async def test_a_message_is_judged_from_the_nearest_messages_before_it(detector: Detector, known: bool) -> None:
    """The repeated question is the farthest message that is still read, or the first that is not."""
    for between, feedback in ((NEIGHBOURHOOD - 2, "rejected"), (NEIGHBOURHOOD - 1, "accepted")):
        said = [
            message(f"f{n}", conversation="c-fresh", content="I like trains.", turn=f"f{n}", at=3 + n / 10)
            for n in range(between)
        ]
        own = [message("m9", conversation="c-fresh", content=REPEATED, turn="t9", at=10)] if known else []
        assert (await detected(detector, Index(), REPEATED, *said, *own)).verdict.feedback == feedback
