"""Text of a Slack message, from every place where Slack puts it: blocks, `text` and attachments. No I/O.

If a message has blocks with words, `text` is only the fallback for notifications. Attachments belong to the content,
except those that Slack adds itself: previews of links, and shared messages of other people.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from chat_bridge.sources.content import unescaped
from contracts.base import CONTENT_LIMIT

_LINK: Final = re.compile(r"<(?:(?P<mark>[@#!])(?P<id>[^<|>]*)|(?P<url>[^<|>]*))(?:\|(?P<label>[^<>]*))?>")
_CONTROLS: Final = ("actions", "context_actions", "input", "divider")  # a type may be unhashable
"""Blocks without words of the writer."""
_ADDED_BY_SLACK: Final = ("from_url", "original_url", "is_msg_unfurl", "is_app_unfurl", "is_share")
_NESTED: Final = (
    "title",
    "subtitle",
    "text",
    "body",
    "fields",
    "elements",
    "rows",
    "tasks",
    "details",
    "output",
    "description",
    "alt_text",
)
"""Fields of blocks that contain words or further blocks, in the order in which Slack shows them."""
_INLINE: Final = ("rich_text_section", "rich_text_quote", "rich_text_preformatted")
_PREFIXES: Final = {"user_id": "@", "usergroup_id": "@", "channel_id": "#", "team_id": "@"}


def content_of(message: Mapping[str, Any]) -> str:
    """Return the words of a message without markup, at most CONTENT_LIMIT characters."""
    body = _words(message.get("blocks")) or plain(_string(message, "text"))
    attachments = [_attachment(item) for item in _objects(message.get("attachments"))]
    return _lines([body, *attachments]).replace("\x00", "")[:CONTENT_LIMIT]


def plain(text: str) -> str:
    """Convert Slack's markup to plain text.

    Mentions become names, links become their labels, and HTML escapes are decoded. Text beyond CONTENT_LIMIT is cut
    off.
    """

    def words(match: re.Match[str]) -> str:
        mark, label = match["mark"], match["label"]
        if mark is None or (mark == "!" and label):
            return label or match["url"] or ""
        return mark.replace("!", "@") + (label or match["id"].partition("^")[0])

    return unescaped(_LINK.sub(words, text)).replace("\x00", "")[:CONTENT_LIMIT]


def _words(node: object) -> str:
    """Return the words of a block, of an element in it, or of a list of them."""
    if isinstance(node, list):
        return _lines(_words(item) for item in node)
    if not isinstance(node, dict) or node.get("type") in _CONTROLS:
        return node if isinstance(node, str) else ""
    kind = node.get("type")
    if kind in _INLINE:
        return "".join(_inline(item) for item in _objects(node.get("elements")))
    if kind == "mrkdwn":
        return plain(_string(node, "text"))
    return _lines(_words(node.get(name)) for name in _NESTED if node.get(name))


def _inline(element: Mapping[str, Any]) -> str:
    """Return the words of a piece of rich text, such as a link or an emoji."""
    if element.get("type") == "emoji":
        return f":{_string(element, 'name')}:"
    if element.get("type") == "broadcast":
        return f"@{_string(element, 'range')}"
    named = next((mark + _string(element, name) for name, mark in _PREFIXES.items() if element.get(name)), "")
    return _string(element, "text") or named or _string(element, "url") or _string(element, "fallback")


def _attachment(attachment: Mapping[str, Any]) -> str:
    if any(attachment.get(name) for name in _ADDED_BY_SLACK):
        return ""
    fields = [[_string(field, "title"), _string(field, "value")] for field in _objects(attachment.get("fields"))]
    named = [_string(attachment, name) for name in ("pretext", "title", "text")]
    written = [plain(text) for text in [*named, *(text for field in fields for text in field)]]
    return _lines([*written, _words(attachment.get("blocks"))]) or plain(_string(attachment, "fallback"))


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(text for text in texts if text.strip())


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _string(value: Mapping[str, Any], name: str) -> str:
    text = value.get(name)
    return text if isinstance(text, str) else ""
