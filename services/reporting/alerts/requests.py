"""Requests to the alert channels.

Agent ids are untrusted input, so each format escapes the markup of its receiver.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from contracts.instants import format_instant
from reporting.alerts.channels import AlertChannel
from reporting.alerts.messages import Announcement
from reporting.outbox.endpoints import key_of
from reporting.outbox.payload import body_of, headers_of

_SIGNS: Final = {"fired": "Alert", "over": "Over", "test": "Test"}
_SLACK: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~])")


class HttpRequest(NamedTuple):
    """Body and headers of a POST request to an alert channel."""

    body: bytes
    headers: Mapping[str, str]


def request_to(channel: AlertChannel, id_: str, announcement: Announcement, now: int) -> HttpRequest:
    """Build the request that announces an alert in a channel.

    Args:
        id_: Id of the message.
        now: The current time in microseconds.
    """
    link = channel.address + announcement.link
    match channel.kind:
        case "slack":
            return _slack(announcement, link)
        case "teams":
            return _teams(announcement, link)
        case "webhook":
            return _webhook(channel, id_, announcement, link, now)


def heading(announcement: Announcement) -> str:
    """Return the first line of an alert message."""
    return f"{_SIGNS[announcement.state]}: {announcement.title}"


def link_text(announcement: Announcement) -> str:
    """Return the text of the link in an alert message, which names the linked page."""
    return "Show the alerts" if announcement.state == "test" else "Show the turns"


def _slack(announcement: Announcement, link: str) -> HttpRequest:
    title, text = (_escaped(part) for part in (heading(announcement), announcement.text))
    content = f"*{title}*\n{text}\n<{link}|{link_text(announcement)}>"
    return _json({"text": title, "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": content}}]})


def _teams(announcement: Announcement, link: str) -> HttpRequest:
    """Build the request to a Teams workflow, with an Adaptive Card."""
    card: dict[str, Any] = {
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [
            {"type": "TextBlock", "text": _plain(heading(announcement)), "weight": "bolder", "wrap": True},
            {"type": "TextBlock", "text": _plain(announcement.text), "wrap": True},
        ],
        "actions": [{"type": "Action.OpenUrl", "title": link_text(announcement), "url": link}],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return _json({"type": "message", "attachments": [attachment]})


def _webhook(channel: AlertChannel, id_: str, announcement: Announcement, link: str, now: int) -> HttpRequest:
    """Build a signed request as specified by Standard Webhooks. The event type is, for example, `alert.fired`."""
    data = {**asdict(announcement), "at": format_instant(announcement.at), "link": link}
    body = body_of(f"alert.{announcement.state}", announcement.at, data)
    return HttpRequest(body, headers_of(id_, body, [key_of(channel.secret)], now))


def _plain(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", text)


def _escaped(text: str) -> str:
    return "".join(_SLACK.get(sign, sign) for sign in text)


def _json(content: Any) -> HttpRequest:
    body = json.dumps(content, ensure_ascii=False).encode()
    return HttpRequest(body, {"content-type": "application/json", "user-agent": "agent-feedback"})
