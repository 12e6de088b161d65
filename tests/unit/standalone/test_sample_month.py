"""The sample's month: what each page, bridge and export needs is in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from contracts.feedback import FeedbackExplicitReceived
from contracts.instants import DAY, MINUTE, parse_instant
from standalone.sample import month_of, write_sample
from standalone.sample.envelope import sample_id
from standalone.sample.month import Month, PlannedAnswer, explicit_bodies, month
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


def share(some: Iterable[bool]) -> float:
    found = list(some)
    assert len(found) > 30
    return sum(found) / len(found)


class Ways:
    """Ways in which people responded to the month's answers."""

    def __init__(self, made: Month) -> None:
        names: dict[str, str] = {}
        for topic in {one.topic for one in made.answers}:
            of_topic = [one for one in made.answers if one.topic == topic]
            names |= {one.turn_id: f"{topic}-{number}" for number, one in enumerate(of_topic, 1)}
        said = {one.body["messageId"]: one for one in made.chat if "content" in one.body}
        self.written = {turn: said.get(sample_id("response", name)) for turn, name in names.items()}
        self.reactions = {one.body["messageId"]: one for one in made.chat if "emoji" in one.body}
        self.judged = {body["turnId"]: (at, body) for _, at, body in made.judgements if body["reviews"] is None}
        self.reviewed = {body["turnId"]: (at, body) for _, at, body in made.judgements if body["reviews"] is not None}

    def shares(self, answers: Iterable[PlannedAnswer]) -> list[float]:
        """Return the shares of answers that people wrote about, reacted to, did both, and judged."""
        ways = [(bool(self.written[one.turn_id]), one.message_id in self.reactions, one.turn_id in self.judged)
                for one in answers]  # fmt: skip
        return [
            share(writes for writes, _, _ in ways),
            share(reacts for _, reacts, _ in ways),
            share(writes and reacts for writes, reacts, _ in ways),
            share(judges for _, _, judges in ways),
        ]


def test_people_respond_to_answers_in_each_way(made: Month) -> None:
    """Nobody is silent about a bad answer; a quarter is silent about a good one. Judges do nothing else."""
    ways = Ways(made)
    bad, good = ([one for one in made.answers if one.is_bad is is_bad] for is_bad in (True, False))
    assert ways.shares(bad) == pytest.approx([0.65, 0.45, 0.25, 0.15], abs=0.05)
    assert ways.shares(good) == pytest.approx([0.3, 0.4, 0.08, 0.12], abs=0.04)
    for one in made.answers:
        others = bool(ways.written[one.turn_id]) or one.message_id in ways.reactions
        assert not (others and one.turn_id in ways.judged)
    assert all(
        ways.written[one.turn_id] or one.message_id in ways.reactions or one.turn_id in ways.judged for one in bad
    )


def test_a_response_follows_the_answer_and_a_reaction_a_minute_later(made: Month) -> None:
    ways = Ways(made)
    second = MINUTE // 60
    for one in made.answers:
        if (written := ways.written[one.turn_id]) is not None:
            assert 20 * second <= written.at - one.at <= 90 * second
        if (reaction := ways.reactions.get(one.message_id)) is not None:
            assert MINUTE + 20 * second <= reaction.at - one.at <= MINUTE + 90 * second
            assert (reaction.body["emoji"] == "👎") is one.is_bad
            assert reaction.body["action"] == "added"
        if one.turn_id in ways.judged:
            at, body = ways.judged[one.turn_id]
            assert 20 * second <= at - one.at <= 90 * second
            assert (body["reaction"], body["userId"]) == ("not_ok" if one.is_bad else "ok", one.asker)
    questions = {one.body["messageId"]: one.at for one in made.chat if one.body.get("senderType") == "human"}
    assert all(8 * second <= one.at - questions[one.question_message_id] <= 20 * second for one in made.answers)


def test_an_eighth_of_what_people_wrote_about_is_reviewed_six_hours_later(made: Month) -> None:
    ways = Ways(made)
    written = {turn: one for turn, one in ways.written.items() if one is not None}
    assert share(turn in ways.reviewed for turn in written) == pytest.approx(0.12, abs=0.04)
    answers = {one.turn_id: one for one in made.answers}
    for turn, (at, body) in ways.reviewed.items():
        assert at == min(written[turn].at + 6 * 60 * MINUTE, NOW - MINUTE)
        assert body["reaction"] == ("not_ok" if answers[turn].is_bad else "ok")
        assert body.get("correction") == (answers[turn].correction if answers[turn].is_bad else None)
        assert body["userId"] in ("reviewer-ana", "reviewer-tom")


def test_a_rejection_says_why_and_mostly_what_is_right(made: Month) -> None:
    ways = Ways(made)
    answers = {one.turn_id: one for one in made.answers}
    rejected = [body for _, body in ways.judged.values() if body["reaction"] == "not_ok"]
    assert all(body["text"] and "{thing}" not in body["text"] and body["tags"] == ("incorrect",) for body in rejected)
    corrected = [body for body in rejected if "correction" in body]
    assert share("correction" in body for body in rejected) == pytest.approx(0.7, abs=0.12)
    assert all(body["correction"] == answers[body["turnId"]].correction for body in corrected)
    accepted = [body for _, body in ways.judged.values() if body["reaction"] == "ok"]
    assert not any({"text", "tags", "correction"} & body.keys() for body in accepted)


def test_bad_answers_have_lower_scores_and_some_fail_validation(made: Month) -> None:
    bodies = {one.body["messageId"]: one.body for one in made.chat if one.body.get("senderType") == "agent"}
    outcomes: dict[bool, list[bool]] = {True: [], False: []}
    for one in made.answers:
        least = 0.55 if one.is_bad else 0.8
        assert least <= bodies[one.message_id]["qualityScore"] <= least + 0.18
        outcomes[one.is_bad].append(bodies[one.message_id]["validationOutcome"] == "REVISE")
    assert share(outcomes[True]) == pytest.approx(0.4, abs=0.07)
    assert not any(outcomes[False])
    assert share(one["attributes"]["arm"] == "b" for one in bodies.values()) == pytest.approx(0.5, abs=0.05)


def test_a_quarter_of_conversations_outside_of_channels_is_rated_five_minutes_later(made: Month) -> None:
    alone = {one.conversation_id: one for one in made.answers if one.thread_id is None}
    rated = {one.conversation_id: one for one in made.sessions}
    assert rated.keys() <= alone.keys()
    assert share(one in rated for one in alone) == pytest.approx(0.25, abs=0.04)
    assert share(one.label == "skip" for one in made.sessions) == pytest.approx(0.2, abs=0.06)
    for name, one in rated.items():
        assert (one.at, one.user_id) == (alone[name].at + 5 * MINUTE, alone[name].asker)
        assert one.label in ("skip", "negative" if alone[name].is_bad else "positive")


def test_people_react_to_the_answers_as_planned(made: Month) -> None:
    """The seed is fixed, so every number is. A change of the plan changes them."""
    sent = Counter((one.body["topic"].split(".")[2], one.body.get("senderType"), one.body.get("emoji"))
                   for one in made.chat)  # fmt: skip
    assert sent == {
        ("ingested", "human", None): 1008,
        ("ingested", "agent", None): 714,
        ("reaction", None, "👎"): 113,
        ("reaction", None, "👍"): 82,
        ("reaction", None, "❤️"): 45,
        ("reaction", None, "🎉"): 44,
        ("reaction", None, "👏"): 30,
    }
    bodies = [body for _, _, body in made.judgements]
    judged = Counter(
        (one["reaction"], one["reviews"] is not None, "correction" in one, "tags" in one) for one in bodies
    )
    assert judged == {
        ("ok", False, False, False): 67,
        ("not_ok", False, True, True): 24,
        ("not_ok", False, False, True): 14,
        ("ok", True, False, False): 21,
        ("not_ok", True, True, False): 14,
    }
    assert Counter(one.is_bad for one in made.answers) == {False: 485, True: 229}
    assert Counter(one.label for one in made.sessions) == {"positive": 91, "negative": 35, "skip": 22}


def test_answers_are_reacted_to_within_minutes(made: Month) -> None:
    second = MINUTE // 60
    answers = {one.message_id: one for one in made.answers}
    by_turn = {one.turn_id: one for one in made.answers}
    asked = {one.body["messageId"]: one.at for one in made.chat if one.body.get("senderType") == "human"}
    assert all(8 <= (one.at - asked[one.question_message_id]) / second <= 20 for one in made.answers)
    reacted = [one for one in made.chat if "emoji" in one.body]
    assert all(80 <= (one.at - answers[one.body["messageId"]].at) / second <= 150 for one in reacted)
    rated = {one.conversation_id: one.at for one in made.answers if one.thread_id is None}
    assert all(one.at == rated[one.conversation_id] + 5 * MINUTE for one in made.sessions)
    for _, at, body in made.judgements:
        passed = (at - by_turn[body["turnId"]].at) / second
        if body["reviews"] is None:
            assert 20 <= passed <= 90
        else:
            assert 6 * 3_600 + 20 <= passed <= 6 * 3_600 + 90 or at == NOW - MINUTE
            assert (body["reviews"], body["userId"][:9]) == (body["turnId"], "reviewer-")


def test_the_quality_of_an_answer_agrees_with_its_reviewers(made: Month) -> None:
    is_bad = {one.message_id: one.is_bad for one in made.answers}
    answers = [one.body for one in made.chat if one.body.get("senderType") == "agent"]
    scores = {bad: [one["qualityScore"] for one in answers if is_bad[one["messageId"]] is bad] for bad in (False, True)}
    assert (min(scores[True]), max(scores[True])) == (0.55, 0.73)
    assert (min(scores[False]), max(scores[False])) == (0.8, 0.98)
    outcomes = Counter((is_bad[one["messageId"]], one["validationOutcome"]) for one in answers)
    assert outcomes == {(False, "APPROVE"): 485, (True, "APPROVE"): 123, (True, "REVISE"): 106}


def test_all_of_it_is_within_the_month_and_no_answer_is_younger_than_a_quarter_of_an_hour(made: Month) -> None:
    asked = [one.at for one in made.chat if one.body.get("senderType") == "human" and one.body["messageId"] in
             {answer.question_message_id for answer in made.answers}]  # fmt: skip
    assert NOW - 30 * DAY <= min(asked) < NOW - 29 * DAY
    assert NOW - DAY < max(asked) <= NOW - 15 * MINUTE
    assert max(one.at for one in made.chat) < NOW
    assert max(one.at for one in made.sessions) < NOW
