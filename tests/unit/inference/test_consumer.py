"""Announcements of the handler while another process works on the same conversation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from contracts.base import TEXT_LIMIT
from contracts.chat import DELETED
from contracts.detectors import DetectorVersion
from contracts.feedback import FeedbackInferredReceived
from contracts.message_fields import MessageKey
from contracts.provenance import NO_PROVENANCE, Provenance
from detector.detector import Detector
from detector.model import Message, Role, Target, Verdict
from inference.announce import JudgedMessage, announcement
from inference.handlers import ConversationHandler, indexed
from inference.judging import Judging
from inference.model import ConversationKey, IndexedMessage, Scope
from inference.settings import InferenceSettings
from inference.turns.facts import facts_of
from inference.turns.model import PreviousVerdict
from servicekit.log.outcome import Outcome
from tests.support.feedback_events import RecordingProducer
from tests.support.inference_memory import MemoryConversationStore
from tests.support.reporting_events import batch, message

QUESTION = message("q1", content="When does it open?", at=0)


ANSWER = message("a1", content="It opens at nine.", agent="bot", at=5)


REJECTION = message("q2", content="No, that is wrong.", turn="t2", at=60)


EDITED = message("q2", content="And when does it close?", turn="t2", at=70)


class Interrupted(MemoryConversationStore):
    """Index that lets another handler work once, after the messages to judge have been read."""

    other: ConversationHandler | None = None

    async def around(self, keys: Collection[MessageKey], after: int) -> Mapping[Scope, Sequence[IndexedMessage]]:
        found = await super().around(keys, after)
        other, self.other = self.other, None
        if other is not None:
            await other.handle(batch(EDITED))
        return found


@pytest.mark.parametrize("edited", [False, True])
async def test_a_verdict_that_another_process_has_outdated_is_not_announced(detector: Detector, edited: bool) -> None:
    """The edit's own judgement finds nothing to retract."""
    store, log = Interrupted(), RecordingProducer()
    first, second = (ConversationHandler(store, Judging(store, log, detector)) for _ in range(2))
    await first.handle(batch(QUESTION, ANSWER))
    store.other = second if edited else None
    await first.handle(batch(REJECTION))
    events = [FeedbackInferredReceived.model_validate_json(one.value or b"") for one in log.sent]
    last = max(events, key=lambda one: one.evaluation)
    assert (last.turn_id, last.reaction) == ("t1", None if edited else "not_ok")


async def test_a_verdict_names_the_question_behind_its_answer_whatever_else_was_said(detector: Detector) -> None:
    """In a batch with messages that judge nothing, and with another conversation that has the same ids."""
    said = [
        QUESTION,
        ANSWER,
        message("q2", content="And when does it close?", turn="t2", at=10),
        message("a2", content="It closes at six.", agent="bot", turn="t2", at=15),
        message("q3", content="No, that is wrong.", turn="t3", at=60),
    ]
    elsewhere = [one.model_copy(update={"conversation_id": "c2"}) for one in (QUESTION, ANSWER, REJECTION)]
    log = RecordingProducer()
    store = MemoryConversationStore()
    await ConversationHandler(store, Judging(store, log, detector)).handle(batch(*said, *elsewhere))
    events = [FeedbackInferredReceived.model_validate_json(one.value or b"") for one in log.sent]
    rejections = {
        (one.conversation_id, one.detected_in_message_id): (one.turn_id, one.question_message_id)
        for one in events
        if one.verdict == "rejected"
    }
    assert rejections == {("c1", "q3"): ("t2", "q2"), ("c2", "q2"): ("t1", "q1")}


async def test_a_line_of_the_platform_is_neither_judged_nor_in_the_index(detector: Detector) -> None:
    line = message("s1", content="No, that is wrong.", at=60).model_copy(update={"sender_type": "system"})
    log, store = RecordingProducer(), MemoryConversationStore()
    outcomes = await ConversationHandler(store, Judging(store, log, detector)).handle(batch(QUESTION, ANSWER, line))
    assert outcomes == [Outcome.STORED, Outcome.STORED, Outcome.ignored("system_line")]
    assert log.sent == []
    assert await store.find(MessageKey("acme", "support", "c1", "s1")) is None


@pytest.mark.parametrize("writer", [{}, {"agent": "bot"}], ids=["a person", "an agent"])
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_text_is_kept_up_to_its_limit(writer: dict[str, Any], over: int) -> None:
    event = message("q2", content="x" * (TEXT_LIMIT + over), **writer)
    kept = min(TEXT_LIMIT + over, TEXT_LIMIT)
    assert len(indexed(event).message.text) == kept
    assert [len(text) for text in facts_of(event).texts] == [kept]


def test_the_index_knows_a_persons_role_and_how_an_agents_answer_was_made() -> None:
    fields: dict[str, Any] = {"user_type": "paid", "track_id": "track-1", "turn": None}
    asked, answered = indexed(message("q2", **fields)), indexed(message("a2", agent="bot", **fields))
    assert (asked.user_type, asked.provenance, asked.message.agent_id) == ("paid", NO_PROVENANCE, None)
    assert (answered.user_type, answered.provenance.track_id, answered.message.agent_id) == (None, "track-1", "bot")
    assert [one.message.turn_id for one in (asked, answered)] == ["q2", "a2"], "a turn of its own"


@pytest.mark.parametrize(("thread", "known"), [(None, None), ("q2", None), ("q1", "q1")])
def test_a_message_that_begins_a_thread_is_in_the_channel(thread: str | None, known: str | None) -> None:
    assert indexed(message("q2", thread_id=thread)).message.thread_id == known


@pytest.mark.parametrize("writer", [{}, {"agent": "bot"}], ids=["a person", "an agent"])
def test_words_that_were_taken_back_are_neither_judged_nor_searched(writer: dict[str, str]) -> None:
    event = message("q2", content=DELETED, at=70, **writer)
    assert indexed(event).message.text == ""
    assert facts_of(event).texts == []


# The assumed writer of a message for which a caller of `detect` names none.


def said(name: str, sender: str, role: Role = "human") -> Message:
    return Message(name, name, sender, role, None if role == "human" else sender, "text", 1)


# Announcements of verdicts and of retractions.

TARGET = Target("t1", "a1", "bot", 0.9, 0.9, 1.0, 1)


VERSION = DetectorVersion(3, 1, "a1b2c3d4")


WHERE = ConversationKey("acme", "support", "c1")


def person(text: str = "No, that is wrong.") -> IndexedMessage:
    message = Message("q2", "t2", "ann", "human", None, text, 50)
    return IndexedMessage(WHERE, message, b"", b"", evaluation=3)


def verdict(target: Target | None, confidence: float = 0.9) -> Verdict:
    text, rules = "No, that is wrong.", ("flat_no",)
    if target is None:
        return Verdict("neutral", None, 0.5, None, text, target, rules, "rules", "neutral")
    return Verdict("rejected", "not_ok", confidence, "explicit", text, target, rules, "rules", "neutral")


ANNOUNCED = PreviousVerdict(VERSION, 2, True, "t1", "bot")


def announced(
    person: IndexedMessage,
    verdict: Verdict,
    answer: Provenance = NO_PROVENANCE,
    version: DetectorVersion = VERSION,
    previous: PreviousVerdict | None = None,
) -> Any:
    message = Message("a1", "t1", "bot", "agent", "bot", "At nine.", 40)
    judged = JudgedMessage(person, [IndexedMessage(WHERE, message, b"", b"", answer)], verdict)
    return announcement(judged, version, previous)


def test_a_verdict_says_what_the_person_wrote() -> None:
    event = announced(person(), verdict(TARGET))
    assert (event.turn_id, event.detected_in_turn_id, event.verdict) == ("t1", "t2", "rejected")
    assert (event.user_said, event.rules, event.evaluation) == ("No, that is wrong.", ("flat_no",), 3)


def test_a_text_of_the_greatest_length_counts_as_truncated() -> None:
    found = [announced(person("x" * length), verdict(TARGET)) for length in (TEXT_LIMIT - 1, TEXT_LIMIT)]
    assert [(len(event.user_said), event.truncated) for event in found] == [(9_999, False), (10_000, True)]


def test_an_event_gives_the_rule_that_decided_and_its_reasons_in_words() -> None:
    judged = replace(verdict(TARGET), rules=("rule.rejects", "en.is_wrong"), rule="rule.rejects")
    event = announced(person(), judged)
    assert (event.rule, event.reasons) == ("rule.rejects", ("rejects the answer",))
    assert announced(person(), replace(judged, rule="")).rule is None
    nothing = replace(verdict(None), rules=judged.rules, rule="rule.nothing")
    retraction = announced(person(), nothing, previous=ANNOUNCED)
    assert (retraction.rule, retraction.reasons) == (None, ())


def test_an_event_says_how_the_answer_was_made_and_who_the_person_is() -> None:
    said = person()
    known = replace(said, user_type="paid")
    event = announced(known, verdict(TARGET), Provenance(track_id="track-1", agent_version="7", intent="hours"))
    assert (event.track_id, event.agent_version, event.intent, event.model) == ("track-1", "7", "hours", None)
    assert (event.user_type, announced(said, verdict(TARGET)).user_type) == ("paid", "human")
    strange = replace(said, user_type="head of sales")
    assert announced(strange, verdict(TARGET)).user_type == "head of sales"


def test_nothing_found_and_nothing_announced_before_is_nothing_to_say() -> None:
    assert announced(person(), verdict(None)) is None


def test_a_retraction_names_the_turn_it_takes_back_and_repeats_no_text() -> None:
    """The message may have been edited into one without feedback."""
    event = announced(person("My number is 555-0100."), verdict(None), previous=ANNOUNCED)
    assert (event.turn_id, event.agent_id, event.verdict, event.reaction) == ("t1", "bot", None, None)
    assert (event.user_said, event.rules, event.correction_type, event.target) == ("", (), None, None)


def test_the_same_look_makes_the_same_event_and_a_later_one_another() -> None:
    first = announced(person(), verdict(TARGET))
    assert announced(person(), verdict(TARGET)) == first
    assert announced(person(), verdict(None), previous=ANNOUNCED).event_id == first.event_id, "the evaluation decides"


def test_an_event_names_its_detector_and_another_detector_makes_another_event() -> None:
    first = announced(person(), verdict(TARGET))
    assert (first.detector_version, first.decided_by) == ("3.a1b2c3d4", "rules")
    other = announced(person(), verdict(TARGET), version=VERSION._replace(release=4))
    assert other.detector_version == "4.a1b2c3d4"
    assert first.event_id != other.event_id


# Rejected settings of the LLM gate; no error shows its key.

KEY = "sk-not-to-be-seen"


ON: dict[str, Any] = {"gate_url": "http://127.0.0.1:8000/v1", "gate_model": "m", "gate_key": KEY}


def test_off_unless_an_address_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFERENCE_GATE_URL", "")
    assert not InferenceSettings().gate_url
    assert InferenceSettings(**ON).gate_key.get_secret_value() == KEY


@pytest.mark.parametrize(
    "fault",
    [
        {"gate_model": ""},
        {"gate_url": "ftp://127.0.0.1/v1"},
        {"gate_url": f"http://user:{KEY}@127.0.0.1/v1"},
        {"gate_url": f"http://127.0.0.1/v1?key={KEY}"},
        {"gate_url": "http://127.0.0.1/v1\n"},
        {"gate_key": f"{KEY}\n"},
        {"gate_key": f"{KEY}é"},
        {"gate_seconds": 0},
        {"gate_seconds": 4, "gate_batch_seconds": 4},
        {"gate_at_once": 0},
    ],
)
def test_what_cannot_work_is_refused_at_start_without_showing_the_key(fault: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        InferenceSettings(**(ON | fault))
    assert KEY not in str(caught.value)
    assert KEY not in repr(InferenceSettings(**ON))
