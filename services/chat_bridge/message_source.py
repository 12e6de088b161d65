"""Interface of a message source, which returns missing originals if a chat service does not publish all messages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from pydantic import ValidationError

from chat_bridge.model import MessageKey
from contracts.chat import OriginalMessage

Originals = Mapping[MessageKey, OriginalMessage]


class MessageSource(Protocol):
    async def fetch(self, keys: Collection[MessageKey]) -> Originals:
        """Return the messages that the source knows, by key. Other messages are unknown for now.

        Takes a bounded time. If the source fails, no error is raised.
        """
        ...


class BadAnswer(Exception):
    """The response of the source is not `{"messages": [...]}`."""


def requests_for(keys: Iterable[MessageKey], most: int) -> list[tuple[str, str, Sequence[MessageKey]]]:
    """Group keys by tenant and project into requests (tenant, project, keys) with at most `most` messages each."""
    projects: dict[tuple[str, str], list[MessageKey]] = {}
    for key in sorted(set(keys)):
        projects.setdefault((key.tenant, key.project), []).append(key)
    return [
        (*project, asked[at : at + most]) for project, asked in projects.items() for at in range(0, len(asked), most)
    ]


def question(tenant: str, project: str, keys: Iterable[MessageKey]) -> dict[str, object]:
    """Return the body of a request. `message_ids` is for sources with message ids that are unique in a project."""
    messages = [{"conversation_id": key.conversation_id, "message_id": key.message_id} for key in keys]
    ids = list(dict.fromkeys(message["message_id"] for message in messages))
    return {"tenant": tenant, "project": project, "message_ids": ids, "messages": messages}


def originals_in(answer: Any, asked: Collection[MessageKey]) -> dict[MessageKey, OriginalMessage]:
    """Return the messages in a response that are valid and were requested, by key.

    Other messages are skipped. Raises BadAnswer if the response has another form.
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
