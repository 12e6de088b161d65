"""Messages between services keep their format: golden messages and exported schemas."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from faststream.specification.asyncapi.v3_0_0.schema import ApplicationSchema
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from contracts.posts import PostCommented, PostPublished, PostReacted, about_in
from contracts.topics import BY_NAME, CHAT_TOPICS, POST_TOPICS, TOPICS, Topic
from contracts.versions import message_in
from docgen.asyncapi import asyncapi, examples_of
from docgen.events_page import STYLES

STYLED = {(style.topic.name, style.example) for style in STYLES}
"""Examples whose spelling differs from the normalised one."""


GOLDEN = [
    pytest.param(topic, name, message, id=f"{topic.name}/{name}")
    for topic in TOPICS
    for name, message in examples_of(topic)
]


@pytest.mark.parametrize(("topic", "name", "message"), GOLDEN)
def test_golden_messages_are_read_and_written_alike(topic: Topic, name: str, message: dict[str, Any]) -> None:
    event = topic.event.model_validate_json(json.dumps(message), by_alias=True, by_name=False)
    again = json.loads(event.model_dump_json(by_alias=True))
    if (topic.name, name) not in STYLED:
        assert _known_part(message, again) == _known_part(again, message)
    assert topic.event.model_validate_json(json.dumps(again)) == event


def _known_part(one: Any, other: Any) -> Any:
    """Reduce `one` at every depth to the names that the other has."""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [_known_part(*pair) for pair in zip(one, other, strict=True)]
    if isinstance(one, dict) and isinstance(other, dict):
        return {name: _known_part(value, other[name]) for name, value in one.items() if name in other}
    return one


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_every_field_is_described_in_the_schema(topic: Topic) -> None:
    schema = topic.event.model_json_schema(by_alias=True)
    models = {topic.name: schema, **schema.get("$defs", {})}
    fields = [(name, field, facts) for name, model in models.items() for field, facts in model["properties"].items()]
    assert [f"{name}.{field}" for name, field, facts in fields if not facts.get("description")] == []


def test_the_asyncapi_document_is_sound_and_names_every_topic() -> None:
    document = asyncapi()
    ApplicationSchema.model_validate(document)
    assert set(document["channels"]) == set(BY_NAME)
    for reference in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(document)):
        found: Any = document
        for part in reference.split("/"):
            found = found[part]
    for name, message in document["components"]["messages"].items():
        validator = Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": document["components"]})
        for example in message["examples"]:
            validator.validate(example["payload"])


@pytest.mark.parametrize(
    "change",
    [
        {"eventId": 7.5},
        {"eventId": True},
        {"eventId": None},
        {"eventId": 10**256},
        {"eventId": ""},
        {"eventId": "x" * 257},
        {"messageId": "a\u0000b"},
        {"tenant": "no blanks"},
        {"occurredAt": 1772357400000000},
        {"occurredAt": float("nan")},
        {"occurredAt": "1772357400"},
        {"content": None},
        {"attachments": [{"url": "https://example.com/a.png"}]},
        {"userType": "x" * 129},
        {"userType": "a\nb"},
        {"content": "x" * 200_001},
        {"content": "nul \u0000"},
        {"senderType": "Human"},
        {"senderType": "agent", "senderId": ""},
        {"sequence": -1},
        {"version": 2},
    ],
    ids=lambda change: str(change)[:50],
)
def test_unsound_messages_are_refused(change: dict[str, Any]) -> None:
    sound = dict(examples_of(BY_NAME["chat.message.ingested"]))["least"]
    BY_NAME["chat.message.ingested"].event.model_validate_json(json.dumps(sound))
    with pytest.raises(ValidationError):
        BY_NAME["chat.message.ingested"].event.model_validate_json(json.dumps(sound | change), by_name=False)


# Posts as messages: their ids, and chats that claim an id of a post.

PUBLISHED, COMMENTED, REACTED = (topic.name for topic in POST_TOPICS)


def read(topic: str, name: str, **changes: Any) -> Any:
    said = dict(examples_of(BY_NAME[topic]))[name] | changes
    return BY_NAME[topic].event.from_wire(json.dumps(said).encode())


@pytest.mark.parametrize("topic", POST_TOPICS, ids=lambda topic: topic.name)
def test_a_post_and_all_about_it_are_one_conversation(topic: Topic) -> None:
    name, _ = examples_of(topic)[0]
    assert topic.key(read(topic.name, name, postId="17")) == "acme/community/post:17"


def test_a_post_and_a_comment_with_one_id_are_two_messages() -> None:
    post = message_in(read(PUBLISHED, "by_agent", postId="31"))
    comment = message_in(read(COMMENTED, "on_post", postId="31", commentId="31"))
    assert (post.conversation_id, post.message_id) == ("post:31", "post:31")
    assert (comment.conversation_id, comment.message_id) == ("post:31", "comment:31")
    assert comment.reply_to_message_id == "post:31"


def test_a_comment_answers_the_post_unless_it_names_a_comment() -> None:
    on_post, on_comment = about_in(read(COMMENTED, "on_post")), about_in(read(COMMENTED, "on_comment"))
    assert [getattr(one, "original_message_id", None) for one in (on_post, on_comment)] == ["post:17", "comment:31"]


def test_a_reaction_is_on_the_post_unless_it_names_a_comment() -> None:
    on_post, on_comment = about_in(read(REACTED, "on_post")), about_in(read(REACTED, "removed_from_comment"))
    assert [one and (one.message_id, one.conversation_id) for one in (on_post, on_comment)] == [
        ("post:17", "post:17"),
        ("comment:32", "post:17"),
    ]


def test_a_post_keeps_its_author_role_and_provenance() -> None:
    mine = message_in(read(PUBLISHED, "by_agent", agentId=None, userType="bot", traceId="abc", intent="news"))
    assert (mine.sender_id, mine.sender_type, mine.agent_id, mine.user_type) == (
        *("release-bot", "agent", "release-bot", "bot"),
    )
    assert (mine.agent_version, mine.model, mine.trace_id, mine.intent) == ("2.3", "notes-large", "abc", "news")
    theirs = message_in(read(PUBLISHED, "by_person"))
    assert (theirs.sender_type, theirs.agent_id, theirs.turn_id) == ("human", None, "turn-9")


@pytest.mark.parametrize("topic", CHAT_TOPICS, ids=lambda topic: topic.name)
def test_no_chat_has_the_conversation_of_a_post(topic: Topic) -> None:
    _, said = examples_of(topic)[0]
    topic.event.from_wire(json.dumps(said | {"conversationId": "posts:17"}).encode())
    with pytest.raises(ValidationError, match="must not begin with post:"):
        topic.event.from_wire(json.dumps(said | {"conversationId": "post:17"}).encode())


@pytest.mark.parametrize(
    ("topic", "name", "change"),
    [
        (PUBLISHED, "by_agent", {"postId": ""}),
        (PUBLISHED, "by_agent", {"postId": "x" * 249}),
        (PUBLISHED, "by_agent", {"postId": 10**248}),
        (PUBLISHED, "by_agent", {"postId": "a\u0000b"}),
        (COMMENTED, "on_post", {"commentId": None}),
        (COMMENTED, "on_post", {"parentCommentId": "31"}),
        (COMMENTED, "on_post", {"parentCommentId": ""}),
        (REACTED, "on_post", {"commentId": "x" * 249}),
    ],
)
def test_unsound_ids_are_refused(topic: str, name: str, change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        read(topic, name, **change)


def test_the_longest_ids_are_accepted() -> None:
    assert len(message_in(read(COMMENTED, "on_post", postId="p" * 248, commentId=10**247)).message_id) == 256
    assert isinstance(read(PUBLISHED, "by_person", postId=17), PostPublished)
    assert isinstance(read(COMMENTED, "on_post"), PostCommented)
    assert isinstance(read(REACTED, "on_post"), PostReacted)
