"""The example chat in a pseudo-terminal, with all services in one process."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pexpect
import pytest_asyncio

import agent_feedback_kit as kit
from agent_feedback_kit.sessions.ending import FAREWELL
from tests.support.running_stack import RunningStack, message, reaction, reply
from tests.support.served import served

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


# Two threads in one channel, as Slack names them, are separate conversations from the chat to the reports.

BASE = "/conversations/acme/support"


def said(name: str, minute: int, content: str, thread: str | None, **fields: Any) -> Any:
    """Return a message of a thread, which replies to the thread's root as in Slack and Teams."""
    place = {"threadId": thread, "replyToMessageId": thread} if thread not in (None, name) else {}
    at = f"2026-01-03T10:{minute:02}:00Z"
    return message(name, "channel", turn=None, content=content, occurredAt=at, **place, **fields)


def two_threads() -> Sequence[Any]:
    """Return the messages of two threads: r1 about trams, r2 about plants; each answer of r2 follows one of r1."""
    return [
        said("r1", 0, "Which tram goes to the zoo?", None, senderId="eva"),
        said("r2", 1, "Who waters the plants in August?", None, senderId="kai"),
        said("a1", 2, "Tram 4 goes to the zoo.", "r1", agent="bot"),
        said("a2", 3, "Kim waters the plants.", "r2", agent="bot"),
        said("q1", 4, "That's wrong", "r1", senderId="eva"),
        said("q2", 5, "Thanks, perfect!", "r2", senderId="kai"),
        said("a3", 6, "Sorry: tram 9 goes to the zoo.", "r1", agent="bot"),
    ]


async def kto_rows(stack: RunningStack) -> dict[str, Any]:
    async with stack.client() as http:
        answer = await http.get(f"{BASE}/exports/kto?everyone=true")
    assert answer.status_code == 200, answer.text
    rows = [json.loads(line) for line in answer.text.splitlines()]
    return {row["turn_id"]: row for row in rows if row["conversation_id"] == "channel"}


async def test_verdicts_planner_and_training_rows_keep_threads_apart(stack: RunningStack) -> None:
    await stack.publish(*two_threads())
    await stack.quiet()
    async with stack.client() as http:
        found = await http.post(f"{BASE}/feedback/search", json={"conversation_id": "channel", "origin": "machine"})
        here = {"message_id": "q9", "ts": "2026-01-03T10:09:00Z"}
        body = {"text": "That is still wrong", "thread_id": "r1", "reply_to_message_id": "r1", "user_id": "eva", **here}
        kai = {"thread_id": "r2", "reply_to_message_id": "r2", "user_id": "kai"}
        tram = (await http.post(f"{BASE}/channel/detect", json=body)).json()
        plants = (await http.post(f"{BASE}/channel/detect", json={**body, **kai})).json()
        channel = (await http.post(f"{BASE}/channel/detect", json={"text": "That's wrong", **here})).json()
    assert {item["turn_id"]: item["reaction"] for item in found.json()["items"]} == {"a1": "not_ok", "a2": "ok"}
    assert (tram["target"]["turn_id"], tram["target"]["rule"], tram["rejections_in_a_row"]) == ("a3", "thread", 2)
    assert "be more careful" in tram["planner_markdown"]
    assert "tram 9" in tram["planner_markdown"]
    assert "plants" not in tram["planner_markdown"]
    assert plants["target"]["turn_id"] == "a2"
    assert channel["target"] is None, "no agent has spoken outside of the threads"
    rows = await kto_rows(stack)
    assert {turn: row["label"] for turn, row in rows.items()} == {"a1": False, "a2": True}
    assert [one["content"] for one in rows["a1"]["prompt"]] == ["Which tram goes to the zoo?"]
    assert [one["content"] for one in rows["a2"]["prompt"]] == ["Who waters the plants in August?"]


async def test_a_root_that_comes_late_has_its_thread_judged_again(stack: RunningStack) -> None:
    late, *early = [
        {**one, "conversationId": "late"} for one in two_threads() if one["messageId"] in ("r1", "a1", "q1")
    ]
    await stack.publish(*early)
    await stack.quiet()
    await stack.publish(late)
    await stack.quiet()
    [row] = await stack.rows("select user_text from inference.turns where conversation_id = 'late' and turn_id = 'a1'")
    assert row["user_text"] == "Which tram goes to the zoo?"


# Messages of one time are in the order of the log.

NO = "No, that's wrong."


Said = tuple[str, str | None, str]


SECOND = "2026-01-01T10:00:02.000Z"


def chat(conversation: str, *said: Said) -> list[Any]:
    """Return an exchange, and messages of a later instant, each with its id, the id it replies to, and content."""
    events = [
        message("1-question", conversation, occurredAt="2026-01-01T10:00:00.000Z"),
        message("1-answer", conversation, agent="bot", occurredAt="2026-01-01T10:00:01.000Z"),
    ]
    for name, about, content in said:
        agent = "bot" if "answer" in name else None
        replies = {"replyToMessageId": about} if about else {}
        events.append(message(name, conversation, agent=agent, occurredAt=SECOND, content=content, **replies))
    return events


async def rejected(stack: RunningStack, conversation: str) -> list[str]:
    """Return the turns of the conversation that the machine found rejected."""
    async with stack.client() as http:
        found = await http.post(f"{BASE}/feedback/search", json={"conversation_id": conversation, "origin": "machine"})
    assert found.status_code == 200, found.text
    return [item["turn_id"] for item in found.json()["items"] if item["reaction"] == "not_ok"]


async def test_a_rejection_hits_the_answer_before_it(stack: RunningStack) -> None:
    its_own: list[Said] = [("2-question", None, NO), ("2-answer", "2-question", "Sorry: it opens at ten.")]
    after_it: list[Said] = [("2-rejection", "3-answer", NO), ("3-answer", None, "It closes at six.")]
    no_replies: list[Said] = [("2-question", None, NO), ("2-answer", None, "Sorry: it opens at ten.")]
    for conversation, said in {"its-own": its_own, "after-it": after_it, "no-replies": no_replies}.items():
        for event in chat(conversation, *said):
            await stack.publish(event)
    await stack.quiet()
    assert await rejected(stack, "its-own") == ["1-answer"]
    assert await rejected(stack, "after-it") == [], "it replies to an answer that the log has after it"
    assert await rejected(stack, "no-replies") == ["1-answer"]
    asked = {"text": NO, "ts": SECOND, "user_id": "ann"}
    async with stack.client() as http:
        known = await http.post(f"{BASE}/its-own/detect", json={**asked, "message_id": "2-question"})
        unlogged = await http.post(f"{BASE}/no-replies/detect", json={**asked, "message_id": "2-other"})
    assert known.json()["target"]["turn_id"] == "1-answer"
    assert unlogged.json()["target"]["turn_id"] == "2-answer"


# Message references: ids shared by several conversations, and messages sent as replies.


def named_text(name: str, conversation: str, second: int, content: str, **fields: Any) -> Any:
    at = f"2026-01-01T10:00:{second:02}Z"
    return message(name, conversation, content=content, occurredAt=at, **fields)


async def turns_of(stack: RunningStack, conversation: str) -> dict[str, Any]:
    """Return the conversation's turns with their feedback, by turn."""
    await stack.quiet()
    async with stack.client() as http:
        answer = await http.post(f"{BASE}/{conversation}/turns-with-feedbacks", json={"turn_ids": None})
    assert answer.status_code == 200, answer.text
    return {turn["turn_id"]: turn for turn in answer.json()["turns"]}


async def machine_verdicts(stack: RunningStack, conversation: str) -> list[tuple[str, str]]:
    turns = await turns_of(stack, conversation)
    return [
        (turn, one["reaction"])
        for turn, shown in turns.items()
        for one in shown["feedbacks"]
        if one["origin"] == "machine"
    ]


async def test_a_rejection_that_comes_only_as_a_reply_event_is_one(stack: RunningStack) -> None:
    question, answer = (
        named_text("r-q", "c-reply", 1, "Is the train on time?"),
        named_text("r-a", "c-reply", 2, "Yes, it runs.", agent="bot"),
    )
    shown = named_text("r-n", "c-reply", 3, "That's wrong, it was cancelled.")
    await stack.publish(question, answer, reply(shown, "r-a"))
    assert await machine_verdicts(stack, "c-reply") == [("r-a", "not_ok")]
    await stack.publish(shown, reply(shown, "r-a"))
    assert await machine_verdicts(stack, "c-reply") == [("r-a", "not_ok")]


async def test_an_answer_that_comes_only_as_a_reply_event_can_be_judged(stack: RunningStack) -> None:
    question = named_text("q-1", "c-answered", 1, "When does it open?")
    answer = named_text("a-1", "c-answered", 2, "At nine.", agent="bot")
    await stack.publish(question, reply(answer, "q-1"), reaction("a-1", "c-answered", "👍"))
    async with stack.client("ann") as http:
        given = await http.post(f"{BASE}/c-answered/turns/a-1/feedback", json={"reaction": "not_ok"})
    assert given.status_code == 202, given.text
    turn = (await turns_of(stack, "c-answered"))["a-1"]
    assert (turn["assistant"]["text"], [one["reaction"] for one in turn["feedbacks"]]) == ("At nine.", ["not_ok"])
