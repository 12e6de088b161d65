"""Conversion of Slack events to chat events. No I/O.

- A channel is a conversation.
- The id of a message is its `ts`, which is unique in the channel.
- The thread id of a message in a thread is the `ts` of the thread's root. Reactions have no thread id.
- Bots listed in the settings are agents. Messages of other bots are ignored.
- A person's message in a thread is a reply to the thread's root.
- An edit or a deletion is sent as the same message or reply with a later time. A deletion replaces the text.
- Files are attachments. Only members of the workspace can open their URLs.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from chat_bridge.sources.attachments import attachment, with_attachments
from chat_bridge.sources.source import NotUnderstood
from contracts.base import CONTENT_LIMIT
from contracts.chat import DELETED
from contracts.ids import derived_id
from contracts.instants import format_instant
from contracts.topics import CHAT_MESSAGE, CHAT_REACTION, CHAT_REPLY

_WRITTEN: Final = (None, "bot_message", "file_share", "me_message", "thread_broadcast")  # values may be unhashable
_TOMBSTONE: Final = "tombstone"
"""Slack's subtype for a deleted message whose thread remains, and its mode for a deleted file."""
_TS: Final = re.compile(r"(\d{1,11})\.(\d{6})", re.ASCII)
_LINK: Final = re.compile(r"<(?:(?P<mark>[@#!])(?P<id>[^|>]*)|(?P<url>[^|>]*))(?:\|(?P<label>[^>]*))?>")


@dataclass(frozen=True, slots=True)
class SlackApp:
    """Tenant, project and agents of a Slack workspace.

    `agents` maps the bot ids or user ids of bots to agent ids.
    """

    tenant: str
    project: str
    agents: Mapping[str, str]


def chat_event(payload: Mapping[str, Any], app: SlackApp) -> dict[str, Any] | None:
    """Convert an `event_callback` to a chat event with its `topic`.

    Equal payloads give equal events, so an event that Slack sends again is counted once.

    Returns:
        The chat event, or None if the Slack event is ignored.

    Raises:
        NotUnderstood: The payload lacks a documented field.
    """
    event = _part(payload, "event")
    event_id = _text(payload, "event_id")
    common = {"eventId": str(derived_id("slack", event_id)), "tenant": app.tenant, "project": app.project}
    team = _text(payload, "team_id")
    match event.get("type"):
        case "message":
            found = _message(event, app, team)
        case "reaction_added" | "reaction_removed" as kind:
            found = _reaction(event, app, team, "added" if kind == "reaction_added" else "removed")
        case _:
            found = None
    return None if found is None else common | found


def _message(event: Mapping[str, Any], app: SlackApp, team: str) -> dict[str, Any] | None:
    conversation = _conversation(team, _text(event, "channel"))
    subtype = event.get("subtype")
    if subtype == "message_changed":
        message = _part(event, "message")
        if message.get("subtype") == _TOMBSTONE:
            return _deleted(event, app, conversation, _text(message, "ts"))
        before = event.get("previous_message")
        if isinstance(before, Mapping) and _shown(before) == _shown(message):
            return None  # Slack added a preview, or a reply to the thread
        return _written(message, app, conversation, _instant(_text(event, "ts")))
    if subtype == "message_deleted":
        return _deleted(event, app, conversation, _text(event, "deleted_ts"))
    return _written(event, app, conversation, None) if subtype in _WRITTEN else None


def _deleted(event: Mapping[str, Any], app: SlackApp, conversation: str, ts: str) -> dict[str, Any] | None:
    before = _part(event, "previous_message") | {"text": DELETED, "files": None, "ts": ts}
    return _written(before, app, conversation, _instant(_text(event, "ts")))


def _written(
    message: Mapping[str, Any], app: SlackApp, conversation: str, changed_at: int | None
) -> dict[str, Any] | None:
    """Return the chat event for a message that was written, edited or deleted.

    Args:
        changed_at: Time of the edit or deletion in microseconds. None for a new message.

    Returns:
        The chat event, or None for a message of an unknown bot or a message without text and files.
    """
    if message.get("subtype") not in _WRITTEN:
        return None
    ts = _text(message, "ts")
    content = plain(str(message.get("text") or ""))
    files = _files(message)
    if changed_at is not None and not content.strip() and not files:
        content = DELETED
    writers = [str(message.get(name)) for name in ("bot_id", "user") if message.get(name)]
    agent = next((app.agents[who] for who in writers if who in app.agents), None)
    if not (content.strip() or files) or (agent is None and (message.get("bot_id") or not message.get("user"))):
        return None
    said = {
        "occurredAt": format_instant(_instant(ts) if changed_at is None else changed_at),
        "conversationId": conversation,
        "messageId": ts,
        "content": content,
        **with_attachments(files),
    }
    thread = message.get("thread_ts")
    parent = thread if isinstance(thread, str) and thread not in ("", ts) else None
    if parent is not None:
        said["threadId"] = parent
    if agent is not None:
        event = said | {"topic": CHAT_MESSAGE.name, "senderId": agent, "senderType": "agent", "agentId": agent}
        return event | ({"replyToMessageId": parent} if parent else {})
    said |= {"senderId": _text(message, "user"), "senderType": "human"}
    if parent is not None:
        return said | {"topic": CHAT_REPLY.name, "originalMessageId": parent}
    return said | {"topic": CHAT_MESSAGE.name}


def _files(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a message's files as attachments. Deleted files are omitted."""
    files = message.get("files")
    found = [one for one in files if isinstance(one, dict)] if isinstance(files, list) else []
    return [attachment(one.get("mimetype"), one.get("permalink")) for one in found if one.get("mode") != _TOMBSTONE]


def _shown(message: Mapping[str, Any]) -> tuple[object, list[dict[str, Any]]]:
    return message.get("text"), _files(message)


def _reaction(event: Mapping[str, Any], app: SlackApp, team: str, action: str) -> dict[str, Any] | None:
    item = _part(event, "item")
    if item.get("type") != "message":
        return None
    user = _text(event, "user")
    return {
        "topic": CHAT_REACTION.name,
        "occurredAt": format_instant(_instant(_text(event, "event_ts"))),
        "conversationId": _conversation(team, _text(item, "channel")),
        "messageId": _text(item, "ts"),
        "userId": app.agents.get(user, user),
        "userType": "agent" if user in app.agents else "human",
        "emoji": f":{_text(event, 'reaction')}:",
        "action": action,
    }


def plain(text: str) -> str:
    """Convert Slack's markup to plain text.

    Mentions become names, links become their labels, and HTML escapes are decoded. Text beyond CONTENT_LIMIT is cut
    off.
    """

    def words(found: re.Match[str]) -> str:
        label = found["label"]
        if found["mark"]:
            return f"{'@' if found['mark'] == '!' else found['mark']}{label or found['id']}".replace("@@", "@")
        return label or found["url"]

    return html.unescape(_LINK.sub(words, text)).replace("\x00", "")[:CONTENT_LIMIT]


def _conversation(team: str, channel: str) -> str:
    return f"slack/{team}/{channel}"


def _instant(ts: str) -> int:
    """Convert a Slack timestamp (`seconds.microseconds`) to microseconds. Raises NotUnderstood if it is malformed."""
    found = _TS.fullmatch(ts)
    if found is None:
        raise NotUnderstood("a ts is invalid")
    return int(found[1]) * 1_000_000 + int(found[2])


def _part(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = value.get(name)
    if not isinstance(part, dict):
        raise NotUnderstood(f"{name} is missing")
    return part


def _text(value: Mapping[str, Any], name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str) or not text:
        raise NotUnderstood(f"{name} is missing")
    return text
