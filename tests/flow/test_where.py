"""`where`: coordinates and outcome of live events in every service, by event id and by message id; never content."""

from __future__ import annotations

import asyncio
import json
import pkgutil
from typing import Any

import pytest

from contracts.detectors import precedence
from inference.handlers import indexed
from reporting.parts import SCHEMA
from reporting.read_models.rollups import Rollups
from servicekit.clock import SystemClock
from servicekit.db.pools import open_pool
from standalone.where import EventTrace, Params, trace_event
from tests.support.command import agent_feedback
from tests.support.erasures import erased
from tests.support.running_stack import RunningStack, exchange, message
from tests.support.served import served

WORDS = "zanzibar"


async def way(stack: RunningStack, id_: str, *, is_message: bool = False, token: str = "all") -> EventTrace:
    async with stack.client(token) as http:

        async def ask(service: str, parameters: Params) -> Any:
            answer = await http.get(f"/conversations/acme/support/where/{service}", params=list(parameters))
            assert answer.status_code == 200, answer.text
            assert WORDS not in answer.text
            return answer.json()

        return await trace_event(ask, id_, is_message=is_message)


def reaction(event: str, conversation: str, name: str = "t1-answer", emoji: str = "👍", **fields: Any) -> Any:
    said = {"messageId": name, "conversationId": conversation, "userId": "ann", "userType": "human", "emoji": emoji}
    place = {"topic": "chat.message.reaction.ingested", "tenant": "acme", "project": "support"}
    return {**place, "eventId": event, "occurredAt": "2026-01-01T10:00:07Z", "action": "added", **said, **fields}


async def only(stack: RunningStack, event: str) -> Any:
    found = await way(stack, event)
    assert len(found.records["chat_bridge"]) == 1, found.facts()
    return found


async def rolled_up(stack: RunningStack) -> None:
    """Count every hour, once the services' transactions have ended."""
    pool = await open_pool(stack.database_url, "reporting", SCHEMA, size=1)
    async with asyncio.timeout(30):
        while await stack.rows("select from reporting.stale_hours"):
            await Rollups(pool, SystemClock()).catch_up(quiet=0)
    await pool.close()


async def test_a_reaction_is_followed_to_the_reports(stack: RunningStack) -> None:
    await stack.publish(*exchange("w-1", "t1"), reaction("w-1-r", "w-1"))
    await stack.quiet()
    found = await only(stack, "w-1-r")
    assert found.records["chat_bridge"][0]["at"].startswith("chat.message.reaction.ingested:")
    assert (found.records["chat_bridge"][0]["outcome"], found.records["feedback"][0]["outcome"]) == ("stored", "stored")
    (stored,) = found.stored.values()
    (counted,) = found.counted.values()
    assert (stored["state"], counted["state"], stored["revision"]) == ("live", "counted", counted["revision"])
    feedback = await stack.rows("select feedback_id, revision from feedback.feedback where conversation_id = 'w-1'")
    assert [(str(row["feedback_id"]), row["revision"]) for row in feedback] == [
        (stored["feedback_id"], stored["revision"])
    ]
    assert stored["announced_as"] in found.steps()[-1]["feedback"]


async def test_a_verdict_is_found_by_its_message_and_by_the_messages_event(stack: RunningStack) -> None:
    said = message("w-2-m", "w-2", turn="t2", content=f"No, that is wrong, {WORDS}.", occurredAt="2026-01-01T10:00:09Z")
    await stack.publish(*exchange("w-2", "t1"), said)
    await stack.quiet()
    for found in (await way(stack, "w-2-m", is_message=True), await way(stack, said["eventId"])):
        assert [one["outcome"] for one in found.records["chat_bridge"]] == ["stored"]
        assert [one["at"].split(":")[0] for one in found.records["feedback"]] == ["feedback.inferred.received"]
        assert [one["state"] for one in found.counted.values()] == ["counted"]


@pytest.mark.parametrize(
    ("content", "verdict", "held_back"),
    [
        ("And when does it close?", "accepted", "follow_up"),
        ("No, that is wrong.", "rejected", None),
        ("", "neutral", "no_feedback"),
        ("[Request interrupted by user]", "neutral", "machine_text"),
    ],
)
async def test_a_verdict_says_why_it_is_not_announced(
    stack: RunningStack, content: str, verdict: str, held_back: str | None
) -> None:
    said = message("w-v-m", f"w-v-{held_back}", turn="t2", content=content, occurredAt="2026-01-01T10:00:09Z")
    await stack.publish(*exchange(said["conversationId"], "t1"), said)
    await stack.quiet()
    found = await way(stack, said["eventId"])
    (judged,) = found.judged
    assert (judged["verdict"], judged["announced"], judged["held_back"]) == (verdict, held_back is None, held_back)
    assert precedence(judged["detector"]) > ""
    (step,) = [one for one in found.steps() if one["service"] == "inference"]
    assert f"judged {verdict} at {judged['confidence']:.2f}" in step["outcome"]
    assert ("announced" if held_back is None else "not announced: ") in step["outcome"]
    assert len(found.records["feedback"]) == (held_back is None)


async def test_an_answer_has_no_verdict(stack: RunningStack) -> None:
    await stack.publish(*exchange("w-11", "t1"))
    await stack.quiet()
    assert (await way(stack, "t1-answer", is_message=True)).judged == []


@pytest.mark.parametrize(
    ("fields", "outcome", "reason"),
    [
        ({"emoji": "🦄"}, "ignored", "unmapped_emoji"),
        ({"name": "t1-question"}, "ignored", "not_about_an_agent"),
        ({"userId": "bot"}, "ignored", "self_feedback"),
        ({"action": "maybe"}, "dead_lettered", "invalid_event"),
        ({"name": "nobody-knows"}, "parked", "original_unknown"),
    ],
)
async def test_an_outcome_names_its_rule(stack: RunningStack, fields: Any, outcome: str, reason: str) -> None:
    event = f"w-3-{reason}"
    await stack.publish(*exchange("w-3", "t1"), reaction(event, "w-3", **fields))
    await stack.quiet()
    found = await only(stack, event)
    last = (found.records["feedback"] or found.records["chat_bridge"])[0]
    assert (last["outcome"], last["reason"]) == (outcome, reason)
    assert found.stored == {}


async def test_inferences_own_dead_letters_and_ignored_records_are_named(
    stack: RunningStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(event: Any) -> Any:
        return 1 / 0 if event.message_id == "w-12-m" else indexed(event)

    monkeypatch.setattr("inference.handlers.indexed", failing)
    broken = message("w-12-m", "w-12", turn="t2", occurredAt="2026-01-01T10:00:09Z")
    await stack.publish(*exchange("w-12", "t1"), broken)
    await stack.quiet()
    found = await only(stack, broken["eventId"])
    assert [one["outcome"] for one in found.records["chat_bridge"]] == ["stored"]
    (refused,) = found.records["inference"]
    assert (refused["outcome"], refused["reason"], refused["message_id"]) == ("dead_lettered", "bug", "w-12-m")
    await erased(stack, "eve")
    late = message("w-12-late", "w-12", senderId="eve", occurredAt="2026-01-01T10:00:09Z")
    await stack.publish(late)
    await stack.quiet()
    (ignored,) = (await only(stack, late["eventId"])).records["inference"]
    assert (ignored["outcome"], ignored["reason"]) == ("ignored", "erased")


@pytest.mark.parametrize(
    ("group", "failing", "service"),
    [
        ("reporting", "reporting.read_models.handlers.feedback_row", "reporting"),
        ("reporting", "reporting.read_models.handlers.message_row", "reporting"),
        ("feedback_turns", "feedback.turns.turn_of", "feedback"),
    ],
)
async def test_dead_letters_of_the_readers_behind_are_named(
    stack: RunningStack, monkeypatch: pytest.MonkeyPatch, group: str, failing: str, service: str
) -> None:
    """The read models and the turn registry: the record is named, whichever event of its way is asked for."""
    place = f"w-13-{failing}"
    work = pkgutil.resolve_name(failing)
    monkeypatch.setattr(failing, lambda event: 1 / 0 if event.conversation_id == place else work(event))
    question, answer = exchange(place, "t1")
    await stack.publish(question, answer, reaction(f"{place}-r", place))
    await stack.quiet()
    of_feedback = failing.endswith("feedback_row")
    found = await only(stack, f"{place}-r" if of_feedback else question["eventId"])
    (refused,) = [one for one in found.records[service] if one["outcome"] == "dead_lettered"]
    assert (refused["reason"], refused["conversation_id"]) == ("bug", place)
    topic = "feedback.created" if of_feedback else "chat.message.ingested"
    assert refused["at"].startswith(f"{topic}:")
    if of_feedback:
        assert refused["event_id"] in {one["announced_as"] for one in found.stored.values()}
        assert found.counted == {}
        assert "not in the reports" in " ".join(step["feedback"] for step in found.steps())
    assert [step["service"] for step in found.steps() if step["outcome"] == "dead_lettered (bug)"] == [service]


async def test_the_figures_that_count_a_record_are_named(stack: RunningStack) -> None:
    """A person's verdict and the machine's on the same turn, a review that overrules it, and a reply."""
    said = message("w-14-m", "w-14", turn="t2", content="No, that is wrong.", occurredAt="2026-01-01T10:00:09Z")
    await stack.publish(*exchange("w-14", "t1"), said)
    await stack.publish(reaction("w-14-a", "w-14", emoji="👎"))
    await stack.quiet()
    await rolled_up(stack)
    figures = {"hour": "2026-01-01T10:00:00.000000Z", "rolled_up": True}
    counted = ["summary", "agents", "calibration"]
    ((person,), (machine,)) = [(await only(stack, one)).counted.values() for one in ("w-14-a", said["eventId"])]
    assert (person["state"], person["counted_in"]) == ("counted", {"figures": counted, **figures})
    assert machine["counted_in"] == {"figures": ["summary", "agents", "reasons", "calibration"], **figures}
    step = (await only(stack, "w-14-a")).steps()[-1]
    assert "counted in summary, agents and calibration of the hour 2026-01-01T10:00Z (rolled up)" in step["feedback"]

    async with stack.client() as http:
        path = "/conversations/acme/support/w-14/turns/t1"
        assert (await http.post(f"{path}/reviews", json={"reaction": "ok"})).status_code == 202
        assert (await http.post(f"{path}/feedback", json={"reaction": "ok", "user_id": "ann"})).status_code == 202
    reply = {"topic": "chat.message.reply.ingested", "originalMessageId": "t1-answer"}
    answered = message("w-14-reply", "w-14", **reply, content="Thank you", occurredAt="2026-01-01T11:00:00Z")
    await stack.publish(answered)
    await stack.quiet()
    (person,) = (await only(stack, "w-14-a")).counted.values()
    assert (person["state"], person["counted_in"]) == ("superseded", None)
    (machine,) = (await only(stack, said["eventId"])).counted.values()
    assert (machine["state"], machine["counted_in"]["figures"]) == ("overruled", ["calibration"])
    found = await only(stack, answered["eventId"])
    (listed,) = found.counted.values()
    of_reply = {"figures": ["summary"], "hour": "2026-01-01T11:00:00.000000Z", "rolled_up": False}
    assert (listed["state"], listed["counted_in"]) == ("listed", of_reply)
    assert any("counted among the replies of the hour 2026-01-01T11:00Z" in one["feedback"] for one in found.steps())


async def test_what_was_parked_is_followed_once_its_message_comes(stack: RunningStack) -> None:
    await stack.publish(reaction("w-4-r", "w-4"))
    await stack.quiet()
    assert (await only(stack, "w-4-r")).records["chat_bridge"][0]["outcome"] == "parked"
    await stack.publish(*exchange("w-4", "t1"))
    await stack.quiet()
    found = await only(stack, "w-4-r")
    assert (found.records["chat_bridge"][0]["outcome"], [one["state"] for one in found.counted.values()]) == (
        "stored",
        ["counted"],
    )


async def test_a_repeated_event_keeps_its_first_outcome_and_shows_the_repetition(stack: RunningStack) -> None:
    await stack.publish(*exchange("w-5", "t1"), reaction("w-5-r", "w-5"))
    await stack.publish(reaction("w-5-r", "w-5"))
    await stack.quiet()
    found = await way(stack, "w-5-r")
    assert len({one["at"] for one in found.records["chat_bridge"]}) == 2
    assert sorted(one["outcome"] for one in found.records["feedback"]) == ["stored", "unchanged"]


async def test_a_superseded_and_an_erased_feedback_are_told_apart(stack: RunningStack) -> None:
    later = {"occurredAt": "2026-01-01T10:00:08Z"}
    await stack.publish(*exchange("w-6", "t1"), reaction("w-6-a", "w-6", userId="wim"))
    await stack.publish(reaction("w-6-b", "w-6", userId="wim", action="removed", **later))
    await stack.quiet()
    found = await only(stack, "w-6-a")
    assert [one["state"] for one in (*found.stored.values(), *found.counted.values())] == ["cleared", "cleared"]
    await erased(stack, "wim")
    assert [one["state"] for one in (await only(stack, "w-6-a")).stored.values()] == ["erased"]


async def test_others_projects_and_tenants_see_nothing_and_own_tokens_need_the_scope(stack: RunningStack) -> None:
    await stack.publish(*exchange("w-7", "t1"), reaction("w-7-r", "w-7"))
    await stack.quiet()
    found = await only(stack, "w-7-r")
    ids = "&".join(f"feedback_id={one}" for one in found.stored)
    asked = (
        "chat?event_id=w-7-r",
        f"feedback?event_id=w-7-r&cause={found.records['chat_bridge'][0]['at']}",
        f"reports?{ids}",
        "inference?message_id=t1-question",
    )
    for question in asked:
        async with stack.client("all") as http:
            for place in ("globex/support", "acme/sales"):
                answer = (await http.get(f"/conversations/{place}/where/{question}")).json()
                assert answer == {"records": [], "feedbacks": [], "judged": []}, json.dumps(answer)
        async with stack.client("ann") as http:
            assert (await http.get(f"/conversations/acme/support/where/{question}")).status_code == 403
        async with stack.client("gus") as http:
            assert (await http.get(f"/conversations/acme/support/where/{question}")).status_code == 403


async def test_the_command_says_the_same(stack: RunningStack) -> None:
    await stack.publish(*exchange("w-9", "t1"), reaction("w-9-r", "w-9", emoji="🦄"))
    await stack.quiet()
    async with served(stack.app()) as url:
        where = ("--tenant", "acme", "--project", "support", "--url", url, "--token")
        ended = await agent_feedback("where", "w-9-r", *where, "all")
        assert (ended.code, "ignored (unmapped_emoji)" in " ".join(ended.out.split())) == (0, True), (
            ended.out + ended.err
        )
        told = (await agent_feedback("where", "t1-answer", "--message", *where, "all", "--json")).facts
        assert {"w-9-r"} <= {one["event_id"] for one in told["chat_bridge"]}
        unknown = await agent_feedback("where", "nobody", *where, "all")
        assert (unknown.code, "No service knows it" in unknown.err) == (1, True)
        refused = await agent_feedback("where", "w-9-r", *where, "ann")
        assert (refused.code, "rejects the request with 403" in refused.err) == (1, True)
