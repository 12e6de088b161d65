"""The Slack and Discord bots of the examples, with the platforms' packages, signed requests and the running stack."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from tests.support.platforms import ENVIRONMENT, PLATFORMS, SECRETS, SLACK_SECRET, as_body
from tests.support.ports import free_port
from tests.support.running_stack import RunningStack, running_stack
from tests.support.served import nowhere, served
from tests.support.tool_environment import ROOT, environment_of, server

pytestmark = [pytest.mark.bridges, pytest.mark.timeout(900)]
APPLICATION = "1234567765431056709"
SLACK = {
    "CHAT_BRIDGE_SLACK_TENANT": "acme",
    "CHAT_BRIDGE_SLACK_PROJECT": "support",
    "CHAT_BRIDGE_SLACK_AGENTS": '{"B1": "support-agent"}',
}
FEEDBACK = "/conversations/acme/support/feedback/search"


@dataclass
class PlatformApi:
    """Stand-in for a platform's HTTP API: keeps the messages that a bot writes, and gives them ids."""

    written: list[dict[str, Any]] = field(default_factory=list)
    came: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        answer: dict[str, Any] = {"ok": True, "bot_id": "B1", "user_id": "UBOT", "team_id": "T1"}
        if not scope["path"].endswith("/auth.test"):
            sent = await request.body()
            said = json.loads(sent) if sent.startswith(b"{") else dict(await request.form())
            async with self.came:
                self.written.append(said)
                self.came.notify_all()
            answer["id"] = snowflake(10 * len(self.written))
        await JSONResponse(answer)(scope, receive, send)

    async def message(self, number: int) -> dict[str, Any]:
        """Wait for the bot's message of this number, counted from 1."""
        async with asyncio.timeout(60), self.came:
            await self.came.wait_for(lambda: len(self.written) >= number)
        return self.written[number - 1]


def snowflake(seconds: int) -> str:
    return str(1405614357781545021 + (seconds * 1_000 << 22))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stack(postgres_url: str) -> AsyncIterator[RunningStack]:
    with pytest.MonkeyPatch.context() as environment:
        for name, value in (ENVIRONMENT | SLACK).items():
            environment.setenv(name, value)
        async with running_stack(postgres_url) as running:
            yield running


@asynccontextmanager
async def slack_bot(url: str, api: str, tmp_path: Path) -> AsyncIterator[str]:
    """Run the Slack bot; yield its request URL."""
    programs = await environment_of("slack", "slack-bolt==1.30.0", "aiohttp>=3.10,<4", "httpx==0.28.1")
    port = free_port()
    settings = {
        "AGENT_FEEDBACK_URL": url,
        "AGENT_FEEDBACK_TOKEN": "all",
        "SLACK_BOT_TOKEN": "xoxb-1",
        "SLACK_SIGNING_SECRET": SLACK_SECRET,
        "SLACK_API_URL": f"{api}/api/",
        "PORT": str(port),
    }
    command = (str(programs / "python"), *program("slack_bot"))
    async with server(f"http://127.0.0.1:{port}/", tmp_path / "slack.log", *command, ready=404, **settings):
        yield f"http://127.0.0.1:{port}/slack/events"


def program(name: str) -> tuple[str, ...]:
    return str(ROOT / "tests/bridges/serve.py"), str(ROOT / f"examples/integrations/{name}.py")


def slack_event(number: int, **event: Any) -> bytes:
    return as_body({"type": "event_callback", "team_id": "T1", "event_id": f"Ev{number}", "event": event})


async def send(http: httpx.AsyncClient, platform: str, url: str, body: bytes) -> httpx.Response:
    return await http.post(url, content=body, headers=PLATFORMS[platform].headers(body))


async def delivered(http: httpx.AsyncClient, url: str, event: bytes) -> None:
    """Send an event as Slack does: again, unless the bot responds with success within three seconds."""
    for _ in range(10):
        if (await send(http, "slack", url, event)).status_code == 200:
            return
    raise AssertionError("the bot accepts no event")


async def verdicts(stack: RunningStack, conversation: str) -> list[tuple[str, str, str]]:
    """Return the effective feedback of a conversation: message, origin, reaction."""
    await stack.quiet()
    async with stack.client() as http:
        found = (await http.post(FEEDBACK, json={"conversation_id": conversation})).json()["items"]
    return sorted((row["turn_id"], row["origin"], row["reaction"]) for row in found)


async def test_a_slack_bot_passes_on_what_slack_signs(stack: RunningStack, tmp_path: Path) -> None:
    api = PlatformApi()
    asked, answered, corrected = (f"1767261600.{number:06}" for number in (1, 2, 4))
    written = {"type": "message", "channel": "C9", "user": "U1"}
    async with (
        served(stack.app()) as url,
        served(api) as platform,
        slack_bot(url, platform, tmp_path) as bot,
        httpx.AsyncClient(timeout=60) as http,
    ):
        question = slack_event(1, **written, text="When does the museum open?", ts=asked)
        assert (await http.post(bot, content=question)).status_code == 401
        await delivered(http, bot, question)
        answer = await api.message(1)
        assert (answer["text"], answer["thread_ts"]) == ("At nine.", asked)
        said = {"text": "At nine.", "bot_id": "B1", "user": "UBOT", "ts": answered, "thread_ts": asked}
        await delivered(http, bot, slack_event(2, **written | said))
        thumb = {"type": "reaction_added", "user": "U1", "reaction": "-1", "event_ts": f"{answered[:-1]}3"}
        item = {"type": "message", "channel": "C9", "ts": answered}
        await delivered(http, bot, slack_event(3, **thumb, item=item))
        later = {"text": "No, that's wrong, I asked about Sunday.", "ts": corrected, "thread_ts": asked}
        await delivered(http, bot, slack_event(4, **written | later))
        await api.message(2)
    assert [one["text"] for one in api.written] == ["At nine.", "Sorry, which day do you mean?"]
    found = await verdicts(stack, "slack/T1/C9")
    assert found == [(answered, "machine", "not_ok"), (answered, "user", "not_ok")]


async def test_slack_sends_again_what_agent_feedback_could_not_take(tmp_path: Path) -> None:
    api = PlatformApi()
    event = slack_event(9, type="message", channel="C9", user="U1", text="Hello?", ts="1767261600.000009")
    async with served(api) as platform, slack_bot(nowhere(), platform, tmp_path) as bot, httpx.AsyncClient() as http:
        assert (await send(http, "slack", bot, event)).status_code == 503
    assert api.written == []


async def test_a_discord_bot_answers_commands_and_passes_on_clicks(stack: RunningStack, tmp_path: Path) -> None:
    packages = ("discord-interactions==0.4.0", "fastapi>=0.115,<1", "uvicorn>=0.30,<1", "httpx==0.28.1")
    stored = "select 1 from reporting.messages where conversation_id = 'discord/C7'"
    programs, port, api = await environment_of("discord", *packages), free_port(), PlatformApi()
    head = {"application_id": APPLICATION, "token": "t", "version": 1, "channel_id": "C7"}
    ann = {"member": {"user": {"id": "80351110224678912"}}}

    def command(seconds: int, text: str) -> bytes:
        data = {"id": "1", "name": "ask", "type": 1, "options": [{"name": "question", "type": 3, "value": text}]}
        return as_body({**head, **ann, "id": snowflake(seconds), "type": 2, "data": data})

    async with served(stack.app()) as url, served(api) as platform, httpx.AsyncClient(timeout=60) as http:
        settings = {
            "AGENT_FEEDBACK_URL": url,
            "AGENT_FEEDBACK_TOKEN": "all",
            "DISCORD_API_URL": platform,
            "DISCORD_PUBLIC_KEY": SECRETS["DISCORD_PUBLIC_KEY"],
        }
        here = f"http://127.0.0.1:{port}"
        run = (str(programs / "python"), *program("discord_bot"), str(port))
        async with server(f"{here}/openapi.json", tmp_path / "discord.log", *run, **settings):
            bot = f"{here}/interactions"
            ping = as_body({**head, "id": snowflake(0), "type": 1})
            assert (await send(http, "discord", bot, ping)).json() == {"type": 1}
            assert (await http.post(bot, content=ping)).status_code == 401
            assert (await send(http, "discord", bot, command(1, "When does the museum open?"))).json() == {"type": 5}
            answer = await api.message(1)
            assert answer["content"] == "At nine."
            below = answer["components"][0]["components"]
            shown = {"id": snowflake(10), "type": 20, "channel_id": "C7", "author": {"id": APPLICATION}}
            shown["content"] = answer["content"]
            click = {"id": snowflake(12), "type": 3, "data": {"component_type": 2, "custom_id": below[1]["custom_id"]}}
            passed = await send(http, "discord", bot, as_body({**head, **ann, **click, "message": shown}))
            assert passed.json() == {"type": 6}
            await stack.quiet()
            await send(http, "discord", bot, command(15, "No, that's wrong, I asked about Sunday."))
            assert (await api.message(2))["content"] == "Sorry, which day do you mean?"
            async with asyncio.timeout(30):
                while len(await stack.rows(stored)) < 4:
                    await asyncio.sleep(0.1)
    found = await verdicts(stack, "discord/C7")
    assert found == [(snowflake(10), "machine", "not_ok"), (snowflake(10), "user", "not_ok")]
