"""Send a topic of a Discourse forum, with its comments and likes, to agent-feedback.

    pip install httpx
    export AGENT_FEEDBACK_TOKEN=...    # with the scope `ingest`
    python examples/discourse_posts.py https://forum.example.org 17 --agent helper_bot --project demo/forum

The topic's first post becomes `post.published`, each further post `post.commented`, each like `post.reacted` with ❤️.
`--agent` names an agent's account, and may be repeated. Run it again at any time, for example once a minute: the ids of
the events depend only on their content, so nothing is counted twice, and an edited post replaces its earlier text.

Discourse does not tell when somebody liked a post, so a like has the time of the post. Likes that were taken back are
not noticed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx

LIKE = 2
"""Number of the action "like" in Discourse."""
AT_ONCE = 20
"""Number of posts per request; Discourse returns the same number with the topic."""
IN_ONE_BODY = 500
"""Number of events per request to agent-feedback, whose body may have at most 8 MiB."""


def topic_of(forum: httpx.Client, number: int) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    """Return the topic and all of its posts, in their order."""
    topic = get(forum, f"/t/{number}.json", {"include_raw": "1"})
    posts = list(topic["post_stream"]["posts"])
    known = {post["id"] for post in posts}
    missing = [one for one in topic["post_stream"]["stream"] if one not in known]
    for start in range(0, len(missing), AT_ONCE):
        asked = {"post_ids[]": missing[start : start + AT_ONCE], "include_raw": "1"}
        posts += get(forum, f"/t/{number}/posts.json", asked)["post_stream"]["posts"]
    return topic, sorted(posts, key=lambda post: post["post_number"])


def likers_of(forum: httpx.Client, post: Mapping[str, Any]) -> Sequence[str]:
    """Return the names of the people who like a post."""
    if not any(one["id"] == LIKE and one.get("count") for one in post.get("actions_summary", ())):
        return []
    asked = {"id": post["id"], "post_action_type_id": LIKE}
    return [one["username"] for one in get(forum, "/post_action_users.json", asked)["post_action_users"]]


def events_of(
    topic: Mapping[str, Any],
    posts: Sequence[Mapping[str, Any]],
    likers: Mapping[int, Sequence[str]],
    agents: frozenset[str],
) -> Iterator[dict[str, Any]]:
    """Yield the events of a topic. `likers` has the people who like a post, by its id."""
    ids = {post["post_number"]: str(post["id"]) for post in posts}
    for post in posts:
        is_first = post["post_number"] == 1
        target = {} if is_first else {"commentId": str(post["id"])}
        text = f"{topic['title']}\n\n{post['raw']}" if is_first else post["raw"]
        written = {
            "topic": "post.published" if is_first else "post.commented",
            "eventId": f"{post['id']}-{post['version']}",
            "occurredAt": post["updated_at"],
            "postId": str(topic["id"]),
            **target,
            "authorId": post["username"],
            "authorType": "agent" if post["username"] in agents else "human",
            "content": text,
        }
        answered = post.get("reply_to_post_number") or 1
        if not is_first and answered != 1 and answered in ids:
            written["parentCommentId"] = ids[answered]
        yield written
        for name in likers.get(post["id"], ()):
            yield {
                "topic": "post.reacted",
                "eventId": f"{post['id']}-like-{name}",
                "occurredAt": post["created_at"],
                "postId": str(topic["id"]),
                **target,
                "userId": name,
                "emoji": "❤️",
            }


def get(forum: httpx.Client, path: str, asked: Mapping[str, Any]) -> Any:
    return forum.get(path, params=dict(asked)).raise_for_status().json()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("forum", help="URL of the forum")
    parser.add_argument("number", type=int, help="number of the topic, from its URL")
    parser.add_argument("--agent", action="append", default=[], help="name of an agent's account")
    parser.add_argument("--project", default="demo/support", help="tenant/project, by default demo/support")
    parser.add_argument("--url", default="http://127.0.0.1:8080", help="URL of agent-feedback")
    chosen = parser.parse_args(arguments)
    token = os.environ.get("AGENT_FEEDBACK_TOKEN", "")
    try:
        with httpx.Client(base_url=chosen.forum, timeout=30) as forum:
            topic, posts = topic_of(forum, chosen.number)
            likers = {post["id"]: likers_of(forum, post) for post in posts}
        lines = [json.dumps(event) for event in events_of(topic, posts, likers, frozenset(chosen.agent))]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-ndjson"}
        path = f"{chosen.url.rstrip('/')}/ingest/{chosen.project}/events"
        refused = 0
        for start in range(0, len(lines), IN_ONE_BODY):
            body = "\n".join(lines[start : start + IN_ONE_BODY])
            refused += len(
                httpx.post(path, content=body, headers=headers, timeout=60).raise_for_status().json()["refused"]
            )
    except httpx.HTTPStatusError as error:
        print(f"{error.request.url} answered {error.response.status_code}.", file=sys.stderr)
        return 1
    except httpx.HTTPError as error:
        print(f"There was no answer: {type(error).__name__}.", file=sys.stderr)
        return 1
    print(f"{len(lines)} events sent, {refused} refused.")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
