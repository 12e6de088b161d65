"""Every source of the registry over HTTP: its rejections, and Discord and Telegram up to feedback."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from prometheus_client import REGISTRY

from chat_bridge.settings import ChatBridgeSettings
from chat_bridge.sources.api import SOURCE_LIMIT
from chat_bridge.sources.registry import open_sources
from servicekit.errors import StartError
from tests.support.platforms import ENVIRONMENT, MAPS, PLATFORMS, SECRETS, as_body
from tests.support.running_stack import RunningStack, running_stack

BOT, ANN = {"id": "1234567765431056709"}, {"id": "80351110224678912"}


CHANNEL = "1405604229820715098"


HELPER = {"id": 7000000001, "is_bot": True, "first_name": "Helper"}


TELEGRAM_ANN = {"id": 5001, "is_bot": False, "first_name": "Ann"}


GROUP = {"id": -1001, "type": "supergroup", "title": "Support"}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    with pytest.MonkeyPatch.context() as environment:
        for name, value in ENVIRONMENT.items():
            environment.setenv(name, value)
        async with running_stack(postgres_url) as running:
            yield running


async def send(
    stack: RunningStack,
    name: str,
    payload: Any,
    *,
    at: float | None = None,
    headers: Mapping[str, str | bytes] | None = None,
) -> httpx.Response:
    """Post `payload` as the platform `name` would; `headers` replace its own."""
    body, platform = as_body(payload), PLATFORMS[name]
    async with stack.client(None) as http:
        signed: Any = platform.headers(body) if headers is None else headers
        return await http.post(platform.path, content=body, headers=signed)


def counted(source: str, outcome: str) -> float:
    labels = {"source": source, "outcome": outcome}
    return REGISTRY.get_sample_value("agent_feedback_source_requests_total", labels) or 0.0


def test_every_source_is_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    assert sorted(open_sources(ChatBridgeSettings())) == sorted(PLATFORMS)


def test_a_map_named_like_slack_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "slack.toml").write_text((MAPS / "zendesk.toml").read_text("utf-8"))
    monkeypatch.setenv("CHAT_BRIDGE_WEBHOOK_MAPS", str(tmp_path))
    with pytest.raises(StartError, match="slack"):
        open_sources(ChatBridgeSettings())


@pytest.mark.parametrize("name", PLATFORMS)
async def test_a_request_that_its_platform_did_not_sign_is_refused(stack: RunningStack, name: str) -> None:
    platform, before = PLATFORMS[name], counted(name, "unsigned")
    body = as_body(platform.message)
    good = platform.headers(body)
    last = good[platform.signature]
    refused: list[dict[str, Any]] = [
        {key: value for key, value in good.items() if key != platform.signature},
        good | {platform.signature: ""},
        good | {platform.signature: last[:-2] + ("00" if last[-2:] != "00" else "11")},
        good | {platform.signature: "ünï".encode()},
    ]
    if platform.covers_body:
        refused.append(platform.headers(body + b" "))
    if platform.dated:
        refused += [platform.headers(body, time.time() - 3_600), platform.headers(body, time.time() + 3_600)]
    for headers in refused:
        answer = await send(stack, name, body, headers=headers)
        assert answer.status_code == 401
        assert not any(secret.removeprefix("whsec_") in answer.text for secret in SECRETS.values())
    assert counted(name, "unsigned") - before == len(refused)


@pytest.mark.parametrize("name", PLATFORMS)
async def test_a_body_that_is_too_large_or_no_object_is_refused(stack: RunningStack, name: str) -> None:
    assert (await send(stack, name, b" " * (SOURCE_LIMIT + 1))).status_code == 413
    before = counted(name, "unreadable")
    bodies = [b"", b"[]", b"{", b"null", b'{"text": "\\ud800"}', b"\xff", b"[" * 100_000]
    assert [(await send(stack, name, body)).status_code for body in bodies] == [422] * len(bodies)
    assert counted(name, "unreadable") - before == len(bodies)


@pytest.mark.parametrize("name", PLATFORMS)
async def test_an_unknown_payload_is_answered_and_counted(stack: RunningStack, name: str) -> None:
    before = counted(name, "ignored")
    payloads: list[dict[str, Any]] = [
        {},
        {"type": {"deeply": [None]}},
        {"type": "of next year", "event": None, "message": []},
    ]
    for payload in payloads:
        assert (await send(stack, name, payload)).status_code == 200
    assert counted(name, "ignored") - before == 3


async def test_a_payload_of_which_nothing_is_understood_is_refused(stack: RunningStack) -> None:
    rated = {"type": "satisfaction", "rating": "bad", "ticket": "1", "requester": "2", "assignee": "8447388090494"}
    assert (await send(stack, "zendesk", rated | {"time": "soon"})).json() == {"outcome": "refused"}


async def feedback_of(stack: RunningStack, conversation: str) -> tuple[str, list[tuple[str, str, str | None]]]:
    """Return the agent's answer and the feedback (user, type, reaction) of the one turn with feedback."""
    await stack.quiet()
    place = f"/conversations/acme/support/{conversation.replace('/', '%2F')}"
    async with stack.client() as http:
        found = await http.post(f"{place}/turns-with-feedbacks", json={"turn_ids": None, "days": 3650})
    [turn] = found.json()["turns"]
    rows = await stack.rows(
        "select user_id, feedback_type, slot -> 'payload' ->> 'reaction' from feedback.feedback, "
        "jsonb_path_query(slots, '$.*') slot "
        f"where conversation_id = '{conversation}' and (slot -> 'present')::boolean and origin = 'user'"
    )
    return turn["assistant"]["text"], sorted((row[0], row[1], row[2]) for row in rows)


def discord_event(kind: str, number: int, author: Any, content: str, **more: Any) -> dict[str, Any]:
    """Return a webhook event about the direct message `number`."""
    data = {
        "id": str(1405614357781545021 + (number << 32)), "type": 0, "content": content, "channel_id": CHANNEL,
        "author": author, "attachments": [], **more,
    }  # fmt: skip
    event = {"type": f"GAME_DIRECT_MESSAGE_{kind}", "timestamp": f"2025-08-14T18:1{number}:38.063234", "data": data}
    return {"version": 1, "application_id": "1234567765431056709", "type": 1, "event": event}


def click(number: int, custom_id: str, answered: dict[str, Any], **who: Any) -> dict[str, Any]:
    """Return an interaction: a click on the button `custom_id` under the message of a webhook event."""
    return {
        "id": str(1405614357781545021 + (number << 32)), "application_id": "1234567765431056709", "type": 3,
        "token": "unique_interaction_token", "version": 1, "channel_id": CHANNEL, "locale": "en-GB",
        "data": {"component_type": 2, "custom_id": custom_id, "id": 2},
        "message": answered["event"]["data"] | {"timestamp": "2025-08-14T18:11:37.947000+00:00", "components": []},
        **who,
    }  # fmt: skip


async def test_discord_becomes_feedback_however_often_it_is_sent(stack: RunningStack) -> None:
    answered = discord_event("CREATE", 1, BOT, "At nine.")
    parent = {"message_reference": {"message_id": answered["event"]["data"]["id"], "channel_id": CHANNEL}}
    happened = [
        (discord_event("CREATE", 0, ANN, "When do you open?"), 204),
        (answered, 204),
        (discord_event("CREATE", 2, ANN, "Is that the summer's opening time?", **parent | {"type": 19}), 204),
        (discord_event("UPDATE", 2, ANN, "Is that so in summer, too?", **parent), 204),
        (click(3, "feedback-down", answered, user=ANN), 200),
        (click(4, "feedback-up", answered, member={"user": {"id": "9001"}, "roles": []}, guild_id="290926798626999250"),
         200),
    ]  # fmt: skip
    for payload, status in [*happened, *reversed(happened)]:
        assert (await send(stack, "discord", payload)).status_code == status
    answer, found = await feedback_of(stack, f"discord/{CHANNEL}")
    assert answer == "At nine."
    assert found == [
        ("80351110224678912", "explicit", "not_ok"),
        ("80351110224678912", "implicit", None),
        ("9001", "explicit", "ok"),
    ]
    gone = discord_event("DELETE", 2, ANN, "Is that so in summer, too?", **parent)
    gone["event"]["timestamp"] = "2025-08-14T18:20:00.000000"
    assert (await send(stack, "discord", gone)).status_code == 204
    assert [one[1] for one in (await feedback_of(stack, f"discord/{CHANNEL}"))[1]] == ["explicit", "explicit"]


async def test_discord_gets_the_answers_that_it_expects(stack: RunningStack) -> None:
    ping = await send(stack, "discord", {"version": 1, "application_id": "1234567765431056709", "type": 0})
    assert (ping.status_code, ping.content) == (204, b"")
    pong = await send(stack, "discord", {"id": "1", "type": 1, "token": "t", "version": 1, "user": ANN})
    assert (pong.status_code, pong.json()) == (200, {"type": 1})
    clicked = await send(stack, "discord", {"type": 3, "data": {"custom_id": "of another feature"}})
    assert (clicked.status_code, clicked.json()) == (200, {"type": 6})


def reacted(update: int, old: list[str], new: list[str], date: int, who: Any = TELEGRAM_ANN) -> dict[str, Any]:
    """Return an update of the reactions to message 2."""
    lists = {
        name: [{"type": "emoji", "emoji": emoji} for emoji in emojis]
        for name, emojis in (("old_reaction", old), ("new_reaction", new))
    }
    change = {"chat": GROUP, "message_id": 2, "user": who, "date": date, **lists}
    return {"update_id": update, "message_reaction": change}


async def test_telegram_becomes_feedback_however_often_it_is_sent(stack: RunningStack) -> None:
    answered = {"message_id": 2, "from": HELPER, "chat": GROUP, "date": 1700000005, "text": "At nine."}
    asked = {"message_id": 1, "from": TELEGRAM_ANN, "chat": GROUP, "date": 1700000000, "text": "When do you open?"}
    reply = {"message_id": 3, "from": TELEGRAM_ANN, "chat": GROUP, "date": 1700000020, "reply_to_message": answered}
    bob = {"id": 5002, "is_bot": False, "first_name": "Bob"}
    happened = [
        {"update_id": 10, "message": asked},
        {"update_id": 11, "message": reply | {"text": "Is that the summer's opening time?"}},
        {"update_id": 12, "edited_message": reply | {"edit_date": 1700000030, "text": "Is that so in summer, too?"}},
        reacted(13, [], ["👍"], 1700000040),
        reacted(14, ["👍"], ["👎"], 1700000040),
        reacted(15, ["👎"], ["👍", "🎉"], 1700000040),
        reacted(16, ["👍", "🎉"], ["👍"], 1700000040),
        reacted(17, [], ["❤"], 1700000041, bob),
        reacted(18, ["❤"], [], 1700000042, bob),
    ]
    for payload in [*happened, *reversed(happened)]:
        answer = await send(stack, "telegram", payload)
        assert (answer.status_code, answer.json()["outcome"]) == (200, "published")
    said, found = await feedback_of(stack, "telegram/-1001")
    assert (said, found) == ("At nine.", [("5001", "implicit", None), ("5001", "reaction", "ok")])


def whatsapp(number: int, **message: Any) -> dict[str, Any]:
    common = {"from": "46701", "id": f"wamid.{number}", "timestamp": str(1_700_000_000 + number)}
    value = {"messaging_product": "whatsapp", "messages": [common | message]}
    return {"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [{"value": value}]}]}


async def test_the_last_of_a_persons_reactions_of_one_second_counts(stack: RunningStack) -> None:
    def reaction(**emoji: str) -> dict[str, Any]:
        return whatsapp(2, type="reaction", reaction={"message_id": "wamid.a"} | emoji)

    sent = {"sent": True, "from": "15550001111", "to": "46701", "id": "wamid.a", "timestamp": "1700000001"}
    happened = [
        whatsapp(0, type="text", text={"body": "When do you open?"}),
        sent | {"text": {"body": "At nine."}},
        reaction(emoji="👍"),
        reaction(),
        reaction(emoji="😢"),
        reaction(emoji="👎"),
    ]
    for payload in happened:
        assert (await send(stack, "whatsapp", payload)).json()["outcome"] == "published"
    assert (await feedback_of(stack, "whatsapp/46701"))[1] == [("46701", "reaction", "not_ok")]
    assert (await send(stack, "whatsapp", reaction())).json()["outcome"] == "published"
    await stack.quiet()
    assert await stack.rows("select from reporting.effective where conversation_id = 'whatsapp/46701'") == []


# Webhooks of platforms with maps, with their signatures, and all services in one process.
