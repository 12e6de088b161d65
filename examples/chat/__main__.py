"""Terminal conversation with an agent that receives the user's feedback, published to a running platform.

Start `make run` first, run `make install` once (for prompt-toolkit), then `.venv/bin/python -m examples.chat` in the
repository. It reads the address and the token of the running platform from `.agent-feedback/run.json`.
"""

from __future__ import annotations

import argparse
import asyncio
import getpass
import json
import logging
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from agent_feedback_kit import AgentFeedbackError, AsyncClient
from examples.chat.agents import Agent, OpenAiAgent, ScriptedAgent
from examples.chat.conversation import Conversation
from examples.chat.session import Chat
from examples.chat.terminal import Keyboard, Pipe, TerminalScreen, sentence

NOT_STARTED = 3


def options() -> argparse.Namespace:
    """Parse the command line, and exit with a sentence if options contradict each other."""
    parser = argparse.ArgumentParser(prog="python -m examples.chat", description=__doc__)
    parser.add_argument("--url", help="the platform's URL; default: that of the running `up`")
    parser.add_argument(
        "--token", default=os.environ.get("AGENT_FEEDBACK_TOKEN"), help="scopes ingest, detect, on_behalf"
    )
    parser.add_argument("--state", type=Path, default=Path(".agent-feedback"), help="the state folder of `up`")
    parser.add_argument("--tenant", default="demo")
    parser.add_argument("--project", default="chat")
    parser.add_argument("--user", default=_account(), help="the user's id; default: your account name")
    parser.add_argument("--model-url", help="an OpenAI-compatible endpoint, such as http://localhost:11434/v1")
    parser.add_argument("--model", help="the model's name at the endpoint of --model-url")
    parser.add_argument("--model-key", default=os.environ.get("MODEL_KEY"), help="the endpoint's API key")
    parser.add_argument("--model-seconds", type=float, default=60, help="timeout of the model's answer")
    parser.add_argument("--planning-seconds", type=float, default=1, help="longest wait for feedback before an answer")
    parser.add_argument("--memory-mode", choices=("local", "synced", "incognito"), default="local")
    parser.add_argument("--thread", help="the thread that contains the conversation")
    parsed = parser.parse_args()
    if (parsed.model_url is None) != (parsed.model is None):
        parser.error("--model-url and --model belong together.")
    if parsed.model_url is not None and not parsed.model_url.startswith(("http://", "https://")):
        parser.error("--model-url must begin with http:// or https://.")
    if parsed.model_key and not (parsed.model_key.isascii() and parsed.model_key.isprintable()):
        parser.error("--model-key contains a character that cannot occur in a key.")
    if parsed.url is not None and not parsed.token:
        parser.error("--url needs --token, or AGENT_FEEDBACK_TOKEN.")
    if parsed.url is None:
        try:
            run = json.loads((parsed.state / "run.json").read_text("utf-8"))
        except OSError:
            _give_up(f"Nothing runs on {parsed.state}: start `make run`, or give a URL with --url.")
        parsed.url, parsed.token = run["url"], parsed.token or run["token"]
    return parsed


async def chat(options: argparse.Namespace) -> None:
    """Chat until the person leaves."""
    agent: Agent = ScriptedAgent()
    if options.model_url is not None:
        agent = OpenAiAgent(options.model_url, options.model, options.model_key, options.model_seconds)
    async with AsyncExitStack() as parts:
        parts.push_async_callback(agent.close)
        try:
            client = await parts.enter_async_context(
                AsyncClient(options.url, token=options.token, tenant=options.tenant, project=options.project)
            )
            conversation = Conversation(
                client, agent, options.user, options.memory_mode, options.planning_seconds, options.thread
            )
            await client.latest(conversation.id)
        except (AgentFeedbackError, ValueError) as error:
            _give_up(f"The platform at {options.url} cannot be used: {sentence(error)}")
        keyboard = Keyboard() if sys.stdin.isatty() else Pipe()
        await Chat(conversation, keyboard, TerminalScreen(Console())).run()


def _give_up(reason: str) -> NoReturn:
    sys.stderr.write(f"{reason}\n")
    sys.exit(NOT_STARTED)


def _account() -> str:
    """Return the operating system user's name, or `me` if there is none, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "me"


if __name__ == "__main__":
    # The chat shows the kit's warnings itself; log lines would overwrite the prompt.
    logging.getLogger("agent_feedback_kit").addHandler(logging.NullHandler())
    logging.getLogger("agent_feedback_kit").propagate = False
    asyncio.run(chat(options()))
