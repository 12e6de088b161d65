"""Events that are made from a short script: times, ids, replies, edits, reactions and provenance."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pytest
from pydantic import ValidationError

from contracts.ids import derived_id
from contracts.instants import DAY, MINUTE, format_instant, parse_instant
from standalone.sample.envelope import sample_id
from standalone.sample.events import arrivals, events
from standalone.sample.month import Month, _Writer, month
from standalone.sample.month_script import MonthScript
from standalone.sample.script import Script

NOW = parse_instant("2026-11-21T00:00:00Z")
SECOND = MINUTE // 60
AGENTS = {"bot": {"agentVersion": "1.0", "model": "m1"}}
PEOPLE = {"ann": "customer", "tom": "staff"}


def script(*lines: dict[str, Any], **conversation: Any) -> Script:
    talk = {"name": "c1", "agent": "bot", "minutesAgo": 60, "messages": lines} | conversation
    return Script.model_validate({"agents": AGENTS, "people": PEOPLE, "conversations": [talk], "strays": []})


def made(*lines: dict[str, Any], **conversation: Any) -> list[dict[str, Any]]:
    """Return the bodies of the events of one conversation, in the order of the script."""
    return [one.body for one in arrivals(script(*lines, **conversation), NOW)]


QUESTION = {"by": "ann", "text": "When do you open?"}
ANSWER = {"by": "bot", "text": "At nine."}


def test_a_question_and_its_answer() -> None:
    question, answer = made(QUESTION, ANSWER | {"intent": "hours", "qualityScore": 0.5})
    assert question == {
        "topic": "chat.message.ingested", "eventId": str(derived_id("sample", "event", "message", "c1", 0)),
        "occurredAt": format_instant(NOW - 60 * MINUTE), "tenant": "demo", "project": "support",
        "messageId": sample_id("message", "c1", 0), "conversationId": "c1", "senderId": "ann", "senderType": "human",
        "content": "When do you open?", "turnId": sample_id("turn", "c1", 0), "userType": "customer",
    }  # fmt: skip
    assert answer == {
        "topic": "chat.message.ingested", "eventId": str(derived_id("sample", "event", "message", "c1", 1)),
        "occurredAt": format_instant(NOW - 60 * MINUTE + 10 * SECOND), "tenant": "demo", "project": "support",
        "messageId": sample_id("message", "c1", 1), "conversationId": "c1", "senderId": "bot", "senderType": "agent",
        "content": "At nine.", "turnId": sample_id("turn", "c1", 0), "agentId": "bot", "agentVersion": "1.0",
        "model": "m1", "intent": "hours", "qualityScore": 0.5,
    }  # fmt: skip


def test_an_agent_answers_after_ten_seconds_and_a_person_reads_and_types() -> None:
    lines = made(QUESTION, ANSWER, {"by": "tom", "text": "x" * 30}, ANSWER | {"after": 2.5})
    seconds = [(parse_instant(line["occurredAt"]) - NOW) // SECOND + 3_600 for line in lines]
    assert seconds == [0, 10, 45, 195], "20 s to read, and half a second for each character"


def test_turns_begin_with_a_persons_message() -> None:
    lines = made(QUESTION, ANSWER, ANSWER, QUESTION, ANSWER)
    assert [line["turnId"] for line in lines] == [sample_id("turn", "c1", n) for n in (0, 0, 0, 3, 3)]


def test_a_reply_names_the_latest_answer() -> None:
    found = made(QUESTION | {"reply": True}, ANSWER, ANSWER, QUESTION | {"reply": True}, QUESTION)
    topics = [one["topic"] for one in found]
    assert topics == ["chat.message.ingested"] * 4 + ["chat.message.reply.ingested", "chat.message.ingested"]
    message, reply = found[3:5]
    assert message["replyToMessageId"] == reply["originalMessageId"] == sample_id("message", "c1", 2)
    assert (reply["messageId"], reply["occurredAt"]) == (message["messageId"], message["occurredAt"])
    assert reply["eventId"] != message["eventId"]
    assert not {"turnId", "userType"} & reply.keys()
    assert all("replyToMessageId" not in found[n] for n in (0, 1, 2, 5))


def test_an_edit_has_the_same_message_and_a_later_time() -> None:
    first, edit = made(QUESTION | {"edit": {"text": "When do you close?", "after": 3}})
    assert edit["content"] == "When do you close?"
    assert edit["occurredAt"] == format_instant(NOW - 57 * MINUTE)
    same = first.keys() - {"content", "occurredAt", "eventId"}
    assert {name: edit[name] for name in same} == {name: first[name] for name in same}


def test_reactions_follow_their_message() -> None:
    given = [{"by": "tom", "emoji": "👍", "after": 1}, {"by": "tom", "emoji": "👍", "after": 1.5, "action": "removed"}]
    answer, added, removed = made(ANSWER | {"reactions": given}, agentVersion="2.0")
    assert answer["agentVersion"] == "2.0"
    assert added == {
        "topic": "chat.message.reaction.ingested", "tenant": "demo", "project": "support",
        "eventId": str(derived_id("sample", "event", "reaction", "c1", 0, 0)),
        "occurredAt": format_instant(NOW - 59 * MINUTE), "messageId": answer["messageId"], "conversationId": "c1",
        "userId": "tom", "userType": "staff", "emoji": "👍", "action": "added",
    }  # fmt: skip
    assert (removed["action"], removed["occurredAt"]) == ("removed", format_instant(NOW - 58 * MINUTE - 30 * SECOND))


def test_an_event_that_arrives_late_comes_behind_the_next() -> None:
    late = script(QUESTION | {"late": 1}, ANSWER)
    assert [one.at - NOW + 60 * MINUTE for one in arrivals(late, NOW)] == [MINUTE, 10 * SECOND]
    assert [one["senderId"] for one in events(late, NOW)] == ["bot", "ann"]
    assert parse_instant(events(late, NOW)[1]["occurredAt"]) == NOW - 60 * MINUTE, "its own time stays"


def test_a_stray_event_is_as_it_was_written() -> None:
    stray = {"name": "odd", "minutesAgo": 5, "event": {"topic": "post.published", "project": "else", "x": 1}}
    found = Script.model_validate({"agents": {}, "people": {}, "conversations": [], "strays": [stray]})
    assert events(found, NOW) == [
        {
            "eventId": sample_id("event", "stray", "odd"), "occurredAt": format_instant(NOW - 5 * MINUTE),
            "tenant": "demo", "project": "else", "topic": "post.published", "x": 1,
        }
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [Script, MonthScript])
def test_a_misspelt_field_of_a_script_is_refused(kind: Any) -> None:
    with pytest.raises(ValidationError, match="mesages"):
        kind.model_validate({"mesages": []})


TOPIC = {
    "name": "hours", "agent": "bot", "intent": "ask_hours", "strategy": "look_up", "bundle": "b1", "channel": "web",
    "language": "en", "things": ["museum"], "questions": ["When does the {thing} open?"], "good": ["{thing}: nine."],
    "bad": ["{thing}: never."], "complaints": ["The {thing} does."], "corrections": ["At nine."],
    "phases": [{"from": 10, "until": 0, "answers": 2, "rejected": 0.5}],
}  # fmt: skip


def planned(monkeypatch: pytest.MonkeyPatch, *chances: float, now: int = NOW, **changes: Any) -> Month:
    """Return the month of one topic whose random numbers are these, again and again."""
    numbers = cycle(chances)
    monkeypatch.setattr(_Writer, "_chance", lambda _: next(numbers))
    plan = {
        "versions": {"bot": [{"version": "1", "until": 4}, {"version": "2"}]}, "people": {"ann": "customer"},
        "thanks": {"en": ["Thanks for the {thing}."]}, "topics": [TOPIC | changes],
    }  # fmt: skip
    return month(MonthScript.model_validate(plan), script(), now)


def days_ago(at: int) -> float:
    return (NOW - at) / DAY


def test_answers_are_spread_over_their_phase_and_have_the_version_of_their_day(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = planned(monkeypatch, 0.5, phases=[{"from": 10, "until": 2, "answers": 4, "rejected": 0}])
    asked = [one for one in found.chat if one.body.get("senderType") == "human" and "?" in one.body["content"]]
    assert [days_ago(one.at) for one in asked] == [9, 7, 5, 3]
    assert [one.provenance["agentVersion"] for one in found.answers] == ["1", "1", "1", "2"]
    assert [one.at - ask.at for one, ask in zip(found.answers, asked, strict=True)] == [14 * SECOND] * 4


def test_a_question_and_a_good_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    found = planned(monkeypatch, 0.999)
    question, answer = (one.body for one in found.chat[:2])
    assert question["content"] == "When does the museum open?"
    assert (question["senderId"], question["userType"], question["conversationId"]) == ("ann", "customer", "hours-1")
    assert answer["content"] == "museum: nine."
    assert answer["replyToMessageId"] == question["messageId"]
    assert (answer["validationOutcome"], answer["qualityScore"]) == ("APPROVE", 0.98)
    assert answer["attributes"] == {"channel": "web", "language": "en", "arm": "a"}
    assert (answer["intent"], answer["trackId"], answer["bundleId"]) == ("ask_hours", "ask_hours", "b1")
    assert (answer["agentId"], answer["model"], len(answer["traceId"])) == ("bot", "m1", 32)
    assert "threadId" not in answer
    assert [one.body["conversationId"] for one in found.chat] == ["hours-1"] * 2 + ["hours-2"] * 2
    assert (found.judgements, found.sessions) == ([], []), "nobody responds"


def test_a_bad_answer_and_the_responses_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = planned(monkeypatch, 0.0)
    question, answer, response = found.chat[:3]
    assert answer.body["content"] == "museum: never."
    assert (answer.body["validationOutcome"], answer.body["qualityScore"]) == ("REVISE", 0.55)
    assert answer.body["attributes"]["arm"] == "b"
    assert answer.at - question.at == 8 * SECOND
    assert (response.body["content"], response.body["senderId"]) == ("The museum does.", "ann")
    assert response.at - answer.at == 20 * SECOND
    assert response.body["turnId"] == sample_id("turn", "hours-1", "response")
    _, at, review = found.judgements[0]
    assert (review["userId"], review["reaction"], review["correction"]) == ("reviewer-ana", "not_ok", "At nine.")
    assert review["reviews"] == answer.body["turnId"]
    assert at - response.at == 6 * 60 * MINUTE
    assert [(one.label, one.at - answer.at) for one in found.sessions[:1]] == [("skip", 5 * MINUTE)]


def test_the_youngest_answer_is_a_quarter_of_an_hour_old_and_its_review_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = planned(monkeypatch, 0.0, phases=[{"from": 0.001, "until": 0, "answers": 1, "rejected": 1}])
    assert NOW - found.chat[0].at == 15 * MINUTE
    assert [NOW - at for _, at, _ in found.judgements] == [MINUTE]


def test_a_channel_is_one_conversation_with_threads_and_without_ratings(monkeypatch: pytest.MonkeyPatch) -> None:
    found = planned(monkeypatch, 0.0, channel="slack")
    assert {one.body["conversationId"] for one in found.chat} == {"b1-channel"}
    question, answer, response = (one.body for one in found.chat[:3])
    assert answer["threadId"] == response["threadId"] == question["messageId"]
    assert "threadId" not in question
    assert found.sessions == []


@pytest.mark.parametrize(
    ("way", "is_bad", "kinds"),
    [
        (0.1, True, {"writes"}), (0.5, True, {"writes", "reacts"}), (0.7, True, {"reacts"}), (0.9, True, {"judges"}),
        (0.1, False, {"writes"}), (0.25, False, {"writes", "reacts"}), (0.5, False, {"reacts"}),
        (0.7, False, {"judges"}), (0.9, False, set()),
    ],
)  # fmt: skip
def test_people_respond_in_the_planned_way(
    monkeypatch: pytest.MonkeyPatch, way: float, is_bad: bool, kinds: set[str]
) -> None:
    rejected = 1.0 if is_bad else 0.0
    phases = [{"from": 10, "until": 0, "answers": 1, "rejected": rejected}]
    found = planned(monkeypatch, way, phases=phases)
    responses = [one.body for one in found.chat[2:]]
    judged = [body for _, _, body in found.judgements if body["reviews"] is None]
    done = {"reacts" for one in responses if "emoji" in one} | {"writes" for one in responses if "content" in one}
    assert done | ({"judges"} if judged else set()) == kinds
    if "reacts" in kinds:
        [reaction] = [one for one in responses if "emoji" in one]
        assert (reaction["emoji"] == "👎", reaction["userType"], reaction["action"]) == (is_bad, "customer", "added")
    if judged:
        [body] = judged
        assert (body["reaction"], body.get("tags")) == (("not_ok", ("incorrect",)) if is_bad else ("ok", None))
        assert body.get("text") == ("The museum does." if is_bad else None)
        assert "correction" not in body, "only seven of ten correct the answer"
