"""The example that sends a topic of a Discourse forum, against a forum that answers as Discourse's API does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fastapi import FastAPI, Query

from tests.flow.test_example_agents import example
from tests.flow.test_posts import given
from tests.support.post_events import Given
from tests.support.running_stack import RunningStack
from tests.support.served import served

AT = "2026-01-02T10:00:{:02}.000Z"
POSTS = 23


def post(number: int) -> dict[str, Any]:
    """The first post and the third are an agent's; each person answers the post that is two before."""
    return {
        "id": 900 + number,
        "post_number": number,
        "username": "helper_bot" if number in (1, 3) else f"person-{number}",
        "raw": f"Text {number}",
        "version": 1,
        "created_at": AT.format(number),
        "updated_at": AT.format(number),
        "reply_to_post_number": max(number - 2, 1) if number > 1 else None,
        "actions_summary": [{"id": 2, "count": 2}] if number in (1, 3) else [{"id": 4, "count": 1}],
    }


def forum() -> FastAPI:
    app = FastAPI()

    @app.get("/t/17.json")
    def topic() -> Any:
        stream = {"posts": [post(number) for number in range(1, 21)], "stream": [901 + at for at in range(POSTS)]}
        return {"id": 17, "title": "Release 4.2", "post_stream": stream}

    @app.get("/t/17/posts.json")
    def more(post_ids: list[int] = Query(alias="post_ids[]")) -> Any:
        return {"post_stream": {"posts": [post(one - 900) for one in post_ids]}}

    @app.get("/post_action_users.json")
    def likers(post_action_type_id: int, post_id: int = Query(alias="id")) -> Any:
        assert (post_id in (901, 903), post_action_type_id) == (True, 2)
        return {"post_action_users": [{"id": 1, "username": "ann"}, {"id": 2, "username": f"fan-of-{post_id}"}]}

    return app


async def sent(forum_url: str, url: str) -> int:
    arguments = [forum_url, "17", "--agent", "helper_bot", "--project", "acme/support", "--url", url]
    code: int = await asyncio.to_thread(example("discourse_posts").main, arguments)
    return code


async def test_a_topic_of_a_forum_becomes_feedback_once(stack: RunningStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_FEEDBACK_TOKEN", "all")
    expected = {
        Given("acme", "17", "reaction", user, about, "ok")
        for about, users in (("post:17", ("ann", "fan-of-901")), ("comment:903", ("ann", "fan-of-903")))
        for user in users
    }
    expected |= {Given("acme", "17", "implicit", f"person-{n}", f"comment:{900 + n}", None) for n in (2, 5)}
    async with served(forum()) as forum_url, served(stack.app()) as url:
        for _ in range(2):
            assert await sent(forum_url, url) == 0
            await stack.quiet()
            assert await given(stack, "17") == expected
