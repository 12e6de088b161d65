"""Events about posts in a random order, and an independent recount of the feedback in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any, NamedTuple

REWARDS = {"👍": ("ok", 0.6), "❤️": ("ok", 0.8), "👎": ("not_ok", -0.6)}
PEOPLE = ("ann", "bob", "cem")
LATER = "2026-01-01T11:00:00Z"
"""Time of deletions."""


class Given(NamedTuple):
    """One live record: its place and kind, the person, the post or comment that it is or is about, the reaction."""

    tenant: str
    post: str
    kind: str
    user: str
    about: str
    reaction: str | None


def event(topic: str, post: str, at: int, tenant: str = "acme", **fields: Any) -> dict[str, Any]:
    """Return an event of the project `support`, `at` seconds after ten."""
    body = {"topic": f"post.{topic}", "tenant": tenant, "project": "support", "postId": post, **fields}
    moment = f"2026-01-01T10:{at // 60:02}:{at % 60:02}Z"
    return {"occurredAt": moment, "eventId": f"{topic}-{post}-{at}-{sorted(fields.items())}"[:256], **body}


def published(post: str, at: int = 0, author: str = "bot", **fields: Any) -> dict[str, Any]:
    """Return a post; every author but PEOPLE is an agent."""
    return event("published", post, at, **{"content": f"Post {post}", **_by(author), **fields})


def commented(post: str, comment: str, at: int, author: str = "ann", **fields: Any) -> dict[str, Any]:
    """Return a comment on a post, or on the comment `parentCommentId`."""
    said = {"content": f"Comment {comment}", **_by(author), **fields}
    return event("commented", post, at, commentId=comment, **said)


def reacted(post: str, emoji: str, at: int, user: str = "ann", **fields: Any) -> dict[str, Any]:
    """Return a reaction to a post, or to the comment `commentId`."""
    return event("reacted", post, at, **{"userId": user, "emoji": emoji, **fields})


def discussions(random: Random, posts: Iterable[str], tenants: Iterable[str]) -> list[dict[str, Any]]:
    """Return the events of random discussions, in random order and some of them twice.

    Every post of a tenant has the same ids as those of the others.
    """
    said: list[dict[str, Any]] = []
    for tenant in tenants:
        for post in posts:
            said.append(published(post, author=random.choice(("bot", "bot", "ann")), tenant=tenant))
            comments: list[str] = []
            for at in range(10, 10 + random.randrange(4, 12)):
                parent = {"parentCommentId": random.choice(comments)} if comments and random.random() < 0.5 else {}
                comments.append(f"{len(comments)}")
                author = random.choice((*PEOPLE, "bot"))
                one = commented(post, comments[-1], at, author, tenant=tenant, **parent)
                said.append(one)
                if random.random() < 0.2:
                    said.append(
                        one
                        | {"eventId": one["eventId"][:255] + "d", "content": "(message deleted)", "occurredAt": LATER}
                    )
            for at in range(120, 120 + random.randrange(6, 20)):
                on = {"commentId": random.choice(comments)} if random.random() < 0.5 else {}
                action = random.choice(("added", "added", "removed"))
                emoji, user = random.choice([*REWARDS]), random.choice((*PEOPLE, "bot"))
                said.append(reacted(post, emoji, at, user, tenant=tenant, action=action, **on))
    said += random.sample(said, len(said) // 4)
    random.shuffle(said)
    return said


def recount(events: Iterable[Mapping[str, Any]]) -> set[Given]:
    """Return the live records of the events: comments on, and reactions to, texts of the agent `bot`."""
    latest: dict[tuple[str, str, str], Mapping[str, Any]] = {}
    emojis: dict[tuple[str, str, str, str], dict[str, tuple[str, bool]]] = {}
    for one in events:
        tenant, post = one["tenant"], one["postId"]
        about = f"comment:{one['commentId']}" if "commentId" in one else f"post:{post}"
        if one["topic"] == "post.reacted":
            change = one["occurredAt"], one.get("action", "added") == "added"
            slots = emojis.setdefault((tenant, post, one["userId"], about), {})
            slots[one["emoji"]] = max(slots.get(one["emoji"], change), change)
        elif latest.get((tenant, post, about), {"occurredAt": ""})["occurredAt"] < one["occurredAt"]:
            latest[tenant, post, about] = one

    def by_bot(tenant: str, post: str, about: str) -> bool:
        return latest.get((tenant, post, about), {}).get("authorId") == "bot"

    found: set[Given] = set()
    for (tenant, post, about), one in latest.items():
        answered = f"comment:{one['parentCommentId']}" if "parentCommentId" in one else f"post:{post}"
        live = one["topic"] == "post.commented" and one["content"] != "(message deleted)"
        if live and one["authorId"] != "bot" and by_bot(tenant, post, answered):
            found.add(Given(tenant, post, "implicit", one["authorId"], about, None))
    for (tenant, post, user, about), slots in emojis.items():
        present = [(at, emoji) for emoji, (at, added) in slots.items() if added]
        if present and user != "bot" and by_bot(tenant, post, about):
            found.add(Given(tenant, post, "reaction", user, about, REWARDS[max(present)[1]][0]))
    return found


def _by(author: str) -> dict[str, str]:
    return {"authorId": author, "authorType": "human" if author in PEOPLE else "agent"}
