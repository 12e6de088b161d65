"""Originals from elsewhere: for chat services that do not publish all their messages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from pydantic import ValidationError

from chat_bridge.model import MessageKey
from contracts.chat import OriginalMessage

Found = Mapping[MessageKey, OriginalMessage]


class MessageSource(Protocol):
    async def fetch(self, keys: Collection[MessageKey]) -> Found:
        """The known ones of `keys`. Never raises for a source that fails, and takes a bounded time: what it does not
        give is unknown for now."""
        ...


class BadAnswer(Exception):
    """The source's answer does not read as `{"messages": [...]}`."""


def requests_for(keys: Iterable[MessageKey], most: int) -> list[tuple[str, str, Sequence[str]]]:
    """Tenant, project and message ids of each request, at most `most` ids in one."""
    projects: dict[tuple[str, str], list[str]] = {}
    for key in sorted(set(keys)):
        projects.setdefault((key.tenant, key.project), []).append(key.message_id)
    return [(*project, ids[at : at + most]) for project, ids in projects.items() for at in range(0, len(ids), most)]


def originals_in(answer: Any, tenant: str, project: str, asked: Collection[str]) -> dict[MessageKey, OriginalMessage]:
    """The messages of an answer that were asked for and are sound; the others are passed over. Raises BadAnswer."""
    match answer:
        case {"messages": list(messages)}:
            found = (_original(message) for message in messages)
            return {
                MessageKey(tenant, project, one.message_id): one
                for one in found
                if one is not None and one.message_id in asked
            }
        case _:
            raise BadAnswer


def _original(message: Any) -> OriginalMessage | None:
    try:
        return OriginalMessage.model_validate(message, by_alias=True, by_name=False)
    except ValidationError:
        return None
