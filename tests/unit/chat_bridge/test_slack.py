"""Slack's documented events become chat events, and its signature is verified."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given

from chat_bridge.ingest import IngestProject, ValidLine, check_line
from chat_bridge.sources.slack import chat_events
from chat_bridge.sources.slack_content import content_of, plain
from chat_bridge.sources.slack_controls import interaction_in, judgements
from chat_bridge.sources.slack_workspace import SIGNATURE as HOW
from chat_bridge.sources.source import Dropped, NotUnderstood, SignedRequest
from chat_bridge.sources.webhook_signature import is_signed as is_signed_as
from contracts.chat import DELETED
from tests.support.damaged import BUDGET, damaged
from tests.support.linear import doubles

AGENTS = {"B0BOT": "helper", "U0BOT": "helper"}
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
        (SECRET, "", SIGNATURE, BODY, NOW),
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
    [found] = chat_events(callback(event), AGENTS)
    assert not isinstance(found, Dropped)
    place = IngestProject("acme", "slack")
    assert isinstance(check_line(json.dumps(found).encode(), place), ValidLine)
    return found


def reason_of(event: dict[str, Any], **outer: Any) -> str:
    """Return the reason for which an event is dropped."""
    [dropped] = chat_events(callback(event) | outer, AGENTS)
    assert isinstance(dropped, Dropped)
    return dropped.reason


def test_a_message() -> None:
    found = event_of(MESSAGE)
    assert {name: found[name] for name in found if name != "eventId"} == {
        "topic": "chat.message.ingested",
        "occurredAt": "2012-12-14T20:38:43.000005Z",
        "conversationId": CHANNEL,
        "messageId": "1355517523.000005",
        "senderId": "U2147483697",
        "senderType": "human",
        "content": "Hello world",
    }
    assert chat_events(callback(MESSAGE), AGENTS) == [found]  # a repetition is the same event
    assert chat_events(callback(MESSAGE, "EvOther"), AGENTS) != [found]


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


def test_a_reply_in_ones_own_thread_says_so() -> None:
    threaded = MESSAGE | {"thread_ts": "1355517500.000001"}
    own = event_of(threaded | {"parent_user_id": MESSAGE["user"]})
    assert own["original"] == {
        "messageId": "1355517500.000001",
        "conversationId": CHANNEL,
        "senderId": MESSAGE["user"],
        "senderType": "human",
        "content": "",
    }
    assert "original" not in event_of(threaded | {"parent_user_id": "U0BOT"})
    broadcast = threaded | {"subtype": "thread_broadcast"}  # Slack sends it without `parent_user_id`
    assert event_of(broadcast | {"root": {"user": MESSAGE["user"]}})["original"] == own["original"]
    assert "original" not in event_of(broadcast | {"root": {"user": "U0BOT"}})


def test_reactions_come_and_go() -> None:
    found = event_of(REACTION)
    assert {name: found[name] for name in found if name != "eventId"} == {
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
    assert reason_of(REACTION | {"item": {"type": "file", "file": "F1"}}) == "not_about_a_message"


def test_a_reaction_of_the_answers_author_is_no_feedback() -> None:
    assert reason_of(REACTION | {"user": "UGREET", "item_user": "UGREET"}) == "reaction_of_the_author"
    own_bot = {"authorizations": [{"team_id": "T1", "user_id": "U0GREET", "is_bot": True}]}
    assert reason_of(REACTION | {"user": "U0GREET"}, **own_bot) == "reaction_of_the_author"
    person = {"authorizations": [{"team_id": "T1", "user_id": "U123ABC456", "is_bot": False}]}
    assert isinstance(chat_events(callback(REACTION) | person, AGENTS)[0], dict)


@pytest.mark.parametrize("event", [MESSAGE, REACTION])
@pytest.mark.parametrize(
    ("outer", "workspace"),
    [
        ({"team_id": "TGUEST", "authorizations": [{"team_id": "THOME", "enterprise_id": "E1"}]}, "THOME"),
        ({"team_id": "THOME", "authorizations": [{"team_id": "THOME", "is_enterprise_install": False}]}, "THOME"),
        (
            {
                "team_id": "T7",
                "authorizations": [{"team_id": "T7", "enterprise_id": "E1", "is_enterprise_install": True}],
            },
            "E1",
        ),
        ({"team_id": "T1", "authorizations": []}, "T1"),
        ({"team_id": "T1", "authorizations": [{"team_id": None}]}, "T1"),
    ],
)
def test_a_channel_is_of_the_workspace_that_installed_the_app(
    event: dict[str, Any], outer: dict[str, Any], workspace: str
) -> None:
    [converted] = chat_events(callback(event) | outer, AGENTS)
    assert isinstance(converted, dict)
    assert converted["conversationId"] == f"slack/{workspace}/C2147483705"


ANSWER = "The library opens at nine on Sunday."


def mrkdwn(text: str) -> dict[str, str]:
    return {"type": "mrkdwn", "text": text}


def rich(*elements: dict[str, Any], kind: str = "rich_text_section") -> list[dict[str, Any]]:
    return [{"type": "rich_text", "elements": [{"type": kind, "elements": list(elements)}]}]


@pytest.mark.parametrize(
    ("shown", "content"),
    [
        ({"blocks": [{"type": "section", "text": mrkdwn(ANSWER)}]}, ANSWER),
        ({"blocks": [{"type": "header", "text": {"type": "plain_text", "text": "Hours"}}]}, "Hours"),
        (
            {"blocks": [{"type": "markdown", "text": "The library opens at **nine**."}]},
            "The library opens at **nine**.",
        ),
        ({"blocks": [{"type": "context", "elements": [mrkdwn("Source: <https://x.example|page>")]}]}, "Source: page"),
        (
            {
                "blocks": rich(
                    {"type": "text", "text": "Ask "},
                    {"type": "user", "user_id": "U7"},
                    {"type": "text", "text": " in "},
                    {"type": "channel", "channel_id": "C7"},
                    {"type": "text", "text": " "},
                    {"type": "emoji", "name": "wave"},
                    {"type": "text", "text": " or see "},
                    {"type": "link", "url": "https://x.example"},
                    {"type": "broadcast", "range": "here"},
                )
            },
            "Ask @U7 in #C7 :wave: or see https://x.example@here",
        ),
        ({"text": "This content can't be displayed.", "blocks": [{"type": "section", "text": mrkdwn(ANSWER)}]}, ANSWER),
        (
            {"text": ANSWER, "blocks": [{"type": "actions", "elements": [{"type": "button", "text": mrkdwn("Yes")}]}]},
            ANSWER,
        ),
        ({"attachments": [{"fallback": ANSWER, "color": "good"}]}, ANSWER),
        (
            {"text": "Hours:", "attachments": [{"title": "Sunday", "fields": [{"title": "from", "value": "nine"}]}]},
            "Hours:\nSunday\nfrom\nnine",
        ),
        ({"text": ANSWER, "attachments": [{"from_url": "https://x.example", "text": "A page"}]}, ANSWER),
        ({"blocks": [{"type": ["section"], "text": mrkdwn(ANSWER)}]}, ANSWER),
    ],
)
def test_an_answers_words_are_wherever_slack_shows_them(shown: dict[str, Any], content: str) -> None:
    bot = {"type": "message", "channel": "C1", "ts": MESSAGE["ts"], "bot_id": "B0BOT", "text": ""}
    converted = event_of(bot | shown)
    assert (converted["content"], converted["senderType"]) == (content, "agent")


def test_an_edit_of_blocks_is_an_edit() -> None:
    def blocks(text: str) -> dict[str, Any]:
        return {"text": "", "blocks": [{"type": "section", "text": mrkdwn(text)}]}

    message = CHANGED["message"] | blocks("At ten.")
    edit = CHANGED | {"message": message, "previous_message": message | blocks("At nine.")}
    assert event_of(edit)["content"] == "At ten."
    assert reason_of(edit | {"previous_message": message | {"edited": None}}) == "no_change_of_content"
    assert event_of(edit | {"message": message | {"blocks": []}})["content"] == DELETED


def test_the_root_of_an_assistants_thread_has_no_words() -> None:
    root = event_of(MESSAGE | {"subtype": "assistant_app_thread", "user": "U0BOT", "text": "New Assistant Thread"})
    assert (root["content"], root["senderType"]) == (DELETED, "agent")


BUTTONS = {
    "type": "feedback_buttons",
    "action_id": "rate",
    "positive_button": {"text": {"type": "plain_text", "text": "Good"}, "value": "t1:good"},
    "negative_button": {"text": {"type": "plain_text", "text": "Bad"}, "value": "t1:bad"},
}
CLICK: dict[str, Any] = {
    "type": "block_actions",
    "team": {"id": "TGUEST", "domain": "guests"},
    "user": {"id": "U1", "team_id": "TGUEST"},
    "channel": {"id": "C2147483705"},
    "message": {
        "type": "message",
        "ts": "1360782400.498405",
        "team": "T1",
        "bot_id": "B0BOT",
        "text": "At nine.",
        "blocks": [{"type": "section"}, {"type": "context_actions", "elements": [BUTTONS]}],
    },
    "actions": [{"type": "feedback_buttons", "action_id": "rate", "value": "t1:bad", "action_ts": "1360782804.083113"}],
}
MODAL: dict[str, Any] = {
    "type": "view_submission",
    "team": {"id": "T1"},
    "user": {"id": "U1"},
    "view": {
        "hash": "1360782809.Ab1",
        "app_installed_team_id": "T1",
        "private_metadata": '{"channel": "C2147483705", "message_ts": "1360782400.498405", "judgement": "not_ok"}',
        "state": {"values": {"b1": {"a1": {"type": "plain_text_input", "value": "It is closed on Sunday."}}}},
    },
}


def judged(payload: dict[str, Any]) -> dict[str, Any]:
    [event] = judgements(payload, AGENTS)
    assert not isinstance(event, Dropped)
    assert isinstance(check_line(json.dumps(event).encode(), IngestProject("acme", "slack")), ValidLine)
    assert judgements(payload, AGENTS) == [event]  # a repetition is the same event
    return event


@pytest.mark.parametrize(("value", "judgement"), [("t1:good", "ok"), ("t1:bad", "not_ok")])
def test_a_click_on_slacks_feedback_buttons_is_a_judgement(value: str, judgement: str) -> None:
    event = judged(CLICK | {"actions": [CLICK["actions"][0] | {"value": value}]})
    assert {name: event[name] for name in event if name != "eventId"} == {
        "topic": "chat.message.reaction.ingested",
        "occurredAt": "2013-02-13T19:13:24.083113Z",
        "conversationId": CHANNEL,
        "messageId": "1360782400.498405",
        "userId": "U1",
        "userType": "human",
        "judgement": judgement,
    }


@pytest.mark.parametrize("opened_at", ["1360782804", "1360782809"])  # in the second of the click, or later
def test_the_reason_in_a_modal_belongs_to_the_judgement(opened_at: str) -> None:
    event = judged(MODAL | {"view": MODAL["view"] | {"hash": f"{opened_at}.Ab1"}})
    assert (event["judgement"], event["text"], event["messageId"], event["conversationId"]) == (
        "not_ok",
        "It is closed on Sunday.",
        "1360782400.498405",
        CHANNEL,
    )
    assert event["occurredAt"] > judged(CLICK)["occurredAt"]


@pytest.mark.parametrize(
    "payload",
    [
        CLICK | {"actions": [{"type": "button", "action_id": "order", "value": "7", "action_ts": "1.000000"}]},
        MODAL | {"view": MODAL["view"] | {"private_metadata": "of another feature"}},
        MODAL | {"view": MODAL["view"] | {"private_metadata": '{"judgement": "great"}'}},
    ],
)
def test_other_controls_of_slack_are_dropped(payload: dict[str, Any]) -> None:
    assert judgements(payload, AGENTS) == [Dropped("other_control")]


def test_a_value_of_no_button_is_refused() -> None:
    with pytest.raises(NotUnderstood):
        judgements(CLICK | {"actions": [CLICK["actions"][0] | {"value": "else"}]}, AGENTS)


def test_an_interaction_is_a_form() -> None:
    assert json.loads(interaction_in(b"payload=" + quote(json.dumps(CLICK)).encode())) == CLICK
    assert interaction_in(b'{"type": "event_callback"}') == b'{"type": "event_callback"}'
    assert interaction_in(b"payload=%zz&payload=") == b"%zz"


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
    assert reason_of(CHANGED | {"previous_message": {"text": "Hello, world!"}}) == "no_change_of_content"


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
        assert reason_of(upload | {"files": files}) == "no_content"


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ({}, {"type": "file"}),
        ({"mimetype": "a\nb", "permalink": "https://x/\n"}, {"type": "file"}),
        ({"mimetype": "x" * 129, "permalink": "x" * 2_049}, {"type": "file"}),
    ],
)
def test_what_a_file_says_wrongly_is_left_out(file: dict[str, Any], shown: dict[str, str]) -> None:
    assert event_of(MESSAGE | {"text": "", "files": [file]})["attachments"] == [shown]


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


def test_a_deleted_message_whose_thread_goes_on_leaves_no_words() -> None:
    stone = {"type": "message", "subtype": "tombstone", "user": "USLACKBOT", "text": "This message was deleted."}
    found = event_of(CHANGED | {"message": stone | {"ts": MESSAGE["ts"]}, "previous_message": MESSAGE})
    assert (found["messageId"], found["senderId"], found["content"]) == (MESSAGE["ts"], MESSAGE["user"], DELETED)
    assert found["occurredAt"] == "2013-01-22T18:19:15.000001Z"


@pytest.mark.parametrize("user", ["U123ABC456", "U0BOT"])
def test_a_line_of_slack_is_neither_a_persons_nor_an_agents(user: str) -> None:
    line = {"subtype": "channel_join", "user": user, "text": f"<@{user}> has joined the channel"}
    event = event_of(MESSAGE | line)
    assert (event["topic"], event["senderType"], event["senderId"]) == ("chat.message.ingested", "system", user)


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (MESSAGE | {"bot_id": "B0OTHER"}, "unknown_bot"),
        ({name: value for name, value in MESSAGE.items() if name != "user"}, "unknown_bot"),
        (CHANGED | {"message": MESSAGE | {"user": None, "text": "Hello, world!"}}, "unknown_bot"),
        (MESSAGE | {"subtype": "reminder_add"}, "other_subtype"),
        (MESSAGE | {"text": "  "}, "no_content"),
        ({"type": "app_mention", "user": "U1", "text": "hi", "ts": "1.000000", "channel": "C1"}, "other_event"),
        ({"type": "emoji_changed"}, "other_event"),
        (MESSAGE | {"subtype": {}}, "other_subtype"),
    ],
)
def test_what_is_not_ours_is_dropped_with_its_reason(event: dict[str, Any], reason: str) -> None:
    assert reason_of(event) == reason


@pytest.mark.parametrize(
    "event", [MESSAGE | {"ts": "now"}, MESSAGE | {"channel": 7}, REACTION | {"item": None}, CHANGED | {"message": "x"}]
)
def test_what_does_not_read_as_documented_is_refused(event: dict[str, Any]) -> None:
    with pytest.raises(NotUnderstood):
        chat_events(callback(event), AGENTS)


def test_markup_becomes_words() -> None:
    assert plain("<@U123|ann> see <https://x.example/a?b|the page> &lt;now&gt; in <#C1|general>, <!here>") == (
        "@ann see the page <now> in #general, @here"
    )
    assert plain("<https://x.example> <@U123> a < b") == "https://x.example @U123 a < b"
    assert plain("<!subteam^S1|@shop> <!date^1392734382^{date}|today> <!here>") == "@shop today @here"


@pytest.mark.parametrize("piece", ["<", "<a|", "<@", "<a|b", "<!x^", "&", "&#9", "<a> ", "&#" + "9" * 99])
@pytest.mark.parametrize("where", ["text", "blocks", "attachments"])
def test_twice_the_text_takes_about_twice_the_time(piece: str, where: str) -> None:
    def message(repeats: int) -> dict[str, Any]:
        text = piece * (repeats // len(piece))
        return {"text": text} if where == "text" else {where: [{"type": "mrkdwn", "text": text}]}

    doubles(lambda repeats: content_of(message(repeats)))


GONE_MESSAGE = CHANGED | {"subtype": "message_deleted", "deleted_ts": MESSAGE["ts"], "previous_message": MESSAGE}
HOSTILE = damaged([*(callback(event) for event in (MESSAGE, REACTION, CHANGED, GONE_MESSAGE)), CLICK, MODAL])


def outcome(payload: Any) -> str:
    """Return the topic of the event that a callback becomes, or the reason why there is none."""
    try:
        interaction = payload.get("type") in ("block_actions", "view_submission")
        converted = judgements(payload, AGENTS) if interaction else chat_events(payload, AGENTS)
    except NotUnderstood:
        return "refused"
    if not converted or isinstance(converted[0], Dropped):
        return "ignored"
    found = converted[0]
    check_line(json.dumps(found).encode(), IngestProject("acme", "slack"))
    return "deletion" if found.get("content") == DELETED else str(found["topic"])


@given(HOSTILE)
@BUDGET
def test_nothing_else_is_ever_raised(payload: Any) -> None:
    outcome(payload)
