"""Agents for the chat: scripted answers, or a language model at an OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import httpx

from agent_feedback_kit.json_text import json_bytes, replace_surrogates

ANSWER_LIMIT: Final = 256 * 1024
"""Maximum size of an endpoint's response, in bytes."""
_HISTORY: Final = 40


@dataclass(frozen=True, slots=True)
class ChatLine:
    """A chat message."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An agent's answer, with the strategy that produced it."""

    text: str
    strategy: str
    model: str | None = None


class AgentFailed(Exception):
    """Raised if the agent does not answer.

    The message gives the reason and contains neither the API key nor the user's text.
    """


class Agent(Protocol):
    @property
    def name(self) -> str: ...

    async def answer(self, history: Sequence[ChatLine], advice: str | None) -> Answer:
        """Answer the last message in `history`.

        Args:
            advice: Markdown about feedback on earlier answers, or None.

        Raises:
            AgentFailed: There is no usable answer.
        """
        ...

    async def close(self) -> None: ...


_SCRIPT: Final[Sequence[tuple[frozenset[str], str]]] = (
    (frozenset({"sunday", "weekend"}), "On Sundays the museum opens at ten and closes at six."),
    (frozenset({"open", "hours", "close", "when"}), "The museum opens at nine and closes at six."),
    (frozenset({"ticket", "price", "cost", "student", "much"}), "A ticket is 12 euros; students pay half."),
    (frozenset({"where", "way", "get"}), "It is at Old Harbour 4, five minutes from the central station."),
    (frozenset({"thanks", "thank", "great"}), "You are welcome."),
)


class ScriptedAgent:
    """Museum guide with a few scripted answers, which works offline.

    If `advice` reports a rejection, the guide asks what the user wants to know.
    """

    name = "museum-guide"

    async def answer(self, history: Sequence[ChatLine], advice: str | None) -> Answer:
        words = {word.strip(".,!?'\"").lower() for word in history[-1].text.split()}
        if advice and "**Status:** REJECTED" in advice:
            return Answer("I am sorry that was not right. What exactly would you like to know?", "ask_back")
        for keys, text in _SCRIPT:
            if words & keys:
                return Answer(text, "look_up")
        return Answer("I know the opening hours, the prices and the way to the museum.", "say_what_i_know")

    async def close(self) -> None:
        """Do nothing, because no connection is open."""


class OpenAiAgent:
    """Language model at an OpenAI-compatible endpoint.

    Args:
        url: Base URL, to which `/chat/completions` is appended.
        key: Bearer token, or None.
        seconds: Time limit for a whole answer.
    """

    def __init__(self, url: str, model: str, key: str | None, seconds: float) -> None:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self.name = model
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._seconds = seconds
        self._http = httpx.AsyncClient(headers=headers, timeout=seconds)

    async def answer(self, history: Sequence[ChatLine], advice: str | None) -> Answer:
        system = "You are a helpful assistant." + (f"\n\n{advice}" if advice else "")
        messages = [{"role": "system", "content": system}]
        messages += [{"role": line.role, "content": line.text} for line in history[-_HISTORY:]]
        body = {"model": self.name, "messages": messages}
        try:
            async with (
                asyncio.timeout(self._seconds),  # httpx's timeout applies to each read, not to the whole answer
                self._http.stream("POST", self._url, content=json_bytes(body)) as response,
            ):
                if response.status_code != 200:
                    raise AgentFailed(f"the model's endpoint answers with status {response.status_code}")
                raw = bytearray()
                async for part in response.aiter_bytes():
                    raw += part
                    if len(raw) > ANSWER_LIMIT:
                        raise AgentFailed("the model's answer is too long")
            text = json.loads(raw)["choices"][0]["message"]["content"]
        except (TimeoutError, httpx.TimeoutException):
            raise AgentFailed(f"the model's endpoint gave no answer within {self._seconds:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise AgentFailed(f"the model's endpoint does not answer ({type(error).__name__})") from None
        except (ValueError, KeyError, IndexError, TypeError, RecursionError):
            text = None
        if not isinstance(text, str) or not text.strip():
            raise AgentFailed("the model's answer contains no text")
        return Answer(replace_surrogates(text.strip()), "chat_completion", self.name)

    async def close(self) -> None:
        await self._http.aclose()
