"""The sample's month: what each page, bridge and export needs is in it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from contracts.feedback import FeedbackExplicitReceived
from contracts.instants import DAY, parse_instant
from standalone.sample import month_of, write_sample
from standalone.sample.month import Month, explicit_bodies, month
from standalone.sample.month_script import read_month
from standalone.sample.script import read_script

NOW = parse_instant("2026-11-21T00:00:00Z")


@pytest.fixture(scope="module")
def made() -> Month:
    return month(read_month(), read_script(), NOW)


def test_it_is_the_same_each_time(made: Month) -> None:
    assert month(read_month(), read_script(), NOW) == made


def test_it_is_found_again_from_its_file(tmp_path: Path) -> None:
    path = write_sample(tmp_path / "sample.jsonl", NOW)
    assert month_of(path) == (month(read_month(), read_script(), NOW), NOW)


@pytest.mark.parametrize("content", ["", '{"eventId": "of another file"}\n'])
def test_a_file_of_other_events_has_no_month(tmp_path: Path, content: str) -> None:
    path = tmp_path / "sample.jsonl"
    path.write_text(content)
    assert month_of(path) is None


def test_answers_name_trace_language_channel_and_arm(made: Month) -> None:
    answers = [one.body for one in made.chat if one.body.get("senderType") == "agent"]
    assert len(answers) == len(made.answers)
    assert all(len(one["traceId"]) == 32 and one["bundleId"] and one["trackId"] for one in answers)
    said = {name: {one["attributes"][name] for one in answers} for name in ("channel", "language", "arm")}
    assert said == {"channel": {"web", "app", "slack"}, "language": {"en", "de", "fr", "es"}, "arm": {"a", "b"}}


def test_each_answer_follows_the_question_that_it_names(made: Month) -> None:
    asked = {one.body["messageId"]: one.body for one in made.chat if one.body.get("senderType") == "human"}
    answers = [one.body for one in made.chat if one.body.get("senderType") == "agent"]
    for answer in answers:
        question = asked[answer["replyToMessageId"]]
        assert question["turnId"] == answer["turnId"] and question["content"]
        assert question["occurredAt"] < answer["occurredAt"]


def test_threads_begin_with_their_question(made: Month) -> None:
    asked = {one.body["messageId"] for one in made.chat if one.body.get("senderType") == "human"}
    threads = {one.thread_id for one in made.answers if one.thread_id is not None}
    assert len(threads) > 50
    assert threads <= asked


def test_the_new_version_of_one_agent_is_worse(made: Month) -> None:
    bad, total = Counter[str](), Counter[str]()
    for one in made.answers:
        if one.provenance["agentId"] == "shop-helper":
            total[one.provenance["agentVersion"]] += 1
            bad[one.provenance["agentVersion"]] += one.is_bad
    assert {version: round(bad[version] / total[version], 1) for version in total} == {"1.8.2": 0.1, "1.9.0": 0.7}


def test_one_topic_is_fixed_and_one_came_back(made: Month) -> None:
    def rejected(topic: str, begin: float, until: float) -> float:
        some = [one for one in made.answers if one.topic == topic and until <= (NOW - one.at) / DAY < begin]
        return sum(one.is_bad for one in some) / len(some)

    assert rejected("router-setup", 30, 14.1) > 0.5
    assert rejected("router-setup", 14, 0) == 0
    assert rejected("weekly-totals", 30, 15.1) > 0.5
    assert rejected("weekly-totals", 15, 5) == 0
    assert rejected("weekly-totals", 4.9, 0) > 0.4


def test_judgements_are_valid_and_some_correct_the_answer(made: Month) -> None:
    events = [FeedbackExplicitReceived.model_validate(body) for body in explicit_bodies(made.judgements)]
    by = Counter((one.reviews is not None, one.reaction) for one in events)
    assert set(by) == {(False, "ok"), (False, "not_ok"), (True, "ok"), (True, "not_ok")}
    assert sum(one.correction is not None for one in events) > 20
    assert all(one.occurred_at < NOW for one in events)


def test_sessions_have_each_rating(made: Month) -> None:
    labels = Counter(one.label for one in made.sessions)
    assert set(labels) == {"positive", "negative", "skip"}
    assert len({one.conversation_id for one in made.sessions}) == len(made.sessions) > 50
