"""The maps in examples/webhooks convert the platforms' documented payloads to chat events."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from chat_bridge.ingest import IngestProject, ValidLine, check_line
from chat_bridge.sources.source import Dropped, NotUnderstood, SignedRequest, SourceAnswer
from chat_bridge.sources.webhook import answer_to, chat_events, plain
from chat_bridge.sources.webhook_files import read_maps
from chat_bridge.sources.webhook_map import MappedWebhook, Signature, WebhookMap
from chat_bridge.sources.webhook_signature import is_signed as is_signed_as
from chat_bridge.sources.webhook_time import moment_of
from contracts.chat import DELETED
from contracts.instants import SECOND, parse_instant
from servicekit.errors import StartError
from tests.support.damaged import BUDGET, damaged
from tests.support.linear import doubles
from tests.support.platforms import DISCORD_KEY, MAPS
from tests.support.platforms import SECRETS as PLATFORM_SECRETS
from tests.support.platforms import TEAMS_KEY as KEY

SECRETS = PLATFORM_SECRETS | {"ZENDESK_SIGNING_SECRET": "zen", "INTERCOM_CLIENT_SECRET": "inter"}
NOW = parse_instant("2030-01-01T00:00:00Z")


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> dict[str, MappedWebhook]:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    return dict(read_maps(MAPS))


def sound(payload: dict[str, Any], source: MappedWebhook) -> list[dict[str, Any]]:
    """Return the chat events, validated like a consumer does, without the fields that all of them share."""
    converted = chat_events(payload, source)
    found = [event for event in converted if not isinstance(event, Dropped)]
    for event in found:
        line = json.dumps(event).encode()
        assert isinstance(check_line(line, IngestProject("acme", "support")), ValidLine)
    assert chat_events(payload, source) == converted  # sent again it is the same event
    return [{name: one[name] for name in one if name != "eventId"} for one in found]


def reasons(payload: dict[str, Any], source: MappedWebhook) -> list[str]:
    """Return the reasons for which events of a payload are dropped."""
    return [item.reason for item in chat_events(payload, source) if isinstance(item, Dropped)]


ZENDESK: dict[str, Any] = {
    "account_id": 22129848,
    "detail": {
        "actor_id": "8447388090494",
        "assignee_id": "8447388090494",
        "created_at": "2025-01-08T10:12:07Z",
        "custom_status": "8447320465790",
        "description": "ticket_desc_vjpaz",
        "external_id": None,
        "form_id": "8646151517822",
        "group_id": "8447320466430",
        "id": "5158",
        "is_public": True,
        "organization_id": "8447346622462",
        "priority": "LOW",
        "requester_id": "8447388090494",
        "status": "OPEN",
        "subject": "ticket_sub_ugmgh",
        "submitter_id": "8447388090494",
        "tags": ["ticket_tag_zrdkd"],
        "type": "TASK",
        "updated_at": "2025-01-08T10:12:07Z",
        "via": {"channel": "web_service"},
    },
    "event": {
        "comment": {
            "author": {"id": "4961", "is_staff": False, "name": "Ann"},
            "body": "That is not what I asked.",
            "id": "8447455",
            "is_public": True,
        }
    },
    "id": "cbe4028c-7239-495d-b020-f22348516046",
    "subject": "zen:ticket:5158",
    "time": "2025-01-08T10:12:07.672717030Z",
    "type": "zen:event-type:ticket.comment_added",
    "zendesk_event_version": "2022-11-06",
}


def zendesk(**comment: Any) -> dict[str, Any]:
    return {**ZENDESK, "event": {"comment": ZENDESK["event"]["comment"] | comment}}


def test_a_ticket_comment_of_zendesk(sources: dict[str, MappedWebhook]) -> None:
    assert sound(ZENDESK, sources["zendesk"]) == [
        {
            "topic": "chat.message.ingested",
            "occurredAt": "2025-01-08T10:12:07.672717Z",
            "conversationId": "zendesk/5158",
            "messageId": "8447455",
            "senderId": "4961",
            "senderType": "human",
            "content": "That is not what I asked.",
        }
    ]
    [agents] = sound(zendesk(author={"id": "8447388090494", "is_staff": True, "name": "Bot"}), sources["zendesk"])
    assert (agents["senderType"], agents["agentId"]) == ("agent", "support-agent")


PICTURE = {"type": "image/png", "url": "https://files.example.com/1.png"}


def test_a_reply_of_teams_may_be_a_picture(sources: dict[str, MappedWebhook]) -> None:
    file = {"contentType": PICTURE["type"], "contentUrl": PICTURE["url"], "name": "1.png"}
    said = TEAMS | {"type": "message", "id": "2", "replyToId": "1", "attachments": [file]}
    for empty in (said, said | {"text": ""}, said | {"text": None}):
        [found] = sound(empty, sources["teams"])
        assert (found["topic"], found["originalMessageId"]) == ("chat.message.reply.ingested", "1")
        assert (found["content"], found["attachments"]) == ("", [PICTURE])
    assert sound(said | {"attachments": []}, sources["teams"]) == []
    [gone] = sound(said | {"type": "messageDelete"}, sources["teams"])
    assert "attachments" not in gone


ZENDESK_FILE = ZENDESK | {
    "event": {
        "comment": {"id": "8447455", "attachment": {"id": "7", "filename": "1.png", "is_public": True} | PICTURE}
    },
    "type": "zen:event-type:ticket.attachment_linked_to_comment",
}


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (ZENDESK_FILE, "no_rule"),
        (zendesk(is_public=False), "ignored_by_a_rule"),
        (zendesk(author={"id": "77", "is_staff": True, "name": "Bob"}), "not_an_agent"),
        (zendesk(body=" "), "no_content"),
        (zendesk(body=None), "no_content"),
        (ZENDESK | {"type": "zen:event-type:ticket.created"}, "no_rule"),
        ({}, "no_rule"),
    ],
)
def test_what_is_not_said_to_or_by_an_agent_is_dropped_with_its_reason(
    sources: dict[str, MappedWebhook], payload: dict[str, Any], reason: str
) -> None:
    assert sound(payload, sources["zendesk"]) == []
    assert reasons(payload, sources["zendesk"]) == [reason]


def intercom(topic: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "notification_event",
        "app_id": "a86dr8yl",
        "data": {
            "type": "notification_event_data",
            "item": {
                "type": "conversation",
                "id": "147",
                "created_at": 1400850973,
                "updated_at": 1400857494,
                "source": {
                    "type": "conversation",
                    "id": "403918330",
                    "delivered_as": "customer_initiated",
                    "subject": "",
                    "body": "<p>When do you open?</p>",
                    "author": {
                        "type": "user",
                        "id": "5310d8e7598c9a0b24000002",
                        "name": "Ann",
                        "email": "a@example.com",
                    },
                },
                "conversation_parts": {
                    "type": "conversation_part.list",
                    "conversation_parts": list(parts),
                    "total_count": len(parts),
                },
            },
        },
        "links": {},
        "id": "notif_ccd8a4d0-f965-11e3-a367-c779cae3e1b3",
        "topic": topic,
        "delivery_status": "pending",
        "delivery_attempts": 1,
        "delivered_at": 0,
        "first_sent_at": 1392731331,
        "created_at": 1392731392,
        "self": None,
    }


def part(number: int, kind: str, author: dict[str, str], body: str | None, of: str = "comment") -> dict[str, Any]:
    return {
        "type": "conversation_part",
        "id": str(number),
        "part_type": of,
        "body": body,
        "created_at": 1400857494 + number,
        "updated_at": 1400857494 + number,
        "author": {"type": kind, **author},
        "attachments": [],
        "redacted": False,
    }


def test_a_conversation_of_intercom(sources: dict[str, MappedWebhook]) -> None:
    [first] = sound(intercom("conversation.user.created"), sources["intercom"])
    assert first == {
        "topic": "chat.message.ingested",
        "occurredAt": "2014-05-23T13:16:13.000000Z",
        "conversationId": "intercom/147",
        "messageId": "403918330",
        "senderId": "5310d8e7598c9a0b24000002",
        "senderType": "human",
        "content": "When do you open?",
    }
    answered = intercom(
        "conversation.admin.replied",
        part(1, "bot", {"id": "814860"}, "<p>At <b>nine</b>.</p><p>See &lt;there&gt;</p>"),
        part(2, "admin", {"id": "1"}, "<p>Bob here</p>"),
    )
    [answer] = sound(answered, sources["intercom"])
    assert (answer["agentId"], answer["content"]) == ("support-agent", "At nine.\nSee <there>")
    replied = intercom(
        "conversation.user.replied",
        part(3, "user", {"id": "u1"}, "<p>No, that's wrong.</p>"),
        part(4, "user", {"id": "u1"}, "<p>private</p>", "note"),
        part(5, "user", {"id": "u1"}, None, "open"),
    )
    assert [one["messageId"] for one in sound(replied, sources["intercom"])] == ["3"]
    assert sound(intercom("conversation.admin.closed"), sources["intercom"]) == []


TEAMS: dict[str, Any] = {
    "type": "messageReaction",
    "timestamp": "2017-10-16T18:45:41.943Z",
    "id": "f:9f78d1f3",
    "channelId": "msteams",
    "serviceUrl": "https://smba.trafficmanager.net/amer-client-ss.msg/",
    "from": {"id": "29:1I9Is_Sx0O", "aadObjectId": "c33aafc4-646d-4543-9d4c-abd28e4d2110"},
    "conversation": {"isGroup": True, "conversationType": "channel", "id": "19:3629@thread.skype;messageid=1"},
    "recipient": {"id": "28:f5d48856-5b42-41a0-8c3a-c5f944b679b0", "name": "SongsuggesterLocal"},
    "replyToId": "1575667808184",
}


def test_reactions_of_teams_come_and_go(sources: dict[str, MappedWebhook]) -> None:
    changed = TEAMS | {"reactionsAdded": [{"type": "like"}], "reactionsRemoved": [{"type": "heart"}, {"type": "fish"}]}
    found = sound(changed, sources["teams"])
    assert [(one["emoji"], one["action"]) for one in found] == [
        ("like", "added"),
        ("heart", "removed"),
        ("fish", "removed"),
    ]
    assert {name: found[0][name] for name in found[0] if name not in ("emoji", "action")} == {
        "topic": "chat.message.reaction.ingested",
        "occurredAt": "2017-10-16T18:45:41.943000Z",
        "conversationId": "teams/19:3629@thread.skype;messageid=1",
        "messageId": "1575667808184",
        "userId": "29:1I9Is_Sx0O",
        "userType": "human",
    }


@pytest.mark.parametrize(
    ("reaction", "feedback", "judgement", "text"),
    [
        ("dislike", '{"feedbackText": "Closed on Sunday."}', "not_ok", "Closed on Sunday."),
        ("like", '{"feedbackText": ""}', "ok", None),
        ("like", {"feedbackText": "Thanks"}, "ok", "Thanks"),
        ("dislike", "{}", "not_ok", None),
        ("dislike", "no JSON", "not_ok", None),
        ("dislike", None, "not_ok", None),
    ],
)
def test_the_thumbs_of_teams_are_judgements_with_their_reasons(
    sources: dict[str, MappedWebhook], reaction: str, feedback: Any, judgement: str, text: str | None
) -> None:
    value = {"actionName": "feedback", "actionValue": {"reaction": reaction, "feedback": feedback}}
    invoke = TEAMS | {"type": "invoke", "name": "message/submitAction", "value": value}
    [found] = sound(invoke, sources["teams"])
    assert (found["judgement"], found.get("text"), "emoji" in found) == (judgement, text, False)
    assert (found["messageId"], found["userId"], found["action"]) == ("1575667808184", "29:1I9Is_Sx0O", "added")
    unknown = value | {"actionValue": {"reaction": "of next year", "feedback": feedback}}
    assert reasons(invoke | {"value": unknown}, sources["teams"]) == ["unmapped_judgement"]


def test_ratings_of_intercom_are_judgements_of_the_teammate(sources: dict[str, MappedWebhook]) -> None:
    rating = {"rating": 1, "remark": "It was closed.", "created_at": 1_700_000_000, "updated_at": 1_700_000_009}
    who = {"contact": {"id": "u1"}, "teammate": {"id": "814860", "type": "admin"}}
    item = {"id": "147", "conversation_rating": rating | who}
    rated = {"topic": "conversation.rating.added", "created_at": 1_700_000_010, "data": {"item": item}}
    [found] = sound(rated, sources["intercom"])
    assert (found["judgement"], found["text"], found["agentId"], found["userId"]) == (
        "not_ok",
        "It was closed.",
        "support-agent",
        "u1",
    )
    assert (found["occurredAt"], found["sequence"]) == ("2023-11-14T22:13:20.000000Z", 1_700_000_010)
    assert "messageId" not in found
    meanings = [(number, "not_ok" if number < 3 else "neutral" if number == 3 else "ok") for number in range(1, 6)]
    for number, judgement in meanings:
        item["conversation_rating"] = rating | who | {"rating": number}
        assert sound(rated, sources["intercom"])[0]["judgement"] == judgement
    item["conversation_rating"] = rating | who | {"teammate": {"id": "77"}}
    assert reasons(rated, sources["intercom"]) == ["not_an_agent"]


def test_ratings_of_zendesk_are_judgements_of_the_assignee(sources: dict[str, MappedWebhook]) -> None:
    rated = {"type": "satisfaction", "rating": "bad", "ticket": "5158", "requester": "4961", "comment": ""}
    rated |= {"assignee": "8447388090494", "time": "1736331127"}
    [found] = sound(rated, sources["zendesk"])
    assert (found["judgement"], found["conversationId"], found["agentId"]) == (
        "not_ok",
        "zendesk/5158",
        "support-agent",
    )
    assert (found["occurredAt"], "text" in found) == ("2025-01-08T10:12:07.000000Z", False)


def whatsapp(*messages: dict[str, Any]) -> dict[str, Any]:
    """Return a payload with each message in an entry of its own."""
    common = {"from": "46701", "timestamp": "1700000000", "id": "wamid.r"}
    changes = [{"field": "messages", "value": {"messages": [common | message]}} for message in messages]
    return {"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [change]} for change in changes]}


@pytest.mark.parametrize("absent", [{}, {"emoji": ""}, {"emoji": None}])
def test_a_reaction_of_whatsapp_is_replaced_or_taken_back_without_its_name(
    sources: dict[str, MappedWebhook], absent: dict[str, Any]
) -> None:
    def reaction(**emoji: Any) -> dict[str, Any]:
        return {"type": "reaction", "reaction": {"message_id": "wamid.a"} | emoji}

    added, removed = sound(whatsapp(reaction(emoji="👍"), reaction(**absent)), sources["whatsapp"])
    assert (added["emoji"], added["action"], added["replaces"]) == ("👍", "added", True)
    assert ("emoji" in removed, removed["action"], removed["replaces"]) == (False, "removed", True)
    assert added["messageId"] == removed["messageId"] == "wamid.a"


def test_messages_of_whatsapp_are_in_every_entry(sources: dict[str, MappedWebhook]) -> None:
    quoted = {
        "type": "image",
        "image": {"mime_type": "image/png", "caption": "This one?"},
        "context": {"id": "wamid.a"},
    }
    payload = whatsapp({"type": "text", "text": {"body": "When?"}}, quoted, {"type": "unsupported"})
    first, second = sound(payload, sources["whatsapp"])
    assert (first["topic"], first["content"], first["conversationId"]) == (
        "chat.message.ingested",
        "When?",
        "whatsapp/46701",
    )
    assert (second["topic"], second["originalMessageId"]) == ("chat.message.reply.ingested", "wamid.a")
    assert (second["content"], second["attachments"]) == ("This one?", [{"type": "image/png"}])


def test_a_person_of_whatsapp_may_hide_the_number(sources: dict[str, MappedWebhook]) -> None:
    hidden = {"from": None, "from_user_id": "US.1349", "type": "text", "text": {"body": "No."}}
    [said] = sound(whatsapp(hidden), sources["whatsapp"])
    assert (said["conversationId"], said["senderId"]) == ("whatsapp/US.1349", "US.1349")
    [shown] = sound(whatsapp(hidden | {"from": "46701"}), sources["whatsapp"])
    assert (shown["conversationId"], shown["senderId"]) == ("whatsapp/46701", "46701")


def test_an_item_that_is_not_understood_leaves_the_others(sources: dict[str, MappedWebhook]) -> None:
    said = {"type": "text", "text": {"body": "No."}}
    payload = whatsapp(said, said | {"from": None}, said | {"id": "wamid.s"})
    assert [event["messageId"] for event in sound(payload, sources["whatsapp"])] == ["wamid.r", "wamid.s"]
    assert reasons(payload, sources["whatsapp"]) == ["author is missing"]


def test_a_changed_number_is_a_line_of_whatsapp(sources: dict[str, MappedWebhook]) -> None:
    changed = {"body": "Kim changed from 46701 to 46702", "wa_id": "46702", "type": "user_changed_number"}
    [event] = sound(whatsapp({"type": "system", "system": changed}), sources["whatsapp"])
    assert (event["senderType"], event["senderId"], event["content"]) == ("system", "46701", changed["body"])


def telegram(**more: Any) -> dict[str, Any]:
    said = {"message_id": 9, "date": 1_700_000_000, "from": {"id": 5}, "chat": {"id": -9}}
    return {"update_id": 1, "message": said | more}


TOPIC = {"message_thread_id": 163, "is_topic_message": True}
OPENED = {"message_id": 163, "from": {"id": 7000000001}, "date": 1, "forum_topic_created": {"name": "Hours"}}


def test_a_topic_of_telegram_is_a_thread_and_its_opening_is_not_replied_to(sources: dict[str, MappedWebhook]) -> None:
    answer = {"message_id": 8, "date": 1_699_999_990, "edit_date": 1_699_999_995, "from": {"id": 7000000001}}
    [typed] = sound(telegram(text="When?", reply_to_message=OPENED, **TOPIC), sources["telegram"])
    assert (typed["topic"], typed["threadId"]) == ("chat.message.ingested", "163")
    told, reply = sound(telegram(text="No.", reply_to_message=answer | {"text": "At nine."} | TOPIC, **TOPIC),
                        sources["telegram"])  # fmt: skip
    assert (told["content"], told["threadId"], told["occurredAt"]) == ("At nine.", "163", "2023-11-14T22:13:15.000000Z")
    assert (reply["topic"], reply["originalMessageId"], reply["threadId"]) == (
        "chat.message.reply.ingested",
        "8",
        "163",
    )
    [aside] = sound(telegram(text="When?", message_thread_id=7), sources["telegram"])
    assert "threadId" not in aside
    post = {"message_id": 3, "from": {"id": 777000}, "date": 1, "is_automatic_forward": True, "text": "Open day"}
    [comment] = sound(telegram(text="No.", reply_to_message=post), sources["telegram"])
    assert comment["topic"] == "chat.message.ingested", "a comment under a channel's post is no reply"


def test_what_the_bot_passed_on_stays_after_a_copy_of_telegram(sources: dict[str, MappedWebhook]) -> None:
    answer = {"message_id": 8, "date": 1_700_000_000, "from": {"id": 7000000001}, "text": "At nine."}
    result = answer | {"chat": {"id": -9}, "reply_to_message": {"message_id": 1}}
    [told] = sound({"ok": True, "result": result}, sources["telegram"])
    copy, _ = sound(telegram(text="No.", reply_to_message=answer), sources["telegram"])
    assert (told["messageId"], told["occurredAt"]) == (copy["messageId"], copy["occurredAt"])
    assert told["sequence"] > copy.get("sequence", 0)
    assert told["replyToMessageId"] == "1"


def test_a_version_of_telegram_has_the_time_of_its_edit(sources: dict[str, MappedWebhook]) -> None:
    sent = {"message_id": 2, "date": 1_700_000_000, "from": {"id": 7000000001}, "chat": {"id": -9}, "text": "…"}
    edit = sent | {"edit_date": 1_700_000_003, "text": "At nine."}
    times = [sound({"ok": True, "result": result}, sources["telegram"])[0]["occurredAt"] for result in (sent, edit)]
    assert times == ["2023-11-14T22:13:20.000000Z", "2023-11-14T22:13:23.000000Z"]


def test_the_answer_under_a_button_of_discord_may_be_an_embed(sources: dict[str, MappedWebhook]) -> None:
    message: dict[str, Any] = {"id": "1405614357781545021", "author": {"id": "1234567765431056709"}, "content": ""}
    message |= {"timestamp": "2025-08-14T18:11:37.947000+00:00", "embeds": [{"description": "At nine."}]}
    click = {"id": "1405614366371479613", "channel_id": "7", "message": message, "user": {"id": "5"}, "type": 3}
    told, _ = sound(click | {"data": {"custom_id": "feedback-up"}}, sources["discord"])
    assert told["content"] == "At nine."


@pytest.mark.parametrize(
    ("custom_id", "sent", "judgement", "text"),
    [
        ("feedback-up", {"type": 3}, "ok", None),
        ("feedback-down", {"type": 3}, "not_ok", None),
        ("feedback-down", {"type": 5, "components": [{"component": {"value": "Closed."}}]}, "not_ok", "Closed."),
        ("feedback-up", {"type": 5, "components": [{"components": [{"value": "Right."}]}]}, "ok", "Right."),
    ],
)
@pytest.mark.parametrize("who", [{"user": {"id": "5"}}, {"member": {"user": {"id": "5"}, "roles": []}}])
def test_buttons_and_modals_of_discord_are_judgements(
    sources: dict[str, MappedWebhook],
    who: dict[str, Any],
    custom_id: str,
    sent: dict[str, Any],
    judgement: str,
    text: str | None,
) -> None:
    times = {"timestamp": "2025-08-14T18:11:37.947000+00:00", "edited_timestamp": "2025-08-14T18:11:39.1+00:00"}
    message = {"id": "1405614357781545021", "author": {"id": "1234567765431056709"}, "content": "At nine."} | times
    click = {"id": "1405614366371479613", "channel_id": "7", "message": message, **who, "type": sent["type"]}
    click["data"] = {"custom_id": custom_id} | {name: value for name, value in sent.items() if name != "type"}
    told, found = sound(click, sources["discord"])
    assert (told["content"], told["occurredAt"]) == ("At nine.", "2025-08-14T18:11:39.100000Z")
    assert (found["userId"], found["judgement"], found.get("text")) == ("5", judgement, text)
    assert found["messageId"] == told["messageId"]


def test_messages_of_teams_are_replies_edits_and_deletions(sources: dict[str, MappedWebhook]) -> None:
    said = TEAMS | {"type": "message", "id": "1", "text": "<at>Bot</at> and <b>when</b>?"}
    [reply] = sound(said, sources["teams"])
    assert (reply["topic"], reply["originalMessageId"]) == ("chat.message.reply.ingested", "1575667808184")
    assert reply["content"] == "Bot and when?"
    [first] = sound({name: said[name] for name in said if name != "replyToId"}, sources["teams"])
    assert first["topic"] == "chat.message.ingested"
    [agents] = sound(said | {"from": {"id": "28:f5d48856-5b42-41a0-8c3a-c5f944b679b0"}}, sources["teams"])
    assert (agents["topic"], agents["replyToMessageId"]) == ("chat.message.ingested", "1575667808184")
    [gone] = sound(said | {"type": "messageDelete", "text": None}, sources["teams"])
    assert (gone["topic"], gone["messageId"], gone["content"]) == ("chat.message.reply.ingested", "1", DELETED)
    [gone] = sound(TEAMS | {"type": "messageDelete", "id": "1", "replyToId": None}, sources["teams"])
    assert (gone["topic"], gone["messageId"], gone["content"]) == ("chat.message.ingested", "1", DELETED)


def test_ids_of_two_places_never_meet(sources: dict[str, MappedWebhook]) -> None:
    two = sources["zendesk"].map.model_dump()
    two["rule"] = [
        {"kind": "message", "conversation": ["a", "b"], "message": "m", "author": "m", "at": "t", "text": "m"}
    ]
    source = MappedWebhook(name="z", map=WebhookMap.model_validate(two), secret=b"s")
    time = {"m": "1", "t": "2025-01-08T10:12:07Z"}
    places = [("x/y", "z"), ("x", "y/z"), ("x%2Fy", "z")]
    ids = [sound({"a": a, "b": b} | time, source)[0]["conversationId"] for a, b in places]
    assert ids == ["z/x%2Fy/z", "z/x/y%2Fz", "z/x%252Fy/z"]


BODY = b'{"type": "message"}'


def is_signed(how: Signature, secret: bytes, headers: dict[str, str], body: bytes, now: int) -> bool:
    return is_signed_as(how, secret, SignedRequest(headers, body, now))


def zendesk_headers(secret: bytes, body: bytes, stamp: str) -> dict[str, str]:
    digest = hmac.new(secret, stamp.encode() + body, hashlib.sha256).digest()
    return {
        "x-zendesk-webhook-signature": base64.b64encode(digest).decode(),
        "x-zendesk-webhook-signature-timestamp": stamp,
    }


STAMP = "2029-12-31T23:59:00Z"


@pytest.mark.parametrize(
    ("change", "sent"),
    [
        (lambda headers: headers, True),
        (lambda headers: {**headers, "x-zendesk-webhook-signature": "=="}, False),
        (lambda headers: {**headers, "x-zendesk-webhook-signature-timestamp": "2029-12-31T23:59:01Z"}, False),
        (lambda headers: {"x-zendesk-webhook-signature": headers["x-zendesk-webhook-signature"]}, False),
        (lambda _: zendesk_headers(b"guessed", BODY, STAMP), False),
        (lambda _: zendesk_headers(b"zen", BODY, "2029-12-31T23:54:59Z"), False),
        (lambda _: zendesk_headers(b"zen", BODY, "2030-01-01T00:05:01Z"), False),
        (lambda _: zendesk_headers(b"zen", BODY, str(NOW // SECOND)), True),
        (lambda _: zendesk_headers(b"zen", BODY, "000" + str(NOW // SECOND)), False),
        (lambda _: zendesk_headers(b"zen", BODY, "2029-12-31T23:55:00Z"), True),
        (lambda _: zendesk_headers(b"zen", BODY, "2030-01-01T00:05:00Z"), True),
    ],
)
def test_a_signature_covers_time_and_body(
    sources: dict[str, MappedWebhook], change: Callable[[dict[str, str]], dict[str, str]], sent: bool
) -> None:
    zen = sources["zendesk"]
    headers = change(zendesk_headers(b"zen", BODY, STAMP))
    assert is_signed(zen.map.signature, zen.secret, headers, BODY, NOW) is sent


def test_signatures_of_other_kinds(sources: dict[str, MappedWebhook]) -> None:
    inter = sources["intercom"]
    digest = hmac.new(b"inter", BODY, hashlib.sha1).hexdigest()
    assert is_signed(inter.map.signature, inter.secret, {"x-hub-signature": f"sha1={digest}"}, BODY, NOW)
    assert not is_signed(inter.map.signature, inter.secret, {"x-hub-signature": digest}, BODY, NOW)
    assert not is_signed(inter.map.signature, inter.secret, {"x-hub-signature": f"sha1={digest}"}, BODY + b" ", NOW)
    teams, stamp = sources["teams"], str(NOW // SECOND)
    signed = hmac.new(base64.b64decode(KEY), f"msg_1.{stamp}.".encode() + BODY, hashlib.sha256).digest()
    headers = {"webhook-id": "msg_1", "webhook-timestamp": stamp}
    headers["webhook-signature"] = f"v1,{base64.b64encode(signed).decode()}"
    assert is_signed(teams.map.signature, teams.secret, headers, BODY, NOW)
    assert not is_signed(teams.map.signature, teams.secret, headers | {"webhook-id": "msg_2"}, BODY, NOW)
    token = Signature(kind="token", secret="A_TOKEN", header="X-Api-Key")
    assert is_signed(token, b"abc", {"x-api-key": "abc"}, BODY, NOW)
    assert not is_signed(token, b"abc", {}, BODY, NOW)


@pytest.mark.parametrize("held", ["abc", "Bearer abc", "Bearer abd", "Bearer ", ""])
def test_a_token_has_its_prefix(held: str) -> None:
    token = Signature(kind="token", secret="A_TOKEN", header="Authorization", prefix="Bearer ")
    assert is_signed(token, b"abc", {"authorization": held}, BODY, NOW) == (held == "Bearer abc")


def test_only_a_key_in_base64_loses_the_mark_of_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (SECRETS | {"ZENDESK_SIGNING_SECRET": "whsec_zen"}).items():
        monkeypatch.setenv(name, value)
    maps = read_maps(MAPS)
    assert (maps["zendesk"].secret, maps["teams"].secret) == (b"whsec_zen", base64.b64decode(KEY))


DISCORD_STAMP = str(NOW // SECOND)
SIGNED = DISCORD_KEY.sign(DISCORD_STAMP.encode() + BODY).hex()


@pytest.mark.parametrize(
    ("signature", "stamp", "body", "sent"),
    [
        (SIGNED, DISCORD_STAMP, BODY, True),
        (SIGNED.upper(), DISCORD_STAMP, BODY, True),
        (SIGNED, DISCORD_STAMP, BODY + b" ", False),
        (SIGNED, str(NOW // SECOND - 1), BODY, False),
        (DISCORD_KEY.sign(BODY).hex(), DISCORD_STAMP, BODY, False),
        (DISCORD_KEY.sign(str(NOW // SECOND - 301).encode() + BODY).hex(), str(NOW // SECOND - 301), BODY, False),
        ("zz" * 64, DISCORD_STAMP, BODY, False),
        ("\udcff", DISCORD_STAMP, BODY, False),
    ],
)
def test_an_ed25519_signature_covers_time_and_body(
    sources: dict[str, MappedWebhook], signature: str, stamp: str, body: bytes, sent: bool
) -> None:
    discord = sources["discord"]
    headers = {"x-signature-ed25519": signature, "x-signature-timestamp": stamp}
    assert is_signed(discord.map.signature, discord.secret, headers, body, NOW) is sent


@pytest.mark.parametrize("broken", ["*", KEY[:-1], f"{KEY}\n*"])
def test_a_key_that_is_not_base64_does_not_start(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (SECRETS | {"TEAMS_RELAY_SECRET": f"whsec_{broken}"}).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(StartError, match="TEAMS_RELAY_SECRET is not valid base64"):
        read_maps(MAPS)


@pytest.mark.parametrize(
    ("value", "kind", "moment"),
    [
        ("2024-10-18T18:41:21.109604", "iso8601", "2024-10-18T18:41:21.109604Z"),
        ("2025-08-05T22:39:19.557970+02:00", "iso8601", "2025-08-05T20:39:19.557970Z"),
        ("2024-10-18T18:41:21.109604", "rfc3339", None),
        ("175928847299117063", "snowflake", "2016-04-30T11:18:25.796000Z"),
        (0, "snowflake", None),
        (2**64 - 1, "snowflake", "2154-05-15T07:35:11.103000Z"),
        (1.5, "snowflake", None),
        (1400850973000, "milliseconds", "2014-05-23T13:16:13.000000Z"),
        (10**400, "milliseconds", None),
        ("0" * 19 + "7", "seconds", "1970-01-01T00:00:07.000000Z"),
        ("0" * 20 + "7", "seconds", None),
        (253_402_300_799, "seconds", "9999-12-31T23:59:59.000000Z"),
        (253_402_300_800, "seconds", None),
        (253_402_300_799_000, "milliseconds", "9999-12-31T23:59:59.000000Z"),
        (253_402_300_800_000, "milliseconds", None),
        (-0.5, "milliseconds", None),
        ("-5", "seconds", None),
        ([5], "seconds", None),
        (1400850973, "iso8601", None),
        ("yesterday", "iso8601", None),
    ],
)
def test_times_of_every_kind(value: Any, kind: Any, moment: str | None) -> None:
    assert moment_of(value, kind) == (None if moment is None else parse_instant(moment))


def reaction_update(old: list[Any], new: list[Any], update_id: Any = 7) -> dict[str, Any]:
    change = {"chat": {"id": -1}, "message_id": 2, "user": {"id": 5}, "date": 1_700_000_000}
    return {"update_id": update_id, "message_reaction": change | {"old_reaction": old, "new_reaction": new}}


def test_of_two_lists_only_the_differences_are_reactions(sources: dict[str, MappedWebhook]) -> None:
    thumb, party, custom = ({"type": "emoji", "emoji": emoji} for emoji in "👍🎉👎")
    paid = {"type": "paid"}
    found = sound(reaction_update([thumb, party, paid], [custom, thumb]), sources["telegram"])
    assert [(one["emoji"], one["action"], one["sequence"]) for one in found] == [
        ("🎉", "removed", 7),
        ("👎", "added", 7),
    ]
    assert len(sound(reaction_update([], [thumb] * 1_000), sources["telegram"])) == 1_000
    with pytest.raises(NotUnderstood, match=r"new_reaction has more than 1000 items"):
        chat_events(reaction_update([], [thumb] * 1_001), sources["telegram"])
    with pytest.raises(NotUnderstood):
        chat_events(reaction_update([thumb] * 1_001, [party]), sources["telegram"])


@pytest.mark.parametrize("sequence", [-1, 2**63, True, 1.0, "7", [7], 10**400])
def test_a_sequence_that_is_none_is_refused(sources: dict[str, MappedWebhook], sequence: Any) -> None:
    [dropped] = chat_events(reaction_update([], [{"type": "emoji", "emoji": "👍"}], sequence), sources["telegram"])
    assert dropped == Dropped("sequence is not an integer from 0", is_refused=True)


def of_rule(rule: dict[str, Any], zendesk: MappedWebhook, **more: Any) -> MappedWebhook:
    """Return the source with this one rule about messages, whose fields have one-letter paths."""
    common = {"kind": "message", "conversation": "c", "message": "m", "author": "a", "at": "t", "text": "x"}
    described = zendesk.map.model_dump() | {"rule": [common | rule]} | more
    return MappedWebhook(name="z", map=WebhookMap.model_validate(described), secret=b"s")


SHORT: dict[str, Any] = {"c": "1", "m": "2", "a": "3", "t": "2025-01-08T10:12:07Z", "x": "Hello"}


@pytest.mark.parametrize(
    ("rule", "payload", "content"),
    [
        ({"text": ["x", "y"]}, {"x": None, "y": "second"}, "second"),
        ({"text": ["x", "y"]}, {"x": "first", "y": "second"}, "first"),
        ({"text": ["x", "y"]}, {"x": "", "y": "second"}, "second"),
        ({"text": "x.1"}, {"x": ["zero", "one"]}, "one"),
        ({"text": "x.-1"}, {"x": ["zero", "one"]}, None),
        ({"text": "x.0"}, {"x": {"0": "named"}}, "named"),
        ({}, {"x": "a\x00b"}, "ab"),
        ({}, {"x": "x" * 200_001}, "x" * 200_000),
        ({"when": {"y": "*"}}, {"y": False}, "Hello"),
        ({"when": {"y": "*"}}, {"y": None}, None),
        ({"when": {"y": [1, 2]}}, {"y": 2}, "Hello"),
        ({"when": {"y": 1, "x": "Hello"}}, {"y": 2}, None),
        ({"when": {"y": 1, "x": "Hello"}}, {"y": 1}, "Hello"),
    ],
)
def test_the_words_of_a_message(
    sources: dict[str, MappedWebhook], rule: dict[str, Any], payload: dict[str, Any], content: str | None
) -> None:
    found = sound(SHORT | payload, of_rule(rule, sources["zendesk"]))
    assert [one["content"] for one in found] == ([] if content is None else [content])


def test_html_is_cut_after_it_was_made_plain(sources: dict[str, MappedWebhook]) -> None:
    source = of_rule({}, sources["zendesk"], text="html")
    for text, content in (
        (" <b>a\x00</b> ", "a"),
        ("<p>" + "x" * 200_000 + "</p>", "x" * 200_000),
        ("x" * 200_001, "x" * 200_000),
    ):
        assert sound(SHORT | {"x": text}, source)[0]["content"] == content


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ({"c": None}, "conversation is missing"),
        ({"a": True}, "author is missing"),
        ({"a": 10**400}, "author is missing"),
        ({"t": "soon"}, "at is not a time"),
        ({"x": 7}, "text is not a string"),
        ({"s": "7"}, "sequence is not an integer"),
    ],
)
def test_a_refusal_names_the_field(sources: dict[str, MappedWebhook], payload: dict[str, Any], why: str) -> None:
    source = of_rule({"reply_to": "r", "thread": "h", "sequence": "s"}, sources["zendesk"])
    [dropped] = chat_events(SHORT | payload, source)
    assert isinstance(dropped, Dropped)
    assert (dropped.is_refused, why in dropped.reason) == (True, True)


@pytest.mark.parametrize(
    ("more", "content", "kinds"),
    [
        ({"sticker": {"file_id": "s", "emoji": "👎"}}, "", ["sticker"]),
        ({"photo": [{"file_id": "small"}, {"file_id": "large"}]}, "", ["image"]),
        ({"photo": [{"file_id": "small"}], "caption": "That is wrong."}, "That is wrong.", ["image"]),
        ({"voice": {"file_id": "v", "mime_type": "audio/ogg"}}, "", ["audio/ogg"]),
        ({"document": {"file_id": "d", "mime_type": "a\x00b"}}, "", ["file"]),
        ({"text": "Hello"}, "Hello", None),
    ],
)
def test_a_message_of_telegram_without_text_has_attachments(
    sources: dict[str, MappedWebhook], more: dict[str, Any], content: str, kinds: list[str] | None
) -> None:
    [found] = sound(telegram(**more), sources["telegram"])
    attached = None if kinds is None else [{"type": kind} for kind in kinds]
    assert (found["content"], found.get("attachments")) == (content, attached)


def test_a_reply_of_telegram_may_be_a_picture(sources: dict[str, MappedWebhook]) -> None:
    answer = {"message_id": 8, "date": 1_699_999_990, "from": {"id": 7000000001}, "photo": [{"file_id": "p"}]}
    told, reply = sound(telegram(sticker={"file_id": "s"}, reply_to_message=answer), sources["telegram"])
    assert (told["senderType"], told["content"], told["attachments"]) == ("agent", "", [{"type": "image"}])
    assert (reply["topic"], reply["originalMessageId"]) == ("chat.message.reply.ingested", "8")
    assert (reply["content"], reply["attachments"]) == ("", [{"type": "sticker"}])


@pytest.mark.parametrize("more", [{}, {"sticker": None}, {"sticker": "s"}, {"photo": []}, {"photo": ["p"]}])
def test_a_message_of_neither_words_nor_attachments_is_ignored(
    sources: dict[str, MappedWebhook], more: dict[str, Any]
) -> None:
    assert sound(telegram(**more), sources["telegram"]) == []


def test_attachments_of_discord_have_addresses(sources: dict[str, MappedWebhook]) -> None:
    picture = {"id": "1", "filename": "a.png", "content_type": "image/png", "url": "https://cdn.example/a.png"}
    data = {"id": "175928847299117063", "type": 0, "channel_id": "7", "author": {"id": "5"}, "content": ""}
    files = {"attachments": [picture, {"id": "2", "url": 7}, "x"], "sticker_items": [{"id": "3", "name": "wave"}]}
    [found] = sound({"event": {"type": "LOBBY_MESSAGE_CREATE", "data": data | files}}, sources["discord"])
    assert (found["content"], found["attachments"]) == (
        "",
        [{"type": "image/png", "url": "https://cdn.example/a.png"}, {"type": "file"}, {"type": "sticker"}],
    )
    many = data | {"attachments": [picture] * 60}
    [cut] = sound({"event": {"type": "LOBBY_MESSAGE_CREATE", "data": many}}, sources["discord"])
    assert len(cut["attachments"]) == 50
    assert sound({"event": {"type": "LOBBY_MESSAGE_CREATE", "data": data}}, sources["discord"]) == []


def test_the_first_answer_that_fits_is_sent(sources: dict[str, MappedWebhook]) -> None:
    discord = sources["discord"]
    assert answer_to({"type": 0}, discord) == SourceAnswer(204)
    assert answer_to({"type": 1, "event": {}}, discord) == SourceAnswer(204)
    assert answer_to({"type": 1}, discord) == SourceAnswer(200, {"type": 1})
    assert answer_to({"type": True}, discord) is None
    assert answer_to({}, discord) is None


def test_words_of_html() -> None:
    assert plain("<p>a &amp; b</p><ul><li>c</li></ul> 1 < 2 <!-- x --> 2 > 1") == "a & b\nc\n 1 < 2  2 > 1"


MAP = (MAPS / "zendesk.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (MAP.replace('tenant = "acme"', 'tenant = "a/b"'), "tenant"),
        (MAP.replace('signed = "{timestamp}{body}"', 'signed = "{body}"'), "need each other"),
        (MAP.replace('signed = "{timestamp}{body}"', 'signed = "{timestamp}{body}{nonce}"'), "placeholders of signed"),
        (MAP.replace('author = "event.comment.author.id"', ""), "needs author"),
        (MAP.replace('encoding = "base64"', 'encodin = "base64"'), "unknown field"),
        (MAP + "[[answer]]\nstatus = 204\nbody = {}", "204 has no body"),
        (MAP.replace("ZENDESK_SIGNING_SECRET", "NOT_SET_ANYWHERE"), "NOT_SET_ANYWHERE"),
        ("rule = ", "is not TOML: Invalid value"),
    ],
)
def test_a_map_that_is_not_sound_does_not_start(
    text: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZENDESK_SIGNING_SECRET", "zen")
    (tmp_path / "zendesk.toml").write_text(text, "utf-8")
    with pytest.raises(StartError, match=why):
        read_maps(tmp_path)


REACTED = {"type": "messageReaction", "reactionsAdded": [{"type": "like"}]}


@pytest.mark.parametrize("piece", ["<", "<a", "</p", "<br ", "<a>", "&", "&#9", "&#" + "9" * 99, "<!--"])
def test_twice_the_html_takes_about_twice_the_time(piece: str) -> None:
    doubles(lambda length: plain(piece * (length // len(piece))))


HOSTILE = damaged(
    [
        ZENDESK,
        intercom("conversation.user.created"),
        intercom("conversation.user.replied", part(1, "user", {"id": "u1"}, "No.")),
        TEAMS | REACTED,
        TEAMS | {"type": "message", "id": "2", "replyToId": "1", "text": "No."},
        telegram(text="No."),
        reaction_update([], [{"type": "emoji", "emoji": "x"}]),
    ]
)
"""Payloads of platforms, damaged. Each map reads every one of them."""


def outcomes(payload: Any, sources: Iterable[MappedWebhook]) -> set[str]:
    """Return the topics of the chat events that a payload becomes; "refused" or "ignored" if a map finds none."""
    met: set[str] = set()
    for source in sources:
        answer_to(payload, source)
        try:
            found = chat_events(payload, source)
        except NotUnderstood:
            met.add("refused")
            continue
        for event in found:
            if not isinstance(event, Dropped):
                check_line(json.dumps(event).encode(), IngestProject("acme", "support"))
        met |= {"ignored" if isinstance(event, Dropped) else str(event["topic"]) for event in found}
    return met


@pytest.fixture(scope="module")
def all_sources() -> Iterator[list[MappedWebhook]]:
    with pytest.MonkeyPatch.context() as environment:
        for name, value in SECRETS.items():
            environment.setenv(name, value)
        yield list(read_maps(MAPS).values())


@given(payload=HOSTILE)
@BUDGET
def test_nothing_else_is_ever_raised(all_sources: list[MappedWebhook], payload: Any) -> None:
    outcomes(payload, all_sources)
