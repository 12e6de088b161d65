"""The example chat in a pseudo-terminal, with all services in one process."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pexpect
import pytest
import pytest_asyncio

import agent_feedback_kit as kit
from agent_feedback_kit.sessions.ending import FAREWELL
from agent_feedback_kit.sessions.record import opaque
from tests.support.command import HANG_SECONDS
from tests.support.llm_server import completion, llm_server
from tests.support.running_stack import RunningStack
from tests.support.served import nowhere, served

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>()][B0]?|[\x00-\x09\x0b-\x1f]")
TERM = {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40", "PROMPT_TOOLKIT_NO_CPR": "1"}
ROOT = Path(__file__).parents[2]
PATIENT = ("--planning-seconds", "20")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def url(stack: RunningStack) -> AsyncIterator[str]:
    async with served(stack.app()) as address:
        yield address


class Terminal:
    """User at a terminal. Reading runs in threads, because the platform shares this event loop."""

    def __init__(self, url: str, *options: str) -> None:
        arguments = ["-m", "examples.chat", "--url", url, "--token", "all", "--user", "ann", *PATIENT, *options]
        self._child = pexpect.spawn(
            sys.executable,
            arguments,
            env={**os.environ, **TERM},
            encoding="utf-8",
            timeout=60,
            dimensions=(40, 100),
            cwd=ROOT,
        )
        self.seen = ""

    async def sees(self, text: str) -> str:
        """Return the output from the last call up to and including `text`."""
        try:
            await asyncio.to_thread(self._child.expect_exact, text)
        except (pexpect.TIMEOUT, pexpect.EOF):
            raise AssertionError(
                f"never saw {text!r}; saw {ESCAPES.sub('', self.seen + (self._child.before or ''))}"
            ) from None
        shown = ESCAPES.sub("", self._child.before + self._child.after)
        self.seen += shown
        return shown

    async def ready(self) -> None:
        await self.sees("you>")

    async def types(self, line: str, *, sees: str) -> str:
        """Type a line at the prompt, and wait for its output and the next prompt."""
        self._child.send(f"{line}\r")
        shown = await self.sees(sees)
        await self.ready()
        return shown

    def presses(self, keys: str) -> None:
        self._child.send(keys)

    def interrupt(self) -> None:
        self._child.kill(signal.SIGINT)

    async def ends(self) -> int:
        await asyncio.to_thread(self._child.expect, pexpect.EOF)
        self.seen += ESCAPES.sub("", self._child.before or "")
        await asyncio.to_thread(self._child.close)
        assert self._child.exitstatus is not None, f"ended by signal {self._child.signalstatus}"
        return int(self._child.exitstatus)

    @property
    def conversation(self) -> str:
        return str(re.findall(r"Conversation (chat-[0-9a-f]+)", self.seen)[0])


def client(url: str) -> kit.AsyncClient:
    return kit.AsyncClient(url, token="all", tenant="demo", project="chat")


async def test_a_conversation_with_its_feedback(stack: RunningStack, url: str) -> None:
    person = Terminal(url)
    await person.ready()
    await person.types("/up", sees="There is no answer to give feedback on yet.")
    await person.types("/nope", sees="/help lists the commands")
    await person.types("/help", sees="/memory status")
    await person.types("When do you open?", sees="The museum opens at nine")
    await person.types("/down I meant Sundays", sees="Noted: wrong.")
    shown = await person.types("And on Sunday?", sees="I am sorry that was not right.")
    assert "[NEW USER FEEDBACKS]" in shown
    assert "(incorporated into turn timeline)" in shown
    assert "I meant Sundays" in shown
    await person.types("/react nope", sees="it is not an emoji")
    await person.types("/react 😂", sees="Noted: ")
    await person.types("/timeline", sees="reaction: ok")
    async with client(url) as platform:
        first = await platform.own_feedback(person.conversation, "turn-1", user_id="ann")
        assert (first["reaction"], first["text"]) == ("not_ok", "I meant Sundays")
        assert (await platform.own_feedback(person.conversation, "turn-2", user_id="ann"))["emoji"] == "😂"
        await person.types("/clear", sees="Withdrawn.")
        assert (await platform.own_feedback(person.conversation, "turn-2", user_id="ann"))["reaction"] is None
        await person.types("/memory status", sees="session feedback records: 0")
        person.presses("/end\r")
        await person.sees("did today feel helpful? [y/n/s] (or Enter to skip without recording)")
        person.presses("y\r")
        await person.sees(FAREWELL)
        assert await person.ends() == 0
        assert (await platform.memory_status(person.conversation))["session_feedback_count"] == 1


async def test_a_rejection_in_words_reaches_the_agent(stack: RunningStack, url: str) -> None:
    person = Terminal(url)
    await person.ready()
    await person.types("When do you open?", sees="The museum opens at nine")
    await stack.quiet()
    shown = await person.types("No, that is wrong. I asked about the garden.", sees="I am sorry that was not right.")
    assert "advice to the agent" in shown
    person.presses("/exit\r")
    await person.sees("Save this session before you go? [Y/n]")
    person.presses("n\r")
    await person.sees(FAREWELL)
    assert await person.ends() == 0
    async with client(url) as platform:
        assert (await platform.memory_status(person.conversation))["session_feedback_count"] == 0


@pytest.mark.parametrize("key", ["\x03", "\x04"], ids=["Ctrl-C", "end of input"])
async def test_leaving_by_a_key_records_nothing(url: str, key: str) -> None:
    person = Terminal(url)
    await person.ready()
    person.presses(key)
    await person.sees("Save this session before you go?")
    person.presses(key)
    await person.sees(FAREWELL)
    assert await person.ends() == 0
    person = Terminal(url)
    await person.ready()
    await person.types("half a thought\x03/help", sees="/memory status")
    person.presses("/end\r")
    await person.sees("did today feel helpful?")
    person.presses(key)
    await person.sees(FAREWELL)
    assert await person.ends() == 0
    async with client(url) as platform:
        assert (await platform.memory_status(person.conversation))["session_feedback_count"] == 0


async def test_ctrl_c_gives_up_an_answer_and_the_chat_goes_on(url: str) -> None:
    async with llm_server() as model:
        model.released.clear()
        model.respond = lambda _: completion("At last.\x1b]0;taken over\x07 [bold]plain[/bold]")
        person = Terminal(url, "--model-url", model.url, "--model", "slow-model")
        await person.ready()
        person.presses("Hello?\r")
        async with asyncio.timeout(30):
            while not model.asked:
                await asyncio.sleep(0.02)
        person.interrupt()
        await person.sees("Cancelled.")
        await person.ready()
        model.released.set()
        await person.types("Hello again?", sees="[bold]plain[/bold]")
        assert "\x1b]0;" not in person.seen
        person.presses("\x04")
        await person.sees("Save this session")
        person.presses("\x04")
        assert await person.ends() == 0


async def test_what_cannot_be_published_is_said_and_the_chat_goes_on(stack: RunningStack) -> None:
    async with served(stack.app()) as url:
        person = Terminal(url)
        await person.ready()
        await person.types("When do you open?", sees="The museum opens at nine")
    await person.types("And the price?", sees="This exchange was not published")
    await person.types("/up", sees="The platform did not accept that")
    person.presses("/end\r")
    await person.sees("did today feel helpful?")
    person.presses("y\r")
    await person.sees(FAREWELL)
    assert await person.ends() == 0


async def test_lines_may_come_through_a_pipe(stack: RunningStack, url: str) -> None:
    said = await piped(url, b"When do you open?\n/up\n/end\ns\n")
    assert "museum-guide> The museum opens at nine" in said
    assert "Noted: good." in said and FAREWELL in said
    assert await source_of_rating(stack, said) == "cli_end"
    said = await piped(url, b"When do you open?\xff\n/down \xff\n")
    assert "Noted: wrong." in said and FAREWELL in said
    said = await piped(url, b"When do you open?\n/exit\ny\ny\n")
    assert await source_of_rating(stack, said) == "cli_exit"


async def test_a_reply_and_a_thread_reach_planner_and_platform(stack: RunningStack, url: str) -> None:
    lines = b"When do you open?\nWhat does a ticket cost?\n/reply turn-1 That's wrong.\n/reply turn-9 No.\n/end\n\n"
    said = await piped(url, lines, "--thread", "th")
    assert "detected that Turn turn-1 was rejected" in said, said
    assert "there is no turn-9" in said
    [conversation] = re.findall(r"Conversation (chat-\w+)\.", said)
    await stack.quiet()
    async with kit.AsyncClient(url, token="all", tenant="demo", project="chat") as client:
        [found] = (await client.search(conversation_id=conversation))["items"]
    assert (found["turn_id"], found["reaction"], found["origin"]) == ("turn-1", "not_ok", "machine")
    connection = await asyncpg.connect(stack.database_url)
    try:
        query = "select distinct thread from inference.messages where conversation_id = $1"
        assert [row["thread"] for row in await connection.fetch(query, conversation)] == ["th"]
    finally:
        await connection.close()


async def source_of_rating(stack: RunningStack, said: str) -> str:
    [conversation] = re.findall(r"Conversation (chat-\w+)\.", said)
    connection = await asyncpg.connect(stack.database_url)
    try:
        query = "select source from feedback.session_feedback where session_id_opaque = $1"
        return str(await connection.fetchval(query, opaque(conversation)))
    finally:
        await connection.close()


async def piped(url: str, lines: bytes, *options: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "examples.chat", "--url", url, "--token", "all", "--user", "ann", *PATIENT, *options),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    out, err = await asyncio.wait_for(process.communicate(lines), HANG_SECONDS)
    assert process.returncode == 0, err.decode()
    assert "Traceback" not in err.decode()
    return out.decode()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--url", nowhere(), "--token", "t"), "cannot be used: no answer"),
        (("--url", "nonsense", "--token", "t"), "the URL must be like"),
        (("--state", "/nonexistent"), "Nothing runs on"),
    ],
)
async def test_without_a_platform_it_does_not_start(options: Any, sentence: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "examples.chat", *options),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _, err = await asyncio.wait_for(process.communicate(), HANG_SECONDS)
    assert process.returncode == 3
    assert sentence in " ".join(err.decode().replace("│", "").split())
    assert "Traceback" not in err.decode()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--model", "m"), "belong together"),
        (("--model", "m", "--model-url", "localhost:11434"), "must begin with http"),
        (("--model", "m", "--model-url", "http://localhost", "--model-key", "ключ"), "cannot occur in a key"),
    ],
)
def test_options_that_cannot_be_meant(options: Any, sentence: str) -> None:
    ended = subprocess.run(
        (sys.executable, "-m", "examples.chat", *options), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert sentence in " ".join(ended.stderr.split())
