"""Slack's documented events become chat events, and its signature is verified."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid5

import pytest
from hypothesis import given

from chat_bridge.ingest import IngestProject, ValidLine, check_line
from chat_bridge.sources import slack
from chat_bridge.sources.slack import SlackApp, chat_event, plain
from chat_bridge.sources.slack_workspace import SIGNATURE as HOW
from chat_bridge.sources.source import NotUnderstood, SignedRequest
from chat_bridge.sources.webhook_signature import is_signed as is_signed_as
from contracts.chat import DELETED
from contracts.ids import NAMESPACE
from tests.support.damaged import BUDGET, damaged, reached, tried

APP = SlackApp("acme", "slack", {"B0BOT": "helper", "U0BOT": "helper"})
CHANNEL = "slack/T1/C2147483705"

# The example of Slack's page "Verifying requests from Slack".
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
STAMP = "1531420618"
BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar"
    b"&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com"
    b"%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121."
    b"803a0bc887a14d10d2c447fce8b6703c"
)
SIGNATURE = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
NOW = int(STAMP) * 1_000_000


def is_signed(secret: str, stamp: str, signature: str, body: bytes, now: int) -> bool:
    headers = {"x-slack-request-timestamp": stamp, "x-slack-signature": signature}
    return is_signed_as(HOW, secret.encode(), SignedRequest(headers, body, now))


def test_the_documented_request_is_signed() -> None:
    assert is_signed(SECRET, STAMP, SIGNATURE, BODY, NOW)
    assert is_signed(SECRET, STAMP, SIGNATURE, BODY, NOW + 300_000_000)


@pytest.mark.parametrize(
    ("secret", "stamp", "signature", "body", "now"),
    [
        ("another", STAMP, SIGNATURE, BODY, NOW),
        (SECRET, STAMP, SIGNATURE, BODY + b" ", NOW),
        (SECRET, "1531420619", SIGNATURE, BODY, NOW),
        (SECRET, STAMP, SIGNATURE.removeprefix("v0="), BODY, NOW),
        (SECRET, STAMP, "", BODY, NOW),
        (SECRET, STAMP, "v0=ünï", BODY, NOW),
        (SECRET, "", SIGNATURE, BODY, NOW),
        (SECRET, "१५३", SIGNATURE, BODY, NOW),
        (SECRET, "-1531420618", SIGNATURE, BODY, NOW),
        (SECRET, STAMP, SIGNATURE, BODY, NOW + 301_000_000),
        (SECRET, STAMP, SIGNATURE, BODY, NOW - 301_000_000),
    ],
)
def test_what_is_forged_or_old_is_not(secret: str, stamp: str, signature: str, body: bytes, now: int) -> None:
    assert not is_signed(secret, stamp, signature, body, now)


def callback(event: dict[str, Any], event_id: str = "Ev08MFMKH6") -> dict[str, Any]:
    """Return an event in the envelope of the Events API."""
    return {
        "token": "z26uFbvR1xHJEdHE1OQiO6t8",
        "team_id": "T1",
        "api_app_id": "AFFFFFFF",
        "event": event,
        "type": "event_callback",
        "event_id": event_id,
        "event_time": 1355517523,
        "authed_users": ["UXXXXXXX1"],
    }


MESSAGE = {
    "type": "message",
    "channel": "C2147483705",
    "user": "U2147483697",
    "text": "Hello world",
    "ts": "1355517523.000005",
    "event_ts": "1355517523.000005",
    "channel_type": "channel",
}
REACTION = {
    "type": "reaction_added",
    "user": "U123ABC456",
    "reaction": "thumbsup",
    "item_user": "U222222222",
    "item": {"type": "message", "channel": "C2147483705", "ts": "1360782400.498405"},
    "event_ts": "1360782804.083113",
}


def event_of(event: dict[str, Any]) -> dict[str, Any]:
    """Return the chat event, validated like a consumer does."""
    found = chat_event(callback(event), APP)
    assert found is not None
    place = IngestProject("acme", "slack")
    assert isinstance(check_line(json.dumps(found).encode(), place), ValidLine)
    return found


def test_a_message() -> None:
    found = event_of(MESSAGE)
    assert {name: found[name] for name in found if name != "eventId"} == {
        "topic": "chat.message.ingested",
        "occurredAt": "2012-12-14T20:38:43.000005Z",
        "tenant": "acme",
        "project": "slack",
        "conversationId": CHANNEL,
        "messageId": "1355517523.000005",
        "senderId": "U2147483697",
        "senderType": "human",
        "content": "Hello world",
    }
    assert chat_event(callback(MESSAGE), APP) == found  # a repetition is the same event
    assert chat_event(callback(MESSAGE, "EvOther"), APP) != found


def test_an_event_sent_again_after_an_upgrade_has_the_id_of_the_first_time() -> None:
    assert event_of(MESSAGE)["eventId"] == str(uuid5(NAMESPACE, '["slack","Ev08MFMKH6"]'))


def test_a_text_without_end_is_cut() -> None:
    assert event_of(MESSAGE | {"text": "x" * 200_001})["content"] == "x" * 200_000


@pytest.mark.parametrize(
    "who", [{"user": "U0BOT"}, {"bot_id": "B0BOT", "user": "U0OTHER"}, {"bot_id": "B0BOT", "subtype": "bot_message"}]
)
def test_a_named_bot_is_an_agent(who: dict[str, str]) -> None:
    found = event_of({name: value for name, value in MESSAGE.items() if name != "user"} | who)
    assert (found["senderType"], found["senderId"], found["agentId"]) == ("agent", "helper", "helper")


def test_a_reply_in_a_thread() -> None:
    found = event_of(MESSAGE | {"thread_ts": "1355517500.000001"})
    assert (found["topic"], found["originalMessageId"]) == ("chat.message.reply.ingested", "1355517500.000001")
    assert found["threadId"] == "1355517500.000001"
    first = event_of(MESSAGE | {"thread_ts": MESSAGE["ts"]})
    assert (first["topic"], "threadId" in first) == ("chat.message.ingested", False)
    agents = event_of(MESSAGE | {"user": "U0BOT", "thread_ts": "1355517500.000001"})
    assert (agents["topic"], agents["replyToMessageId"]) == ("chat.message.ingested", "1355517500.000001")
    assert agents["threadId"] == "1355517500.000001"


def test_reactions_come_and_go() -> None:
    found = event_of(REACTION)
    assert {name: found[name] for name in found if name not in ("eventId", "tenant", "project")} == {
        "topic": "chat.message.reaction.ingested",
        "occurredAt": "2013-02-13T19:13:24.083113Z",
        "conversationId": CHANNEL,
        "messageId": "1360782400.498405",
        "userId": "U123ABC456",
        "userType": "human",
        "emoji": ":thumbsup:",
        "action": "added",
    }
    assert event_of(REACTION | {"type": "reaction_removed"})["action"] == "removed"
    assert event_of(REACTION | {"user": "U0BOT"})["userType"] == "agent"
    assert chat_event(callback(REACTION | {"item": {"type": "file", "file": "F1"}}), APP) is None


CHANGED: dict[str, Any] = {
    "type": "message",
    "subtype": "message_changed",
    "hidden": True,
    "channel": "C2147483705",
    "ts": "1358878755.000001",
    "message": {
        "type": "message",
        "user": "U2147483697",
        "text": "Hello, world!",
        "ts": "1355517523.000005",
        "edited": {"user": "U2147483697", "ts": "1358878755.000001"},
    },
    "previous_message": {"text": "Hello world"},
}


def test_an_edit_is_the_same_message_later() -> None:
    found = event_of(CHANGED)
    assert (found["messageId"], found["content"]) == ("1355517523.000005", "Hello, world!")
    assert found["occurredAt"] == "2013-01-22T18:19:15.000001Z"
    unfurled = CHANGED | {"previous_message": {"text": "Hello, world!"}}
    assert chat_event(callback(unfurled), APP) is None


PICTURE = {"id": "F1", "mimetype": "image/png", "permalink": "https://acme.slack.com/files/U1/F1/a.png"}
SHOWN = [{"type": "image/png", "url": "https://acme.slack.com/files/U1/F1/a.png"}]
GONE = {"id": "F1", "mode": "tombstone"}


def test_a_file_without_words_is_a_message_of_its_attachments() -> None:
    upload = MESSAGE | {"subtype": "file_share", "text": "", "files": [PICTURE]}
    found = event_of(upload)
    assert (found["content"], found["attachments"]) == ("", SHOWN)
    reply = event_of(upload | {"thread_ts": "1355517500.000001"})
    assert (reply["topic"], reply["content"], reply["attachments"]) == ("chat.message.reply.ingested", "", SHOWN)
    assert event_of(upload | {"text": "Look"})["attachments"] == SHOWN
    assert "attachments" not in event_of(MESSAGE)
    for files in ([GONE], [], None, "F1", ["F1"]):
        assert chat_event(callback(upload | {"files": files}), APP) is None


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ({}, {"type": "file"}),
        ({"mimetype": "a\nb", "permalink": "https://x/\n"}, {"type": "file"}),
        ({"mimetype": "", "permalink": 7}, {"type": "file"}),
        ({"mimetype": "x" * 129, "permalink": "x" * 2_049}, {"type": "file"}),
        ({"mimetype": ["image/png"]}, {"type": "file"}),
    ],
)
def test_what_a_file_says_wrongly_is_left_out(file: dict[str, Any], shown: dict[str, str]) -> None:
    assert event_of(MESSAGE | {"text": "", "files": [file]})["attachments"] == [shown]


def test_files_without_end_are_cut() -> None:
    assert len(event_of(MESSAGE | {"text": "", "files": [PICTURE] * 60})["attachments"]) == 50


def test_an_edit_may_take_the_words_or_the_file_away() -> None:
    both = CHANGED["message"] | {"text": "Look", "files": [PICTURE]}
    wordless = both | {"text": ""}
    left = event_of(CHANGED | {"message": wordless, "previous_message": both})
    assert (left["content"], left["attachments"]) == ("", SHOWN)
    gone = event_of(CHANGED | {"message": wordless | {"files": [GONE]}, "previous_message": wordless})
    assert (gone["content"], "attachments" in gone) == (DELETED, False)
    deletion = CHANGED | {"subtype": "message_deleted", "deleted_ts": MESSAGE["ts"], "previous_message": both}
    deleted = event_of({name: value for name, value in deletion.items() if name != "message"})
    assert (deleted["content"], "attachments" in deleted) == (DELETED, False)


def test_an_edit_that_takes_all_words_away_leaves_none() -> None:
    assert event_of(CHANGED | {"message": CHANGED["message"] | {"text": ""}})["content"] == DELETED


def test_an_edited_reply_is_a_reply() -> None:
    found = event_of(CHANGED | {"message": CHANGED["message"] | {"thread_ts": "1355517500.000001"}})
    assert (found["topic"], found["originalMessageId"]) == ("chat.message.reply.ingested", "1355517500.000001")


def test_a_deleted_message_whose_thread_goes_on_leaves_no_words() -> None:
    stone = {"type": "message", "subtype": "tombstone", "user": "USLACKBOT", "text": "This message was deleted."}
    found = event_of(CHANGED | {"message": stone | {"ts": MESSAGE["ts"]}, "previous_message": MESSAGE})
    assert (found["messageId"], found["senderId"], found["content"]) == (MESSAGE["ts"], MESSAGE["user"], DELETED)
    assert found["occurredAt"] == "2013-01-22T18:19:15.000001Z"


def test_a_deletion_leaves_no_words() -> None:
    gone = {
        "type": "message",
        "subtype": "message_deleted",
        "hidden": True,
        "channel": "C2147483705",
        "ts": "1358878755.000001",
        "deleted_ts": "1355517523.000005",
        "previous_message": MESSAGE,
    }
    found = event_of(gone)
    assert (found["messageId"], found["content"]) == ("1355517523.000005", DELETED)
    assert found["occurredAt"] == "2013-01-22T18:19:15.000001Z"


@pytest.mark.parametrize(
    "event",
    [
        MESSAGE | {"bot_id": "B0OTHER"},
        {name: value for name, value in MESSAGE.items() if name != "user"},
        MESSAGE | {"user": None},
        MESSAGE | {"user": ""},
        CHANGED | {"message": MESSAGE | {"user": None, "text": "Hello, world!"}},
        MESSAGE | {"subtype": "channel_join"},
        MESSAGE | {"text": "  "},
        MESSAGE | {"text": None},
        {"type": "app_mention", "user": "U1", "text": "hi", "ts": "1.000000", "channel": "C1"},
        {"type": "emoji_changed"},
        MESSAGE | {"subtype": {}},
        CHANGED | {"message": MESSAGE | {"subtype": []}},
    ],
)
def test_what_is_not_ours_is_ignored(event: dict[str, Any]) -> None:
    assert chat_event(callback(event), APP) is None


@pytest.mark.parametrize(
    "event",
    [
        MESSAGE | {"ts": "now"},
        MESSAGE | {"ts": None},
        MESSAGE | {"channel": 7},
        REACTION | {"item": None},
        REACTION | {"reaction": ""},
        CHANGED | {"message": "x"},
    ],
)
def test_what_does_not_read_as_documented_is_refused(event: dict[str, Any]) -> None:
    with pytest.raises(NotUnderstood):
        chat_event(callback(event), APP)


def test_markup_becomes_words() -> None:
    assert plain("<@U123|ann> see <https://x.example/a?b|the page> &lt;now&gt; in <#C1|general>, <!here>") == (
        "@ann see the page <now> in #general, @here"
    )
    assert plain("<https://x.example> <@U123> a < b") == "https://x.example @U123 a < b"


GONE_MESSAGE = CHANGED | {"subtype": "message_deleted", "deleted_ts": MESSAGE["ts"], "previous_message": MESSAGE}
HOSTILE = damaged([callback(event) for event in (MESSAGE, REACTION, CHANGED, GONE_MESSAGE)])


def outcome(payload: Any) -> str:
    """Return the topic of the event that a callback becomes, or the reason why there is none."""
    try:
        found = chat_event(payload, APP)
    except NotUnderstood:
        return "refused"
    if found is None:
        return "ignored"
    check_line(json.dumps(found).encode(), IngestProject("acme", "slack"))
    return "deletion" if found.get("content") == DELETED else str(found["topic"])


@given(HOSTILE)
@BUDGET
def test_nothing_else_is_ever_raised(payload: Any) -> None:
    outcome(payload)


@pytest.mark.parametrize(
    "met", ["chat.message.ingested", "chat.message.reaction.ingested", "deletion", "ignored", "refused"]
)
def test_the_damaged_callbacks_reach_every_outcome(met: str) -> None:
    reached(HOSTILE, lambda payload: outcome(payload) == met)


@pytest.mark.parametrize("guard", ["_text", "_part"])
def test_a_missing_guard_is_found_within_the_budget(guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slack, guard, lambda value, name: value.get(name))
    with pytest.raises((TypeError, AttributeError)):
        tried(outcome, HOSTILE)
