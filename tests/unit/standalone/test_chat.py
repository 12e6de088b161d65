"""Commands typed in the chat, and the agents' answers."""

from __future__ import annotations

from typing import Any

import pytest

from standalone.chat.agents import AgentFailed, ChatLine, OpenAiAgent, ScriptedAgent
from standalone.chat.commands import COMMANDS, Command, SentMessage, Unknown, read_line
from tests.support.llm_server import completion, llm_server, response
from tests.support.served import answering, silent, trickling


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("", None),
        ("   ", None),
        (" Hello ", SentMessage("Hello")),
        ("//etc is a folder", SentMessage("/etc is a folder")),
        ("/up", Command("/up")),
        ("/UP ", Command("/up")),
        ("/down", Command("/down")),
        ("/down  out of date ", Command("/down", "out of date")),
        ("/react 😂", Command("/react", "😂")),
        ("/reply turn-1  That's wrong ", Command("/reply", "turn-1  That's wrong")),
        ("/memory status", Command("/memory", "status")),
        ("/memory  STATUS", Command("/memory", "STATUS")),
        ("/exit", Command("/exit")),
    ],
)
def test_a_line_is_a_message_or_a_command(line: str, meaning: object) -> None:
    assert read_line(line) == meaning


REACT = "Which emoji? For example /react 😂."
REPLY = "Which answer, and what? For example /reply turn-1 That's wrong."


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("/", "There is no /; /help lists the commands."),
        ("/nope now", "There is no /nope; /help lists the commands."),
        ("/react", REACT),
        ("/reply", REPLY),
        ("/reply turn-1", REPLY),
        ("/memory", "Type /memory status."),
        ("/memory wipe", "Type /memory status."),
        ("/up really", "/up takes no argument."),
        ("/end now", "/end takes no argument."),
    ],
)
def test_what_is_no_command_gets_a_hint(line: str, hint: str) -> None:
    assert read_line(line) == Unknown(hint)


def test_every_command_of_the_help_is_read() -> None:
    for shown in COMMANDS:
        line = shown.replace("EMOJI", "😂").replace("[why]", "because").replace("TURN TEXT", "turn-1 No")
        assert isinstance(read_line(line), Command)


async def test_the_scripted_agent_asks_back_once_it_is_told() -> None:
    agent = ScriptedAgent()
    asked = [ChatLine("user", "When do you open?")]
    assert (await agent.answer(asked, None)).text == "The museum opens at nine and closes at six."
    assert (await agent.answer(asked, "**Status:** REJECTED")).strategy == "ask_back"
    assert (await agent.answer(asked, "**Status:** ACCEPTED")).strategy == "look_up"
    assert (await agent.answer([ChatLine("user", "xyz")], None)).strategy == "say_what_i_know"


@pytest.mark.parametrize(
    ("question", "word"),
    [("Open on SUNDAY?", "ten"), ("The price?", "euros"), ("'Where' is it?", "Harbour"), ("Great!", "welcome")],
)
async def test_the_scripted_agent_answers_the_last_message(question: str, word: str) -> None:
    history = [ChatLine("user", "When do you open?"), ChatLine("assistant", "At nine."), ChatLine("user", question)]
    assert word in (await ScriptedAgent().answer(history, None)).text


async def test_a_model_is_asked_with_the_history_and_what_was_said() -> None:
    async with llm_server() as server:
        server.respond = lambda _: completion("  At nine. ")
        agent = OpenAiAgent(server.url, "some-model", "key", 5)
        answer = await agent.answer(
            [ChatLine("user", "When?"), ChatLine("assistant", "Now."), ChatLine("user", "No.")], "Be careful."
        )
        await agent.close()
    assert (answer.text, answer.model) == ("At nine.", "some-model")
    [request] = server.asked
    assert "Be careful." in request["messages"][0]["content"]
    assert [message["role"] for message in request["messages"]] == ["system", "user", "assistant", "user"]
    assert server.authorizations == {"Bearer key"}


async def test_a_model_is_asked_with_the_last_forty_messages() -> None:
    async with llm_server() as server:
        server.respond = lambda _: completion("Yes.")
        agent = OpenAiAgent(f"{server.url}/", "some-model", None, 5)
        await agent.answer([ChatLine("user", str(number)) for number in range(50)], None)
        await agent.close()
        with pytest.raises(RuntimeError, match="closed"):
            await agent.answer([ChatLine("user", "More?")], None)
    [request] = server.asked
    system, *messages = request["messages"]
    assert system == {"role": "system", "content": "You are a helpful assistant."}
    assert [message["content"] for message in messages] == [str(number) for number in range(10, 50)]
    assert server.authorizations == {None}


@pytest.mark.parametrize(("extra", "is_taken"), [(0, True), (1, False)])
async def test_an_answer_of_a_model_has_at_most_256_kib(extra: int, is_taken: bool) -> None:
    body = b'{"choices": [{"message": {"content": "Yes."}}]}'
    async with llm_server() as server:
        server.respond = lambda _: response(body.ljust(256 * 1024 + extra))
        agent = OpenAiAgent(server.url, "some-model", None, 5)
        if is_taken:
            assert (await agent.answer([ChatLine("user", "Hello?")], None)).text == "Yes."
        else:
            with pytest.raises(AgentFailed, match=r"^the model's answer is too long$"):
                await agent.answer([ChatLine("user", "Hello?")], None)
        await agent.close()


NO_TEXT = "the model's answer contains no text"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (b"", r"the model's endpoint does not answer \(\w+\)"),
        (response(b"no json"), NO_TEXT),
        (response(b"{}"), NO_TEXT),
        (completion(" "), NO_TEXT),
        (completion(None), NO_TEXT),
        (response(b"x", 500), "the model's endpoint answers with status 500"),
    ],
)
async def test_a_model_that_fails_says_so_in_a_sentence(found: bytes, said: str) -> None:
    async with llm_server() as server:
        server.respond = lambda _: found
        agent = OpenAiAgent(server.url, "some-model", "secret-key", 5)
        with pytest.raises(AgentFailed, match=f"^{said}$") as caught:
            await agent.answer([ChatLine("user", "private words")], None)
        await agent.close()
    assert "secret-key" not in str(caught.value) and "private" not in str(caught.value)


async def test_half_a_character_of_an_answer_is_replaced() -> None:
    async with llm_server() as server:
        server.respond = lambda _: response(b'{"choices": [{"message": {"content": "cut \\ud83d"}}]}')
        agent = OpenAiAgent(server.url, "some-model", None, 5)
        answer = await agent.answer([ChatLine("user", "half \udcff")], None)
        await agent.close()
    assert answer.text == "cut \N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("server", [silent, trickling])
async def test_a_model_that_never_ends_is_given_up(server: Any) -> None:
    async with answering(server) as url:
        agent = OpenAiAgent(url, "some-model", None, 0.5)
        with pytest.raises(AgentFailed, match=r"within 0\.5 s"):
            await agent.answer([ChatLine("user", "Hello?")], None)
        await agent.close()
