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


@pytest.mark.parametrize(
    "line", ["/", "/nope", "/react", "/reply", "/reply turn-1", "/memory", "/memory wipe", "/up really", "/end now"]
)
def test_what_is_no_command_gets_a_hint(line: str) -> None:
    assert isinstance(read_line(line), Unknown)


def test_every_command_of_the_help_is_read() -> None:
    for shown in COMMANDS:
        line = shown.replace("EMOJI", "😂").replace("[why]", "because").replace("TURN TEXT", "turn-1 No")
        assert isinstance(read_line(line), Command)


async def test_the_scripted_agent_asks_back_once_it_is_told() -> None:
    agent = ScriptedAgent()
    asked = [ChatLine("user", "When do you open?")]
    assert (await agent.answer(asked, None)).text == "The museum opens at nine and closes at six."
    assert (await agent.answer(asked, "**Status:** REJECTED")).strategy == "ask_back"
    assert (await agent.answer([ChatLine("user", "xyz")], None)).strategy == "say_what_i_know"


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


@pytest.mark.parametrize(
    "found", [b"", response(b"no json"), response(b"{}"), completion(""), completion(None), response(b"x", 500)]
)
async def test_a_model_that_fails_says_so_in_a_sentence(found: bytes) -> None:
    async with llm_server() as server:
        server.respond = lambda _: found
        agent = OpenAiAgent(server.url, "some-model", "secret-key", 5)
        with pytest.raises(AgentFailed) as caught:
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
