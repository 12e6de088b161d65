"""The sample of `up --sample`: valid events, stable ids, times that end now, and every feature."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from contracts.instants import DAY, MINUTE, parse_instant
from contracts.topics import BY_NAME, CHAT_MESSAGE, CHAT_REACTION, CHAT_REPLY
from feedback.emojis import normalise, reward_of
from standalone.one_process.lines import Routed, route
from standalone.sample import write_sample

NOW = parse_instant("2026-11-21T00:00:00Z")
Events = list[dict[str, Any]]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Events:
    return read(write_sample(tmp_path_factory.mktemp("sample") / "sample.jsonl", NOW))


def read(path: Path) -> Events:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def of(events: Events, topic: str) -> Events:
    return [event for event in events if event["topic"] == topic]


def problem(event: dict[str, Any]) -> str | None:
    body = {name: value for name, value in event.items() if name != "topic"}
    try:
        BY_NAME[event["topic"]].event.model_validate_json(json.dumps(body))
    except ValidationError as error:
        return ".".join(str(part) for part in error.errors()[0]["loc"])
    return None


def unknown_fields(event: dict[str, Any]) -> set[str]:
    fields = BY_NAME[event["topic"]].event.model_fields.values()
    return set(event) - {"topic"} - {str(field.alias) for field in fields}


def first_arrivals(events: Iterable[dict[str, Any]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for place, event in enumerate(events):
        if event["topic"] == CHAT_MESSAGE.name:
            found.setdefault(event["messageId"], place)
    return found


@pytest.fixture(scope="module")
def chats(sample: Events) -> Events:
    return [event for event in sample if event["topic"].startswith("chat.")]


def test_every_event_but_one_keeps_the_contract(sample: Events) -> None:
    assert [p for event in sample if (p := problem(event))] == ["action"]
    assert not set().union(*(unknown_fields(event) for event in sample))


def test_every_event_can_be_sent_to_its_partition(sample: Events) -> None:
    for event in sample:
        routed = route(json.dumps(event).encode())
        assert isinstance(routed, Routed)
        session = event.get("sessionIdOpaque")
        assert routed.key == (f"demo/{session}" if session else f"demo/support/{event['conversationId']}")


def test_event_ids_are_unique(sample: Events) -> None:
    assert max(Counter(event["eventId"] for event in sample).values()) == 1


def test_another_now_moves_the_times_alone(sample: Events, tmp_path: Path) -> None:
    later = read(write_sample(tmp_path / "later.jsonl", NOW + DAY))
    moments = [parse_instant(event.pop("occurredAt")) for event in later]
    assert moments == [parse_instant(event["occurredAt"]) + DAY for event in sample]
    times = {"occurredAt", "recordedAt"}
    assert [{name: value for name, value in event.items() if name not in times} for event in later] == [
        {name: value for name, value in event.items() if name not in times} for event in sample
    ]


def test_times_cover_thirty_days_and_end_shortly_before_now(sample: Events) -> None:
    moments = [parse_instant(event["occurredAt"]) for event in sample]
    assert 0 < NOW - max(moments) < 15 * MINUTE
    assert 29 * DAY < NOW - min(moments) <= 30 * DAY
    assert len({moment // DAY for moment in moments}) == 30


def test_a_file_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    path = write_sample(tmp_path / "some" / "state" / "sample.jsonl", NOW)
    before = path.read_bytes()
    assert write_sample(path, NOW + DAY) == path
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["sample.jsonl"]


def test_it_is_large_enough_to_look_at_and_small_enough_to_wait_for(sample: Events) -> None:
    messages = of(sample, CHAT_MESSAGE.name)
    assert 2_000 <= len(sample) <= 3_000
    assert 400 <= len({event["conversationId"] for event in messages}) <= 700
    assert len({event["agentId"] for event in messages if "agentId" in event}) == 5
    assert 50 <= len({event["senderId"] for event in messages if event["senderType"] == "human"}) <= 70


def test_replies_are_messages_said_before_about_an_agents_message(sample: Events) -> None:
    messages = {event["messageId"]: event for event in of(sample, CHAT_MESSAGE.name)}
    replies = of(sample, CHAT_REPLY.name)
    assert replies
    for reply in replies:
        said, original = messages[reply["messageId"]], messages[reply["originalMessageId"]]
        assert said["replyToMessageId"] == original["messageId"]
        assert said["content"] == reply["content"]
        assert said["conversationId"] == original["conversationId"] == reply["conversationId"]
        assert original["senderType"] == "agent"


def test_reactions_come_after_what_they_are_about_and_go_only_where_they_are(sample: Events) -> None:
    said = {event["messageId"]: event["occurredAt"] for event in reversed(of(sample, CHAT_MESSAGE.name))}
    places = {event["messageId"]: event["conversationId"] for event in of(sample, CHAT_MESSAGE.name)}
    held: set[tuple[str, str, str]] = set()
    sound = [event for event in of(sample, CHAT_REACTION.name) if event.get("action") != "toggled"]
    for event in sorted(sound, key=lambda event: event["occurredAt"]):
        assert said.get(event["messageId"], "") < event["occurredAt"]
        assert places.get(event["messageId"], event["conversationId"]) == event["conversationId"]
        hold = (event["messageId"], event["userId"], normalise(event["emoji"]))
        if event.get("action") == "removed":
            held.remove(hold)
        else:
            assert hold not in held
            held.add(hold)


def test_it_shows_every_kind_of_reaction(sample: Events) -> None:
    reactions = [event for event in of(sample, CHAT_REACTION.name) if not problem(event)]
    emojis = [event["emoji"] for event in reactions]
    assert {normalise(emoji) for emoji in emojis} >= {"👍", "❤", "😂", "😮", "😢", "👎"}
    assert [emoji for emoji in emojis if reward_of(emoji) is None] == [":eyes:"]
    assert any(emoji.isascii() and reward_of(emoji) for emoji in emojis)
    assert any("\U0001f3fb" <= character <= "\U0001f3ff" for emoji in emojis for character in emoji)
    assert any(event.get("action") == "removed" for event in reactions)
    assert any(event["userType"] == "agent" for event in reactions)


def test_one_reaction_waits_for_a_message_that_never_comes(chats: Events) -> None:
    known = first_arrivals(chats)
    lost = [event for event in chats if not problem(event) and event["messageId"] not in known]
    assert [event["topic"] for event in lost] == [CHAT_REACTION.name]


def test_some_replies_and_reactions_arrive_before_their_message(chats: Events) -> None:
    arrived = first_arrivals(chats)
    early = Counter(
        event["topic"]
        for place, event in enumerate(chats)
        if place < arrived.get(event.get("originalMessageId") or event["messageId"], 0)
    )
    assert early[CHAT_REPLY.name] >= 2
    assert early[CHAT_REACTION.name] >= 2


def test_one_message_is_edited(sample: Events) -> None:
    versions = Counter(event["messageId"] for event in of(sample, CHAT_MESSAGE.name))
    (edited,) = [message for message, count in versions.items() if count > 1]
    first, second = [event for event in of(sample, CHAT_MESSAGE.name) if event["messageId"] == edited]
    assert first["occurredAt"] < second["occurredAt"]
    assert first["content"] != second["content"]


def test_two_agents_are_liked_less_than_the_others(sample: Events) -> None:
    author = {event["messageId"]: event.get("agentId") for event in of(sample, CHAT_MESSAGE.name)}
    liked: dict[str, list[bool]] = {}
    for event in of(sample, CHAT_REACTION.name):
        reward, agent = reward_of(event["emoji"]), author.get(event["messageId"])
        if event.get("action") == "added" and reward is not None and agent is not None:
            liked.setdefault(agent, []).append(reward > 0)
    share = {agent: sum(votes) / len(votes) for agent, votes in liked.items()}
    assert share.pop("home-support") < 0.5
    assert share.pop("shop-helper") < 0.7
    assert min(share.values()) > 0.7


def test_agents_say_how_they_made_their_answers(sample: Events) -> None:
    answers = [event for event in of(sample, CHAT_MESSAGE.name) if event["senderType"] == "agent"]
    for name in ("agentVersion", "model", "intent", "strategy", "validationOutcome", "qualityScore"):
        assert all(name in event for event in answers), name
    assert len({event["agentVersion"] for event in answers if event["agentId"] == "shop-helper"}) == 2


def test_the_answer_that_the_documentation_judges_is_in_it(sample: Events) -> None:
    text = (Path(__file__).parents[3] / "docs" / "tokens.md").read_text(encoding="utf-8")
    [(conversation, turn)] = re.findall(r"demo/support/(\S+)\nTURN=\$TALK/turns/(\S+)", text)
    answers = [event for event in of(sample, CHAT_MESSAGE.name) if event["senderType"] == "agent"]
    assert (conversation, turn) in {(event["conversationId"], event["turnId"]) for event in answers}
