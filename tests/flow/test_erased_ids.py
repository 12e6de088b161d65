"""After a person's erasure no response, page, export or artifact contains their id until they write again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from contracts.instants import DAY, format_instant
from servicekit.clock import SystemClock
from tests.support.erasures import erased
from tests.support.running_stack import RunningStack, message, running_stack

EVE = "eve@example.org"
PROJECT = "/conversations/acme/support"
WINDOW = {"start": "2026-01-01T00:00:00Z", "end": "2027-01-01T00:00:00Z"}
FIGURES = f"start={WINDOW['start']}&end={WINDOW['end']}"


def questions(conversation: str) -> list[tuple[str, str, Any]]:
    """Return all requests that show the conversation; none of them names the person."""
    here = f"{PROJECT}/{conversation}"
    return [
        ("GET", f"/dashboard/conversation?at=acme/support&id={conversation}", None),
        ("GET", "/dashboard/feedback?at=acme/support", None),
        ("POST", f"{PROJECT}/feedback/conversations-in-period", WINDOW | {"include_turns": True}),
        ("POST", f"{PROJECT}/feedback/search", WINDOW | {"conversation_id": conversation}),
        (
            "POST",
            f"{PROJECT}/feedback/artifacts",
            {"conversation_id": conversation, "days": 3650, "with_payload": True, "kinds": ["turn.log"]},
        ),
        ("POST", f"{PROJECT}/feedback/artifacts", {"conversation_id": conversation, "days": 3650}),
        ("POST", f"{here}/turns-with-feedbacks", {"days": 3650}),
        ("POST", f"{here}/feedback/latest", {}),
        *(("GET", f"{PROJECT}/exports/{wanted}?everyone=true&{FIGURES}", None)
          for wanted in ("kto", "dpo", "sft", "events", "detector")),
        ("GET", f"{here}/turns/t1/metadata", None),
        ("GET", f"{here}/turns/alone/metadata", None),
        ("POST", f"{PROJECT}/strategies/search", {"intent": "hours"}),
        ("POST", f"{here}/detect", {"text": "No, that is wrong.", "ts": "2026-01-01T10:05:00Z", "user_id": "bob"}),
        ("POST", f"{here}/detect", {"text": "No, that is wrong.", "user_id": "bob", "look_back": "user"}),
    ]  # fmt: skip


async def shown(stack: RunningStack, conversation: str, text: str) -> set[str]:
    """Return the paths whose responses contain `text`, with @ escaped or not."""
    found = set()
    async with stack.client() as http:
        for method, path, body in questions(conversation):
            answer = await http.request(method, path, json=body)
            assert answer.status_code == 200, (path, answer.text)
            if text in answer.text.replace("%40", "@").replace("&#64;", "@"):
                found.add(path.split("?")[0].removeprefix(PROJECT))
    return found


def said(name: str, conversation: str, at: str, **fields: Any) -> dict[str, Any]:
    return dict(message(name, conversation, occurredAt=f"2026-01-01T10:0{at}Z", **fields))


async def everything(stack: RunningStack, conversation: str) -> list[dict[str, Any]]:
    """Publish messages of Eve with and without a turn or text, and her rejection, reply, emoji and judgement."""
    events = [
        said("q", conversation, "0:00", turn="t1", senderId=EVE),
        said("a", conversation, "0:05", turn="t1", agent="bot", intent="hours", strategy="lookup"),
        said("no", conversation, "1:00", turn="t2", senderId=EVE, content="No, that's wrong, I asked for the price."),
        said("alone-q", conversation, "2:00", senderId=EVE, content="And on Sundays?"),
        said("alone", conversation, "2:05", agent="bot", intent="hours", strategy="lookup"),
        said("picture", conversation, "3:00", turn="t4", senderId=EVE, content=""),
        said("r", conversation, "4:00", senderId=EVE, content="Thanks, great!")
        | {"topic": "chat.message.reply.ingested", "originalMessageId": "a"},
    ]  # fmt: skip
    await stack.publish(*events)
    await stack.quiet()
    async with stack.client() as http:
        body = {"reaction": "not_ok", "text": "wrong", "correction": "At ten.", "user_id": EVE}
        answer = await http.post(f"{PROJECT}/{conversation}/turns/t1/feedback", json=body)
    assert answer.status_code == 202, answer.text
    await stack.quiet()
    return events


async def test_nothing_shows_the_id_of_an_erased_person(stack: RunningStack) -> None:
    events = await everything(stack, "ids")
    before = await shown(stack, "ids", EVE)
    assert before >= {
        "/dashboard/conversation", "/dashboard/feedback", "/feedback/search", "/feedback/artifacts",
        "/ids/turns-with-feedbacks", "/ids/feedback/latest", "/exports/events",
        "/ids/turns/t1/metadata", "/ids/turns/alone/metadata", "/strategies/search",
    }  # fmt: skip

    await erased(stack, EVE)
    await stack.quiet()
    assert await shown(stack, "ids", EVE) == set()
    assert "/dashboard/conversation" in await shown(stack, "ids", "<b>A person</b>")

    await stack.publish(*events)  # a replay
    # The answer is judged again when a message arrives before it.
    await stack.publish(said("before", "ids", "1:30", senderId="bob", content="Hello."))
    await stack.quiet()
    assert await shown(stack, "ids", EVE) == set()


async def test_others_keep_their_ids_and_so_does_who_comes_back(postgres_url: str) -> None:
    bob = "bob@example.org"
    in_a_year = SystemClock().now() + 365 * DAY
    async with running_stack(postgres_url, lambda around: replace(around, judge_at=in_a_year)) as stack:
        await everything(stack, "back")
        await stack.publish(said("bob", "back", "2:30", turn="t3", senderId=bob, content="Me too."))
        await stack.quiet()
        await erased(stack, EVE)
        await stack.quiet()
        assert "/dashboard/conversation" in await shown(stack, "back", bob)
        assert await shown(stack, "back", EVE) == set()
        later = {"turn": "t9", "senderId": EVE, "occurredAt": format_instant(in_a_year)}
        await stack.publish(message("later", "back", **later))
        await stack.quiet()
        assert "/dashboard/conversation" in await shown(stack, "back", EVE)
