"""Conversion of webhooks to chat events by the rules in a map file (`webhook_map.py`). No I/O.

Conversation ids start with the source's name, so two platforms never share a conversation. Event ids are derived from
the event's content, so a repeated request gives the same ids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic_core import from_json

from chat_bridge.sources.content import attachment, unescaped, with_attachments
from chat_bridge.sources.source import Dropped, NotUnderstood, SourceAnswer
from chat_bridge.sources.webhook_map import ITEM, MappedWebhook, Rule, Wanted
from chat_bridge.sources.webhook_time import moment_of
from contracts.attachments import ATTACHMENTS_LIMIT
from contracts.base import CONTENT_LIMIT, TEXT_LIMIT
from contracts.chat import DELETED
from contracts.ids import derived_id
from contracts.instants import format_instant
from contracts.topics import CHAT_MESSAGE, CHAT_REACTION, CHAT_REPLY

ITEMS_LIMIT: Final = 1_000
"""Maximum length of a list to which a rule is applied."""
NOT_AN_AGENT: Final = Dropped("not_an_agent")
_BREAK: Final = re.compile(r"<(?:br|/p|/div|/li|/h[1-6]|/tr|/blockquote)\b[^<>]*>", re.IGNORECASE)
_TAG: Final = re.compile(r"</?[A-Za-z!][^<>]*>")


def answer_to(payload: Mapping[str, Any], source: MappedWebhook) -> SourceAnswer | None:
    """Return the first configured response whose condition the payload meets, or None."""
    answer = next((candidate for candidate in source.map.answer if _fits(candidate.when, payload, None)), None)
    return None if answer is None else SourceAnswer(answer.status, answer.body)


def chat_events(payload: Mapping[str, Any], source: MappedWebhook) -> list[dict[str, Any] | Dropped]:
    """Return the chat events in a payload, each with its `topic`, and a reason for each item that gives no event.

    The rules are applied in order, up to the first matching rule of the kind `ignore`.

    Raises:
        NotUnderstood: A list is too long.
    """
    events: dict[int, list[dict[str, Any]]] = {}  # by the id of the item in the payload
    dropped: dict[int, Dropped] = {}
    for rule, item in _matches(source.map.rule, payload):
        if rule.kind == "ignore":
            dropped[id(item)] = Dropped("ignored_by_a_rule")
            break
        try:
            event = _Match(rule, payload, item, source).event()
        except NotUnderstood as error:
            event = Dropped(str(error), is_refused=True)
        if isinstance(event, Dropped):
            dropped[id(item)] = event
        else:
            content = json.dumps(event, ensure_ascii=True, sort_keys=True)
            event["eventId"] = str(derived_id("webhook", source.name, content))
            events.setdefault(id(item), []).append(event)
    if not (events or dropped):
        return [Dropped("no_rule")]
    reasons = [
        reason
        for item_id, reason in dropped.items()
        if item_id not in events and not (events and reason == NOT_AN_AGENT)
    ]
    return [*(event for of_item in events.values() for event in of_item), *reasons]


def _matches(rules: Sequence[Rule], payload: Mapping[str, Any]) -> Iterator[tuple[Rule, Any]]:
    """Yield each rule with each item of the payload that it applies to."""
    for rule in rules:
        for item in _items(rule, payload):
            if _fits(rule.when, payload, item):
                yield rule, item


def _items(rule: Rule, payload: Mapping[str, Any]) -> Iterator[Any]:
    if not rule.each:
        yield None
        return
    left_out = _list_at(rule.without, payload) if rule.without else []
    for path in rule.each:
        yield from (item for item in _list_at(path, payload) if item not in left_out)


def _list_at(path: tuple[str, ...], payload: Mapping[str, Any]) -> list[Any]:
    """Return the items of the lists at `path`, in which `*` stands for every item of a list."""
    items: list[Any] = [payload]
    for part in "\n".join(path).split("\n*"):
        names = tuple(name for name in part.split("\n") if name)
        values = [_at((ITEM, *names), None, item) for item in items]
        items = [item for value in values for item in (value if isinstance(value, list) else [value])]
        if len(items) > ITEMS_LIMIT:
            raise NotUnderstood(f"{'.'.join(path)} has more than {ITEMS_LIMIT} items")
    return [item for item in items if item is not None]


def _fits(when: Mapping[str, Wanted], payload: Mapping[str, Any], item: Any) -> bool:
    for path, wanted in when.items():
        actual = _at(tuple(path.split(".")), payload, item)
        if not any(actual is not None if value == "*" else _same(actual, value) for value in wanted):
            return False
    return True


def _same(actual: Any, value: object) -> bool:
    return type(actual) is type(value) and bool(actual == value)


def _at(path: tuple[str, ...], payload: Any, item: Any) -> Any:
    """Return the value at `path` in the payload, or in the list item if the path starts with `@`.

    Returns None if there is no such value.
    """
    value, names = (item, path[1:]) if path[0] == ITEM else (payload, path)
    for name in names:
        if isinstance(value, str):
            value = _json(value)
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isascii() and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def _json(text: str) -> Any:
    """Return the JSON value in a text, or None."""
    try:
        return from_json(text)
    except ValueError:
        return None


class _Match:
    """A match of a rule: the rule, and the payload or the list item in the payload that it matches."""

    def __init__(self, rule: Rule, payload: Mapping[str, Any], item: Any, source: MappedWebhook) -> None:
        self._rule = rule
        self._payload = payload
        self._item = item
        self._source = source

    def event(self) -> dict[str, Any] | Dropped:
        """Return the chat event without its event id, or the reason why there is none."""
        rule, of = self._rule, self._source
        author = self._scalar(rule.author, "author")
        agent = None if rule.writers == "system" else of.map.agents.get(author)
        if agent is None and rule.writers == "agents":
            return NOT_AN_AGENT
        conversation = "/".join([of.name, *(_escaped(self._scalar(paths)) for paths in rule.conversation)])
        common: dict[str, Any] = {"occurredAt": format_instant(self._instant()), "conversationId": conversation}
        if rule.judged is None:
            common["messageId"] = self._id("message")
        if self._has(rule.sequence):
            common["sequence"] = self._sequence()
        if self._has(rule.thread) and _fits(rule.thread_when, self._payload, self._item):
            common["threadId"] = self._id("thread")
        if rule.kind in ("reaction", "judgement"):
            return self._reaction(common, author, agent)
        return self._message(common, author, agent)

    def _reaction(self, common: dict[str, Any], author: str, agent: str | None) -> dict[str, Any] | Dropped:
        rule, mapped = self._rule, self._source.map
        event = common | {
            "topic": CHAT_REACTION.name,
            "userId": agent or author,
            "userType": "human" if agent is None else "agent",
            "action": rule.action,
        }
        if rule.kind == "judgement":
            judgement = mapped.judgements.get(self._id("judgement"))
            if judgement is None:
                return Dropped("unmapped_judgement")
            if rule.judged is not None:
                judged = mapped.agents.get(self._id("judged"))
                if judged is None:
                    return NOT_AN_AGENT
                event["agentId"] = judged
            reason = self._text()[:TEXT_LIMIT].strip() if rule.action == "added" else ""
            return event | {"judgement": judgement} | ({"text": reason} if reason else {})
        if mapped.reactions == "replaced":
            event["replaces"] = True
        if not self._has(rule.emoji) and (event.get("replaces") or rule.action == "removed"):
            return event | {"action": "removed"}
        emoji = self._id("emoji")
        return event | {"emoji": mapped.emojis.get(emoji, emoji)}

    def _message(self, common: dict[str, Any], author: str, agent: str | None) -> dict[str, Any] | Dropped:
        rule = self._rule
        content = DELETED if rule.kind == "deletion" else self._text()
        attachments = [] if rule.kind == "deletion" else [*self._attachments()]
        if not (content.strip() or attachments):
            return Dropped("no_content")
        parent = self._id("reply_to") if self._has(rule.reply_to) and not self._is_structural() else None
        event = common | {"content": content, **with_attachments(attachments)}
        if agent is not None:
            event |= {"topic": CHAT_MESSAGE.name, "senderId": agent, "senderType": "agent", "agentId": agent}
            return event | ({"replyToMessageId": parent} if parent else {})
        event |= {"senderId": author, "senderType": "system" if rule.writers == "system" else "human"}
        if parent is not None:
            return event | {"topic": CHAT_REPLY.name, "originalMessageId": parent}
        return event | {"topic": CHAT_MESSAGE.name}

    def _is_structural(self) -> bool:
        """Return True if the message names another only because the platform marks a thread in this way."""
        return any(_fits(dict([mark]), self._payload, self._item) for mark in self._rule.reply_unless.items())

    def _has(self, path: tuple[str, ...] | None) -> bool:
        return path is not None and _at(path, self._payload, self._item) not in (None, "")

    def _text(self) -> str:
        text = self._first(self._rule.text)
        if text is None:
            return ""
        if not isinstance(text, str):
            raise NotUnderstood("text is not a string")
        return plain(text) if self._source.map.text == "html" else text.replace("\x00", "")[:CONTENT_LIMIT]

    def _first(self, paths: Sequence[tuple[str, ...]]) -> Any:
        """Return the first value at these paths that is neither null nor an empty text, or None."""
        values = (_at(path, self._payload, self._item) for path in paths)
        return next((value for value in values if value not in (None, "")), None)

    def _attachments(self) -> Iterator[dict[str, Any]]:
        for part in self._rule.attachments:
            value = _at(part.path, self._payload, self._item)
            for item in (value if isinstance(value, list) else [value])[:ATTACHMENTS_LIMIT]:
                if isinstance(item, dict):
                    paths = (part.type_at, part.url_at)
                    kind, url = (None if path is None else _at(path, item, item) for path in paths)
                    yield attachment(kind, url, part.type)

    def _instant(self) -> int:
        moment = moment_of(self._first(self._rule.at), self._rule.time or self._source.map.time)
        if moment is None:
            raise NotUnderstood("at is not a time of the kind in the map")
        return moment

    def _sequence(self) -> int:
        value = self._first([self._rule.sequence] if self._rule.sequence else [])
        if type(value) is not int or not 0 <= value < 2**63:
            raise NotUnderstood("sequence is not an integer from 0")
        return value

    def _id(self, name: str) -> str:
        return self._scalar([getattr(self._rule, name)], name)

    def _scalar(self, paths: Sequence[tuple[str, ...]], name: str = "conversation") -> str:
        value = self._first(paths)
        if type(value) is int and abs(value) < 10**100:
            return str(value)
        if not isinstance(value, str):
            raise NotUnderstood(f"{name} is missing")
        return value


def plain(text: str) -> str:
    """Convert HTML to plain text.

    Tags are removed, and line breaks separate paragraphs. Text beyond CONTENT_LIMIT is cut off.
    """
    return unescaped(_TAG.sub("", _BREAK.sub("\n", text))).replace("\x00", "").strip()[:CONTENT_LIMIT]


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace("/", "%2F")
