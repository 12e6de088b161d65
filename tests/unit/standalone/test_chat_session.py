"""A chat from its first line to its end, with a platform and a terminal in memory."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from agent_feedback_kit.client.calls import Call, ProjectPlace
from agent_feedback_kit.errors import NotFound, Unreachable
from agent_feedback_kit.sessions.ending import FAREWELL, PROMPT, SAVE_PROMPT
from agent_feedback_kit.timeline.model import Block, Timeline, Turn
from standalone.chat import conversation as conversation_module
from standalone.chat.agents import AgentFailed, Answer, ChatLine
from standalone.chat.commands import COMMANDS
from standalone.chat.conversation import Conversation, NoAnswerYet
from standalone.chat.session import Chat
from standalone.chat.terminal import YOU, Pipe, TerminalScreen
from standalone.cli import chat as chat_command
from standalone.cli.app import app
from tests.support.command import Ended
from tests.support.waits import PATIENCE_SECONDS

NOTHING = {"reaction": None, "text": None, "emoji": None}


class Platform:
    """Platform with the methods of the kit's client. Feedback is visible from the look number `delay` on."""

    def __init__(self) -> None:
        self.place = ProjectPlace("acme", "support")
        self.events: list[dict[str, Any]] = []
        self.detections: list[dict[str, Any]] = []
        self.ratings: list[tuple[Any, ...]] = []
        self.items: list[dict[str, Any]] = []
        self.own: dict[str, dict[str, Any]] = {}
        self.markdown: str | None = None
        self.error: Exception | None = None
        self.refusal: str | None = None
        self.delay, self.looks = 1, 0

    def _judged(self, turn: str, reaction: str | None, text: str | None = None) -> None:
        self.own[turn] = self.own.get(turn, NOTHING) | {"reaction": reaction, "text": text}
        self.items.append({
            "turn_id": turn, "turn_ts": None, "feedback_id": f"f-{turn}", "user_id": "ann", "text": text,
            "reaction": reaction, "confidence": 1.0, "origin": "user", "rn": "",
            "ts": "2026-01-01T10:00:00.000000Z", "recorded_at": f"2026-01-01T10:00:{len(self.items):02}.000000Z",
        })  # fmt: skip

    async def latest(self, *_: Any, **__: Any) -> dict[str, Any]:
        if self.error is not None:
            raise self.error
        return {"items": self.items, "watermark": None}

    async def send(self, call: Call[Any], within: float) -> dict[str, Any]:
        self.detections.append(json.loads(call.requests[0].body or b"") | {"budget": within})
        return {"planner_markdown": self.markdown}

    async def ingest(self, events: Sequence[dict[str, Any]]) -> dict[str, Any]:
        if self.error is not None:
            raise self.error
        if self.refusal is not None:
            return {"refused": [{"line": 1, "reason": "invalid_event", "detail": self.refusal}]}
        self.events += events
        for event in events:
            if "emoji" in event:
                turn = event["messageId"].removeprefix("c1-").removesuffix("-a")
                emoji = event["emoji"] if event["action"] == "added" else None
                self.own[turn] = self.own.get(turn, NOTHING) | {"emoji": emoji, "reaction": "ok" if emoji else None}
        return {"refused": []}

    async def submit_feedback(self, _: str, turn: str, reaction: str, *, text: str | None, user_id: str) -> None:
        if self.error is not None:
            raise self.error
        assert user_id == "ann"
        self._judged(turn, reaction, text)

    async def clear_feedback(self, _: str, turn: str, *, user_id: str) -> None:
        assert user_id == "ann"
        self._judged(turn, None)

    async def own_feedback(self, _: str, turn: str, *, user_id: str) -> dict[str, Any]:
        assert user_id == "ann"
        self.looks += 1
        held = self.own.get(turn, NOTHING)
        if self.looks >= self.delay:
            return held
        return NOTHING | {"reaction": "neutral" if held["reaction"] is None else None}

    async def end_session(self, *given: Any, **more: Any) -> None:
        self.ratings.append((*given, more["user_id"], more["memory_mode"], more["source"]))

    async def memory_status(self, conversation_id: str) -> dict[str, Any]:
        return {"thread_id": conversation_id, "session_feedback_count": len(self.ratings)}


class Parrot:
    """Agent that answers in turn with the given texts, or raises the given errors."""

    name = "parrot"

    def __init__(self, *answers: str | BaseException) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[list[ChatLine], str | None]] = []

    async def answer(self, history: Sequence[ChatLine], advice: str | None) -> Answer:
        self.asked.append((list(history), advice))
        answer = self._answers.pop(0) if self._answers else f"Answer {len(self.asked)}."
        if isinstance(answer, BaseException):
            raise answer
        return Answer(answer, "look_up", "m1")

    async def close(self) -> None:
        """Do nothing."""


class Lines:
    """Person who types the given lines; an error is raised, and a function is called for its line."""

    def __init__(self, *lines: str | BaseException | Callable[[], str]) -> None:
        self._lines = list(lines)
        self.questions: list[str] = []

    async def line(self, question: str) -> str:
        self.questions.append(question)
        line = self._lines.pop(0) if self._lines else EOFError()
        if isinstance(line, BaseException):
            raise line
        return line if isinstance(line, str) else line()


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Platform:
    monkeypatch.setattr(conversation_module, "_LOOK_SECONDS", 0)
    return Platform()


def talk(platform: Any, agent: Parrot | None = None, **more: Any) -> Conversation:
    return Conversation(platform, agent or Parrot(), "ann", id="c1", **{"planning_seconds": 20} | more)


def ways_of(chat: Conversation) -> list[Callable[[], Awaitable[None]]]:
    """Return the ways to give feedback on the last answer."""
    return [partial(chat.judge, "ok"), partial(chat.react, "😂"), chat.clear]


async def chatted(
    platform: Platform, *lines: str | BaseException | Callable[[], str], agent: Parrot | None = None, **more: Any
) -> list[str]:
    """Return the screen's lines after a chat with these lines of input."""
    out = StringIO()
    former = signal.getsignal(signal.SIGINT)
    try:
        await Chat(talk(platform, agent, **more), Lines(*lines), TerminalScreen(Console(file=out, width=70))).run()
    finally:
        signal.signal(signal.SIGINT, former)
    return out.getvalue().splitlines()


async def test_both_messages_of_an_exchange_are_published_and_remembered(platform: Platform) -> None:
    agent = Parrot("At nine.", "At ten.")
    chat = talk(platform, agent, thread_id="th")
    exchange = await chat.say("When do you open?")
    assert (exchange.answer.text, exchange.announcement, exchange.advice) == ("At nine.", None, None)
    assert exchange.published
    question, answer = platform.events
    place = {"tenant": "acme", "project": "support", "conversationId": "c1", "turnId": "turn-1", "threadId": "th"}
    for event in (question, answer):
        assert place.items() <= event.items()
    assert (question["messageId"], question["senderId"], question["senderType"], question["content"]) == (
        "c1-turn-1-q", "ann", "human", "When do you open?"
    )  # fmt: skip
    assert (answer["messageId"], answer["senderId"], answer["agentId"], answer["content"]) == (
        "c1-turn-1-a", "parrot", "parrot", "At nine."
    )  # fmt: skip
    assert (answer["strategy"], answer["model"]) == ("look_up", "m1")
    await chat.say("And on Sunday?")
    assert agent.asked[1] == (
        [ChatLine("user", "When do you open?"), ChatLine("assistant", "At nine."), ChatLine("user", "And on Sunday?")],
        None,
    )
    assert [turn.turn_id for turn in chat.timeline.turns] == ["turn-1", "turn-2"]
    assert [event["turnId"] for event in platform.events[2:]] == ["turn-2", "turn-2"]


async def test_the_platform_is_asked_about_the_answer_in_hand(platform: Platform) -> None:
    chat = talk(platform)
    await chat.say("When do you open?")
    await chat.say("No.")
    first, second = platform.detections
    assert "previous" not in first
    assert second["previous"] == {
        "message_id": "c1-turn-1-a", "turn_id": "turn-1", "agent_id": "parrot", "question": "When do you open?",
        "content": "Answer 1.", "strategy": "look_up",
    }  # fmt: skip
    assert (second["text"], second["turn_id"], second["user_id"], second["agent_id"], second["budget"]) == (
        "No.", "turn-2", "ann", "parrot", 20
    )  # fmt: skip
    assert "reply_to_message_id" not in second


async def test_feedback_and_advice_reach_the_agent_with_the_next_message(platform: Platform) -> None:
    agent = Parrot()
    chat = talk(platform, agent)
    await chat.say("When do you open?")
    await chat.judge("not_ok", "I meant Sundays")
    platform.markdown = "**Status:** REJECTED"
    exchange = await chat.say("And on Sunday?")
    assert exchange.announcement is not None and "I meant Sundays" in exchange.announcement
    assert exchange.advice == "**Status:** REJECTED"
    assert agent.asked[1][1] == f"{exchange.advice}\n\n{exchange.announcement}"
    assert (await chat.say("Thanks.")).announcement is None, "it is announced once"


async def test_a_reply_names_the_answer_that_it_is_about(platform: Platform) -> None:
    chat = talk(platform)
    for text in ("When do you open?", "How much is it?"):
        await chat.say(text)
    await chat.say("That's wrong.", "turn-1")
    assert platform.detections[-1]["reply_to_message_id"] == "c1-turn-1-a"
    assert platform.events[-2]["replyToMessageId"] == "c1-turn-1-a"
    assert all("replyToMessageId" not in event for event in (*platform.events[:4], platform.events[-1]))
    with pytest.raises(ValueError, match="there is no turn-9; /timeline lists the turns"):
        await chat.say("No.", "turn-9")
    assert len(platform.events) == 6


@pytest.mark.parametrize("failure", [{"error": Unreachable("no answer")}, {"refusal": "too old"}])
async def test_an_exchange_that_cannot_be_published_says_so(platform: Platform, failure: dict[str, Any]) -> None:
    vars(platform).update(failure)
    exchange = await talk(platform).say("Hello")
    assert (exchange.published, exchange.answer.text) == (False, "Answer 1.")


async def test_feedback_is_given_once_the_platform_returns_it(platform: Platform) -> None:
    chat = talk(platform)
    await chat.say("Hello")
    platform.delay = 4
    for give in ways_of(chat):
        platform.looks = 0
        await give()
        assert platform.looks == 4
    assert platform.own == {"turn-1": NOTHING}


async def test_feedback_that_does_not_appear_is_not_waited_for_without_end(platform: Platform) -> None:
    chat = talk(platform, planning_seconds=0.2)
    await chat.say("Hello")
    platform.delay = 10**9
    await chat.judge("ok")
    assert platform.looks > 1


async def test_emojis_are_added_and_cleared_with_the_feedback(platform: Platform) -> None:
    chat = talk(platform)
    await chat.say("Hello")
    for emoji in ("😂", ":heart:"):
        await chat.react(emoji)
    with pytest.raises(ValueError, match="it is not an emoji"):
        await chat.react("nope")
    await chat.clear()
    said = [(one["emoji"], one["action"], one["messageId"]) for one in platform.events if "emoji" in one]
    answer = "c1-turn-1-a"
    assert said == [
        ("😂", "added", answer), (":heart:", "added", answer), (":heart:", "removed", answer), ("😂", "removed", answer)
    ]  # fmt: skip
    count = len(platform.events)
    await chat.clear()
    assert len(platform.events) == count, "there are no emojis left"
    await chat.react("😂")
    await chat.say("Next")
    await chat.clear()
    assert [one for one in platform.events if one.get("action") == "removed"][2:] == [], "it is on an earlier answer"


async def test_an_emoji_that_the_platform_rejects_is_not_remembered(platform: Platform) -> None:
    chat = talk(platform)
    await chat.say("Hello")
    platform.refusal = "the emoji is unknown"
    with pytest.raises(ValueError, match="the emoji is unknown"):
        await chat.react("😂")
    assert chat.emojis == set()


async def test_there_is_nothing_to_judge_before_the_first_answer(platform: Platform) -> None:
    chat = talk(platform, Parrot(AgentFailed("it is down")))
    with pytest.raises(AgentFailed):
        await chat.say("Hello")
    assert (chat.history, platform.events) == ([], []), "the message is not part of the history"
    for give in ways_of(chat):
        with pytest.raises(NoAnswerYet):
            await give()


async def test_a_chat_shows_the_exchange_and_ends_with_a_rating(platform: Platform) -> None:
    platform.markdown = "**Status:** REJECTED"
    shown = await chatted(platform, "", "Hello", "/end", "y", agent=Parrot("At \x1b[2Jnine."), memory_mode="synced")
    assert shown[0] == "Conversation c1. Say something, or /help."
    assert shown[1].startswith("╭─ advice to the agent ")
    assert "**Status:** REJECTED" in shown[2]
    assert shown[4:] == ["parrot> At �[2Jnine.", "1 answers, feedback on 0 of them.", FAREWELL]
    assert platform.ratings == [("c1", "positive", "ann", "synced", "cli_end")]


async def test_a_chat_shows_new_feedback_and_counts_the_answers_with_feedback(platform: Platform) -> None:
    shown = await chatted(platform, "Hello", "/down too long", "Shorter?", "/up", "Thanks", "/end", "")
    assert sum("╭─ feedback received" in line for line in shown) == 2
    assert not any("advice" in line for line in shown)
    assert shown[2:3] == ["Noted: wrong."]
    assert shown[-2:] == ["3 answers, feedback on 2 of them.", FAREWELL]
    assert platform.own == {"turn-1": NOTHING | {"reaction": "not_ok", "text": "too long"},
                            "turn-2": NOTHING | {"reaction": "ok"}}  # fmt: skip
    assert platform.ratings == []


async def test_hidden_feedback_is_not_counted(platform: Platform) -> None:
    shown = await chatted(platform, "Hello", "/up", "/timeline", "/down", "/timeline", "/end", "")
    assert shown[-2] == "1 answers, feedback on 1 of them."


@pytest.mark.parametrize(
    ("lines", "ratings"),
    [
        (("/exit", "y", "n"), [("c1", "negative", "ann", "local", "cli_exit")]),
        (("/exit", "n"), []),
        ((EOFError(), "y", "s"), [("c1", "skip", "ann", "local", "cli_exit")]),
        ((KeyboardInterrupt(), KeyboardInterrupt()), []),
    ],
)
async def test_leaving_asks_if_the_session_is_saved(
    platform: Platform, lines: tuple[Any, ...], ratings: list[Any]
) -> None:
    typed = Lines(*lines)
    await Chat(talk(platform), typed, TerminalScreen(Console(file=StringIO()))).run()
    assert typed.questions[:2] == [YOU, f"{SAVE_PROMPT} "]
    assert typed.questions[2:] == [f"{PROMPT} "] * (len(lines) - 2)
    assert platform.ratings == ratings


async def test_each_command_says_what_it_did(platform: Platform) -> None:
    shown = await chatted(
        platform,
        "/timeline",
        "Hello",
        "/up",
        "/react 😂",
        "/clear",
        "/memory status",
        "/nope",
        "/end",
        "",
        agent=Parrot("Hi."),
    )
    assert shown[1:-2] == [
        "There are no messages yet.", "parrot> Hi.", "Noted: good.", "Noted: 😂", "Withdrawn.",
        "Memory mode local; stored ratings: 0.", "There is no /nope; /help lists the commands.",
    ]  # fmt: skip


async def test_a_reply_is_shown_like_a_message(platform: Platform) -> None:
    shown = await chatted(platform, "Hello", "/reply turn-1  That's wrong. ", "/reply turn-7 No", "/end", "")
    assert shown[1:4] == [
        "parrot> Answer 1.", "parrot> Answer 2.", "That was rejected: there is no turn-7; /timeline lists the turns."
    ]  # fmt: skip
    assert platform.events[2]["content"] == "That's wrong."
    assert platform.events[2]["replyToMessageId"] == "c1-turn-1-a"


async def test_errors_are_shown_and_the_chat_goes_on(platform: Platform) -> None:
    def fail(error: Exception, line: str) -> Callable[[], str]:
        def typed() -> str:
            platform.error = error
            return line

        return typed

    shown = await chatted(
        platform, "/up", "Lost", "Hello", fail(NotFound(404, "no turn"), "/up"),
        fail(Unreachable("no answer."), "/down"), "More", "/end", "",
        agent=Parrot(AgentFailed("the model's endpoint answers with status 500")),
    )  # fmt: skip
    assert shown[1:-2] == [
        "There is no answer to give feedback on yet.",
        "No answer: the model's endpoint answers with status 500.",
        "parrot> Answer 2.",
        "The platform does not know that answer: it was not published.",
        "The platform did not accept that: no answer.",
        "parrot> Answer 3.",
        "This exchange was not published: the platform does not accept it now.",
    ]


async def test_ctrl_c_cancels_an_answer_and_the_next_one_leaves(platform: Platform) -> None:
    class Slow(Parrot):
        async def answer(self, history: Sequence[ChatLine], advice: str | None) -> Answer:
            if len(self.asked) == 0:
                self.asked.append(([], None))
                signal.raise_signal(signal.SIGINT)
                await asyncio.Event().wait()
            return await super().answer(history, advice)

    def interrupted() -> str:
        signal.raise_signal(signal.SIGINT)
        return ""

    async with asyncio.timeout(PATIENCE_SECONDS):
        shown = await chatted(platform, "Hello?", "Again?", interrupted, "n", agent=Slow())
    assert shown[1:] == ["Cancelled.", "parrot> Answer 2.", FAREWELL]


def shown_by(show: Callable[[TerminalScreen], None], width: int = 70) -> str:
    out = StringIO()
    show(TerminalScreen(Console(file=out, width=width)))
    return out.getvalue()


def test_the_help_lists_every_command_with_its_meaning() -> None:
    lines = shown_by(TerminalScreen.help, 30).splitlines()
    assert [line.strip().partition("  ")[0] for line in lines] == list(COMMANDS)
    assert [line[line.index(meaning) :] for line, meaning in zip(lines, COMMANDS.values(), strict=True)] == list(
        COMMANDS.values()
    )
    assert len({line.index(meaning) for line, meaning in zip(lines, COMMANDS.values(), strict=True)}) == 1


def test_a_timeline_shows_its_blocks_except_hidden_ones() -> None:
    blocks = (
        Block("user", "p1", "When?"), Block("assistant", "p2", "At nine.\nOr ten."),
        Block("turn.feedback", "p3", "reaction: ok", hidden=True), Block("turn.feedback", "p4", "reaction: not_ok"),
    )  # fmt: skip
    text = shown_by(lambda screen: screen.timeline(Timeline((Turn("turn-1", blocks),))))
    assert text == "turn-1\n  user: When?\n  assistant: At nine.\n  Or ten.\n  reaction: not_ok\n"


def test_long_lines_are_left_to_the_terminal_and_texts_cannot_control_it() -> None:
    long = "a word " * 40 + "\x1b[2J"
    shown = "a word " * 40 + "�[2J"
    assert shown_by(lambda screen: screen.say(long)) == f"{shown}\n"
    assert shown_by(lambda screen: screen.answer("bot", long)) == f"bot> {shown}\n"
    assert "\x1b" not in shown_by(lambda screen: screen.panel("title", long))


async def test_lines_of_a_pipe_end_with_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO("Hello \n\nlast"))
    pipe = Pipe()
    assert [await pipe.line(YOU) for _ in range(3)] == ["Hello ", "", "last"]
    with pytest.raises(EOFError):
        await pipe.line(YOU)


class Kit(Platform):
    """Platform that is opened with the options of the kit's client; `error` is raised by the first request."""

    def opened(self, url: str, **options: Any) -> Kit:
        self.options = (url, options)
        return self

    async def __aenter__(self) -> Kit:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.options = ("closed", self.options[1])


def commanded(kit: Kit, *options: str, typed: str = "When do you open?\n/end\ny\n", **environment: str) -> Ended:
    """Run the command with a platform in memory and these lines of input."""
    former = signal.getsignal(signal.SIGINT)
    try:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("agent_feedback_kit.AsyncClient", kit.opened)
            patched.setattr("sys.stdin", StringIO(typed))
            patched.setattr("getpass.getuser", lambda: "ann")
            patched.setattr("servicekit.logging.configure_logging", lambda *_, **__: None)
            for name, value in environment.items():
                patched.setenv(name, value)
            shown = CliRunner().invoke(app, ["chat", *options], input=typed)
    finally:
        signal.signal(signal.SIGINT, former)
    return Ended(shown.exit_code, shown.stdout, shown.stderr)


URL = ("--url", "http://platform", "--token", "t0k3n")


def test_the_command_chats_as_the_user_of_the_system_with_a_scripted_agent() -> None:
    kit = Kit()
    ended = commanded(kit, *URL)
    assert ended.code == 0, ended.err
    assert "museum-guide> The museum opens at nine and closes at six." in ended.out
    assert kit.options == ("closed", {"token": "t0k3n", "tenant": "demo", "project": "chat"})
    assert [event["senderId"] for event in kit.events] == ["ann", "museum-guide"]
    assert kit.detections[0]["budget"] == 1
    assert [rating[1:] for rating in kit.ratings] == [("positive", "ann", "local", "cli_end")]
    assert "threadId" not in kit.events[0]


def test_the_command_passes_its_options_on() -> None:
    kit = Kit()
    place = ("--tenant", "acme", "--project", "support", "--user", "eve", "--thread", "th")
    ended = commanded(kit, *URL, *place, "--memory-mode", "synced", "--planning-seconds", "3", typed="/end\ny\n")
    assert ended.code == 0, ended.err
    assert kit.options[1] == {"token": "t0k3n", "tenant": "acme", "project": "support"}
    assert [rating[1:] for rating in kit.ratings] == [("positive", "eve", "synced", "cli_end")]


def test_without_a_name_the_user_of_the_system_is_me(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> str:
        raise KeyError("uid")

    monkeypatch.setattr("getpass.getuser", fails)
    assert chat_command._account() == "me"


@pytest.mark.parametrize("error", [Unreachable("no answer"), ValueError("the URL is wrong.")])
def test_a_platform_that_cannot_be_used_is_told_before_the_chat(error: Exception) -> None:
    kit = Kit()
    kit.error = error
    ended = commanded(kit, *URL)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err == f"The platform at http://platform cannot be used: {str(error).rstrip('.')}.\n"
