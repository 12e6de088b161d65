"""Posts as messages: their ids, and chats that claim an id of a post."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from contracts.posts import PostCommented, PostPublished, PostReacted, about_in
from contracts.topics import BY_NAME, CHAT_TOPICS, POST_TOPICS, Topic
from contracts.versions import message_in
from docgen.asyncapi import examples_of

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
