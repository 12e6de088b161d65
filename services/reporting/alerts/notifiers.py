"""Message formats of the alert channels. No I/O.

Agent ids are untrusted input, so each format escapes the markup of its receiver.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any, Final, NamedTuple

from contracts.instants import SECOND, format_instant
from reporting.alerts.messages import Announcement
from reporting.alerts.settings_file import (
    EmailChannel,
    OpenChannel,
    PagerDutyChannel,
    PageSlackChannel,
    SlackChannel,
    TeamsChannel,
    WebhookChannel,
)
from reporting.egress.webhooks.endpoints import key_of
from reporting.egress.webhooks.payload import headers_of

_SIGNS: Final = {"fired": "Alert", "over": "Over", "test": "Test", "digest": "Digest"}
_SLACK: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~])")
_PAGERDUTY_SUMMARY: Final = 1_024


class HttpRequest(NamedTuple):
    """POST request to an alert channel."""

    url: str
    body: bytes
    headers: Mapping[str, str]


def heading(one: Announcement) -> str:
    """Return the first line of an announcement."""
    return f"{_SIGNS[one.state]}: {one.title}"


def link_text(one: Announcement) -> str:
    """Return the link text of an announcement. It names the linked page."""
    if one.state == "test":
        return "Show the alerts"
    return "Show the dashboard" if one.state == "digest" or one.tenant is None else "Show the turns"


def slack(channel: OpenChannel, id_: str, one: Announcement, now: int) -> HttpRequest:
    """Build the request to a Slack incoming webhook."""
    title, text = (_escaped(part, _SLACK) for part in (heading(one), one.text))
    content = f"*{title}*\n{text}\n<{one.link}|{link_text(one)}>" if one.link else f"*{title}*\n{text}"
    block = {"type": "section", "text": {"type": "mrkdwn", "text": content}}
    return _json(channel.secret, {"text": title, "blocks": [block]})


def teams(channel: OpenChannel, id_: str, one: Announcement, now: int) -> HttpRequest:
    """Build the request to a Teams workflow, with an Adaptive Card."""
    blocks: list[dict[str, Any]] = [
        {"type": "TextBlock", "text": _MARKDOWN.sub(r"\\\1", heading(one)), "weight": "bolder", "wrap": True},
        *({"type": "TextBlock", "text": _MARKDOWN.sub(r"\\\1", line), "wrap": True} for line in one.text.split("\n")),
    ]
    card: dict[str, Any] = {"type": "AdaptiveCard", "version": "1.4", "body": blocks}
    if one.link:
        card["actions"] = [{"type": "Action.OpenUrl", "title": link_text(one), "url": one.link}]
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return _json(channel.secret, {"type": "message", "attachments": [attachment]})


def pagerduty(channel: OpenChannel, id_: str, one: Announcement, now: int) -> HttpRequest:
    """Build the request to PagerDuty's Events API v2. The end of an alert resolves its incident."""
    assert isinstance(channel.settings, PagerDutyChannel)
    severity = "warning" if one.state == "fired" else "info"
    event: dict[str, Any] = {
        "routing_key": channel.secret,
        "event_action": "resolve" if one.state == "over" else "trigger",
        "dedup_key": one.key,
        "payload": {
            "summary": heading(one)[:_PAGERDUTY_SUMMARY],
            "source": "/".join(filter(None, (one.tenant, one.project))) or "agent-feedback",
            "severity": severity,
            "timestamp": format_instant(one.at),
            "custom_details": {"rule": one.rule, "text": one.text},
        },
    }
    if one.link:
        event["links"] = [{"href": one.link, "text": link_text(one)}]
    return _json(channel.settings.url, event)


def webhook(channel: OpenChannel, id_: str, one: Announcement, now: int) -> HttpRequest:
    """Build a signed request as specified by Standard Webhooks. The event type is, for example, `alert.fired`."""
    assert isinstance(channel.settings, WebhookChannel)
    data = {**asdict(one), "at": format_instant(one.at)}
    content = {"type": f"alert.{one.state}", "timestamp": format_instant(one.at), "data": data}
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    return HttpRequest(channel.settings.url, body, headers_of(id_, body, [key_of(channel.secret)], "standard", now))


def email(channel: OpenChannel, id_: str, one: Announcement, now: int) -> EmailMessage:
    """Build the e-mail for an announcement.

    The e-mails about the start and the end of an alert belong to the same thread.
    """
    assert isinstance(channel.settings, EmailChannel)
    message = EmailMessage()
    domain = channel.settings.sender.rpartition("@")[2]
    message["Subject"] = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", f"[agent-feedback] {heading(one)}")
    message["From"], message["To"] = channel.settings.sender, ", ".join(channel.settings.to)
    message["Date"] = format_datetime(datetime.fromtimestamp(now // SECOND, UTC))
    message["Message-ID"] = f"<{id_}@{domain}>"
    message["References"] = f"<{one.key}@{domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("\n\n".join(filter(None, (heading(one), one.text, one.link))) + "\n")
    return message


Notifier = Callable[[OpenChannel, str, Announcement, int], HttpRequest | EmailMessage]
NOTIFIERS: Final[Mapping[type[Any], Notifier]] = {
    SlackChannel: slack,
    PageSlackChannel: slack,
    TeamsChannel: teams,
    PagerDutyChannel: pagerduty,
    EmailChannel: email,
    WebhookChannel: webhook,
}
"""Functions that build a request or an e-mail, by channel type.

Their arguments are the channel, the message id, the announcement and the time in microseconds.
"""


def _escaped(text: str, signs: Mapping[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in text)


def _json(url: str, content: Any) -> HttpRequest:
    body = json.dumps(content, ensure_ascii=False).encode()
    return HttpRequest(url, body, {"content-type": "application/json", "user-agent": "agent-feedback"})
