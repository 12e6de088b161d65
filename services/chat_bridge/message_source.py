"""Interface of message sources: servers that provide messages which the chat service did not publish."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from pydantic import ValidationError

from chat_bridge.model import MessageKey
from contracts.chat import OriginalMessage

Originals = Mapping[MessageKey, OriginalMessage]


class MessageSource(Protocol):
    async def fetch(self, keys: Collection[MessageKey]) -> Originals:
        """Fetch messages, and return those that were found. The result is keyed by message key.

        A message that is missing from the result may become available later. The call takes a bounded time. If the
        source fails, no error is raised, but the result lacks messages.
        """
        ...


class BadAnswer(Exception):
    """Raised if a message source's response is not `{"messages": [...]}`."""


def requests_for(keys: Iterable[MessageKey], most: int) -> list[tuple[str, str, Sequence[MessageKey]]]:
    """Group message keys into requests, each for the messages of a single project.

    Args:
        keys: Keys of the messages. Duplicates are removed.
        most: Maximum number of messages per request.

    Returns:
        The tenant, project and message keys of each request.
    """
    projects: dict[tuple[str, str], list[MessageKey]] = {}
    for key in sorted(set(keys)):
        projects.setdefault((key.tenant, key.project), []).append(key)
    return [
        (*project, asked[at : at + most]) for project, asked in projects.items() for at in range(0, len(asked), most)
    ]


def question(tenant: str, project: str, keys: Iterable[MessageKey]) -> dict[str, object]:
    """Return the JSON body of a request for messages.

    `message_ids` repeats the ids in `messages`, for servers whose message ids are unique within a project.
    """
    messages = [{"conversation_id": key.conversation_id, "message_id": key.message_id} for key in keys]
    ids = list(dict.fromkeys(message["message_id"] for message in messages))
    return {"tenant": tenant, "project": project, "message_ids": ids, "messages": messages}


def originals_in(answer: Any, asked: Collection[MessageKey]) -> dict[MessageKey, OriginalMessage]:
    """Return the requested messages in a response, by key.

    Invalid messages and messages that were not requested are skipped.

    Raises:
        BadAnswer: The response is malformed.
    """
    wanted = {(key.conversation_id, key.message_id): key for key in asked}
    match answer:
        case {"messages": list(messages)}:
            found = [one for message in messages if (one := _original(message)) is not None]
            named = {(one.conversation_id, one.message_id): one for one in found}
            return {wanted[name]: one for name, one in named.items() if name in wanted}
        case _:
            raise BadAnswer


def _original(message: Any) -> OriginalMessage | None:
    try:
        return OriginalMessage.model_validate(message, by_alias=True, by_name=False)
    except ValidationError:
        return None
