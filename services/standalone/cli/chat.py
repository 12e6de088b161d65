"""The command `chat`: a terminal conversation with an agent, published to a running platform."""

from __future__ import annotations

import getpass
import logging
import sys
from contextlib import AsyncExitStack
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from servicekit.errors import StartError
from standalone.operations.remote import address_of
from standalone.state import DEFAULT_STATE
from standalone.terminal import State, run, sentence


class MemoryModeName(StrEnum):
    """Memory modes of a session, which determine where its data may be stored."""

    local = "local"
    synced = "synced"
    incognito = "incognito"


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("chat")(chat)


def chat(
    url: Annotated[str | None, typer.Option(help="The platform's URL; default: that of the running `up`.")] = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="AGENT_FEEDBACK_TOKEN", help="The access token, with the scopes ingest, detect and on_behalf."
        ),
    ] = None,
    tenant: Annotated[str, typer.Option(help="The tenant of the conversation.")] = "demo",
    project: Annotated[str, typer.Option(help="The project of the conversation.")] = "chat",
    user: Annotated[str | None, typer.Option(help="The user's id; default: your account name.")] = None,
    model_url: Annotated[
        str | None, typer.Option(help="An OpenAI-compatible endpoint, such as http://localhost:11434/v1.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model's name at the endpoint of --model-url.")] = None,
    model_key: Annotated[str | None, typer.Option(envvar="MODEL_KEY", help="The endpoint's API key.")] = None,
    model_seconds: Annotated[float, typer.Option(min=1, max=600, help="Timeout of the model's answer, in s.")] = 60,
    planning_seconds: Annotated[
        float,
        typer.Option(min=0.1, max=60, help="Maximum time that an answer waits for feedback on earlier answers, in s."),
    ] = 1,
    memory_mode: Annotated[
        MemoryModeName, typer.Option(help="Incognito: the rating is kept in memory only, without the user's id.")
    ] = MemoryModeName.local,
    thread: Annotated[str | None, typer.Option(help="The thread that contains the conversation.")] = None,
    state: State = DEFAULT_STATE,
) -> None:
    """Chat with an agent that receives your feedback on its answers.

    Start `agent-feedback up` first. Give feedback on an answer with `/up`, `/down why` or `/react 😂`; the agent
    receives it with your next message. Without `--model-url`, a scripted agent answers.
    """
    if (model_url is None) != (model is None):
        raise typer.BadParameter("--model-url and --model belong together.")
    if model_url is not None and not model_url.startswith(("http://", "https://")):
        raise typer.BadParameter("--model-url must begin with http:// or https://.")
    if model_key and not (model_key.isascii() and model_key.isprintable()):
        raise typer.BadParameter("--model-key contains a character that cannot occur in a key.")
    # The chat shows the kit's warnings itself; log lines would overwrite the prompt.
    logging.getLogger("agent_feedback_kit").addHandler(logging.NullHandler())
    logging.getLogger("agent_feedback_kit").propagate = False
    agent = (model_url, model, model_key, model_seconds)
    run(_chat(url, token, tenant, project, user, *agent, planning_seconds, memory_mode.value, thread, state))


async def _chat(
    url: str | None,
    token: str | None,
    tenant: str,
    project: str,
    user: str | None,
    model_url: str | None,
    model: str | None,
    model_key: str | None,
    model_seconds: float,
    planning_seconds: float,
    memory_mode: str,
    thread: str | None,
    state: State,
) -> None:
    from agent_feedback_kit import AgentFeedbackError, AsyncClient
    from standalone.chat.agents import Agent, OpenAiAgent, ScriptedAgent
    from standalone.chat.conversation import Conversation
    from standalone.chat.session import Chat
    from standalone.chat.terminal import Keyboard, Pipe, TerminalScreen

    if url is None:
        url, token = address_of(None, token, state)
    agent: Agent = ScriptedAgent()
    if model_url is not None and model is not None:
        agent = OpenAiAgent(model_url, model, model_key, model_seconds)
    async with AsyncExitStack() as parts:
        parts.push_async_callback(agent.close)
        try:
            client = await parts.enter_async_context(AsyncClient(url, token=token, tenant=tenant, project=project))
            conversation = Conversation(client, agent, user or _account(), memory_mode, planning_seconds, thread)
            await client.latest(conversation.id)
        except (AgentFeedbackError, ValueError) as error:
            raise StartError(f"The platform at {url} cannot be used: {sentence(error)}") from None
        typed = Keyboard() if sys.stdin.isatty() else Pipe()
        await Chat(conversation, typed, TerminalScreen(Console())).run()


def _account() -> str:
    """Return the operating system user's name, or `me` if there is none, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "me"
