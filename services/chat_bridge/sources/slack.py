"""Conversion of Slack events to chat events. No I/O.

- A channel is a conversation of the workspace in which the app is installed, even if other workspaces share it.
- The id of a message is its `ts`, which is unique in the channel.
- The thread id of a message in a thread is the `ts` of the thread's root. Reactions have no thread id.
- Bots listed in the settings are agents. Messages of other bots are dropped.
- Slack's own lines about a channel are system lines of the person whom they name.
- A person's message in a thread is a reply to the thread's root.
- An edit or a deletion is sent as the same message or reply with a later time. A deletion replaces the text.
- Files are attachments. Only members of the workspace can open their URLs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from chat_bridge.sources.content import attachment, with_attachments
from chat_bridge.sources.slack_content import content_of
from chat_bridge.sources.source import Dropped, NotUnderstood
from contracts.chat import DELETED
from contracts.ids import derived_id
from contracts.instants import format_instant
from contracts.topics import CHAT_MESSAGE, CHAT_REACTION, CHAT_REPLY

_OPENED: Final = "assistant_app_thread"
"""Slack's subtype for the root of an assistant's thread, which has a title instead of words."""
_WRITTEN: Final = (None, "bot_message", "file_share", "me_message", "thread_broadcast", _OPENED)  # may be unhashable
_OF_SLACK: Final = ("channel_", "group_")
"""Beginnings of Slack's subtypes for its own lines about a channel, such as "cal has joined the channel"."""
_TOMBSTONE: Final = "tombstone"
"""Slack's subtype for a deleted message whose thread remains, and its mode for a deleted file."""
_TS: Final = re.compile(r"(\d{1,11})\.(\d{6})", re.ASCII)
ChatEvent = dict[str, Any]
Agents = Mapping[str, str]
"""Agent ids by the bot ids or user ids of bots."""


def chat_events(payload: Mapping[str, Any], agents: Agents) -> Sequence[ChatEvent | Dropped]:
    """Convert an `event_callback` to a chat event with its `topic`.

    Equal payloads give equal events, so an event that Slack sends again is counted once.

    Raises:
        NotUnderstood: The payload lacks a documented field.
    """
    if payload.get("type") != "event_callback":
        return []
    event = object_in(payload, "event")
    identity = str(derived_id("slack", text_in(payload, "event_id")))
    match event.get("type"):
        case "message":
            converted = _message(event, agents, workspace_of(payload))
        case "reaction_added" | "reaction_removed":
            converted = _reaction(event, payload, agents)
        case _:
            converted = Dropped("other_event")
    if isinstance(converted, Dropped):
        return [converted]
    return [{"eventId": identity} | converted]


def workspace_of(payload: Mapping[str, Any]) -> str:
    """Return the id of the workspace in which the app is installed; for an installation in an organisation, its id.

    The payload's `team_id` is the workspace of the sender, so it differs within a channel of several workspaces.
    """
    authorizations = payload.get("authorizations")
    installation = authorizations[0] if isinstance(authorizations, list) and authorizations else None
    if isinstance(installation, dict):
        is_of_organisation = installation.get("is_enterprise_install") is True
        workspace = installation.get("enterprise_id" if is_of_organisation else "team_id")
        if isinstance(workspace, str) and workspace:
            return workspace
    return text_in(payload, "team_id")


def _message(event: Mapping[str, Any], agents: Agents, workspace: str) -> ChatEvent | Dropped:
    conversation = conversation_of(workspace, text_in(event, "channel"))
    subtype = event.get("subtype")
    if subtype == "message_changed":
        message = object_in(event, "message")
        if message.get("subtype") == _TOMBSTONE:
            return _deleted(event, agents, conversation, text_in(message, "ts"))
        before = event.get("previous_message")
        if isinstance(before, Mapping) and _shown(before) == _shown(message):
            return Dropped("no_change_of_content")  # Slack added a preview, or a reply to the thread
        return _written(message, agents, conversation, instant_of(text_in(event, "ts")))
    if subtype == "message_deleted":
        return _deleted(event, agents, conversation, text_in(event, "deleted_ts"))
    return _written(event, agents, conversation, None)


def _deleted(event: Mapping[str, Any], agents: Agents, conversation: str, ts: str) -> ChatEvent | Dropped:
    content = {"text": DELETED, "blocks": None, "attachments": None, "files": None}
    before = object_in(event, "previous_message") | content | {"ts": ts}
    return _written(before, agents, conversation, instant_of(text_in(event, "ts")))


def _written(
    message: Mapping[str, Any], agents: Agents, conversation: str, changed_at: int | None
) -> ChatEvent | Dropped:
    """Return the chat event for a message that was written, edited or deleted.

    Args:
        changed_at: Time of the edit or deletion in microseconds. None for a new message.
    """
    subtype = message.get("subtype")
    is_system_line = isinstance(subtype, str) and subtype.startswith(_OF_SLACK)
    if not is_system_line and subtype not in _WRITTEN:
        return Dropped("other_subtype")
    ts = text_in(message, "ts")
    content, files = content_of(message), _files(message)
    if subtype == _OPENED or (changed_at is not None and not content.strip() and not files):
        content = DELETED
    if not (content.strip() or files):
        return Dropped("no_content")
    ids = [] if is_system_line else _ids(message, "bot_id", "user")
    agent = next((agents[id_] for id_ in ids if id_ in agents), None)
    if agent is None and (message.get("bot_id") or not message.get("user")):
        return Dropped("unknown_bot")
    event: ChatEvent = {
        "occurredAt": format_instant(instant_of(ts) if changed_at is None else changed_at),
        "conversationId": conversation,
        "messageId": ts,
        "content": content,
        **with_attachments(files),
    }
    thread = message.get("thread_ts")
    root = thread if isinstance(thread, str) and thread not in ("", ts) else None
    if root is not None:
        event["threadId"] = root
    if agent is not None:
        event |= {"topic": CHAT_MESSAGE.name, "senderId": agent, "senderType": "agent", "agentId": agent}
        return event | ({"replyToMessageId": root} if root else {})
    event |= {"senderId": text_in(message, "user"), "senderType": "system" if is_system_line else "human"}
    if root is not None:
        event |= {"topic": CHAT_REPLY.name, "originalMessageId": root}
        # Of a reply that is also sent to the channel, Slack does not name the parent's user, but copies the root.
        copy = message.get("root")
        beginner = copy.get("user") if isinstance(copy, dict) else message.get("parent_user_id")
        return event | ({"original": _own_root(event)} if beginner == event["senderId"] else {})
    return event | {"topic": CHAT_MESSAGE.name}


def _own_root(reply: ChatEvent) -> ChatEvent:
    """Return a copy, without text, of the thread's root, which the author of `reply` also wrote."""
    return {
        "messageId": reply["originalMessageId"],
        "conversationId": reply["conversationId"],
        "senderId": reply["senderId"],
        "senderType": "human",
        "content": "",
    }


def _files(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a message's files as attachments. Deleted files are omitted."""
    files = message.get("files")
    present = [file for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    return [
        attachment(file.get("mimetype"), file.get("permalink")) for file in present if file.get("mode") != _TOMBSTONE
    ]


def _shown(message: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    return content_of(message), _files(message)


def _reaction(event: Mapping[str, Any], payload: Mapping[str, Any], agents: Agents) -> ChatEvent | Dropped:
    item, user = object_in(event, "item"), text_in(event, "user")
    if item.get("type") != "message":
        return Dropped("not_about_a_message")
    if user == event.get("item_user") or user in _own_users(payload):
        return Dropped("reaction_of_the_author")  # a bot puts emojis under its answers, for people to click on
    conversation = conversation_of(workspace_of(payload), text_in(item, "channel"))
    reaction = reaction_of(user, agents, conversation, text_in(item, "ts"), text_in(event, "event_ts"))
    return reaction | {"emoji": f":{text_in(event, 'reaction')}:", "action": event["type"].removeprefix("reaction_")}


def reaction_of(user: str, agents: Agents, conversation: str, message: str, ts: str) -> ChatEvent:
    """Return the fields that reactions and judgements of a message share. `ts` is the time of the click."""
    return {
        "topic": CHAT_REACTION.name,
        "occurredAt": format_instant(instant_of(ts)),
        "conversationId": conversation,
        "messageId": message,
        "userId": agents.get(user, user),
        "userType": "agent" if user in agents else "human",
    }


def _own_users(payload: Mapping[str, Any]) -> list[str]:
    """Return the user ids of the app's own bot."""
    authorizations = payload.get("authorizations")
    installations = authorizations if isinstance(authorizations, list) else []
    bots = [item for item in installations if isinstance(item, dict) and item.get("is_bot") is True]
    return [id_ for bot in bots for id_ in _ids(bot, "user_id")]


def _ids(value: Mapping[str, Any], *names: str) -> list[str]:
    return [id_ for name in names if isinstance(id_ := value.get(name), str)]


def conversation_of(workspace: str, channel: str) -> str:
    """Return the conversation id of a channel."""
    return f"slack/{workspace}/{channel}"


def instant_of(ts: str) -> int:
    """Convert a Slack timestamp (`seconds.microseconds`) to microseconds. Raises NotUnderstood if it is malformed."""
    match = _TS.fullmatch(ts)
    if match is None:
        raise NotUnderstood("a ts is invalid")
    return int(match[1]) * 1_000_000 + int(match[2])


def object_in(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = value.get(name)
    if not isinstance(part, dict):
        raise NotUnderstood(f"{name} is missing")
    return part


def text_in(value: Mapping[str, Any], name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str) or not text:
        raise NotUnderstood(f"{name} is missing")
    return text
