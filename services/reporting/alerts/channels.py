"""Alert channels: Slack, Microsoft Teams, and signed webhooks. Operators of a project set them on the alerts page.

The database role for HTTP reads cannot see the table with the URLs, and no page, route or log shows a URL again.
"""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args
from urllib.parse import urlsplit

from reporting.model.selection import Project
from reporting.outbox.addresses import NotAllowed, address_of
from reporting.outbox.endpoints import SECRET_PREFIX
from reporting.sql import SQL
from servicekit.errors import RequestRefused

ChannelKind = Literal["slack", "teams", "webhook"]
CHANNEL_KINDS: Final[tuple[ChannelKind, ...]] = get_args(ChannelKind)
MOST_CHANNELS: Final = 50
"""Maximum number of channels per project."""
_KEY_BYTES: Final = 32
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_URL: Final = re.compile(r"https?://[\x21-\x7e]{1,1990}")


@dataclass(frozen=True, slots=True)
class AlertChannel:
    """Alert channel of a project.

    Attributes:
        url: Secret URL of the receiver.
        secret: Signing key of a webhook, empty for other kinds.
        address: Base URL of the dashboard, for the links in messages.
        private: True if the URL may use http, or an address outside the public Internet.
    """

    name: str
    kind: ChannelKind
    url: str = field(repr=False)
    secret: str = field(repr=False)
    address: str
    private: bool


async def stored_channels(pool: Any, project: Project) -> Sequence[AlertChannel]:
    """Return the channels of a project, sorted by name."""
    return [AlertChannel(**row) for row in await pool.fetch(*SQL.list_alert_channels(**project._asdict()))]


async def checked_channel(name: str, kind: str, url: str, address: str, *, private: bool) -> AlertChannel:
    """Return a channel that may be stored. A webhook gets a new signing key.

    Args:
        url: URL of the incoming webhook.
        address: Base URL of the dashboard, for the links in messages.
        private: Also permit http and addresses outside the public Internet.

    Raises:
        RequestRefused: If the name, kind or URL is not allowed.
    """
    channel_kind = next((candidate for candidate in CHANNEL_KINDS if candidate == kind), None)
    if channel_kind is None or not _NAME.fullmatch(name):
        raise RequestRefused(422, "A channel has a kind, and a name of letters, digits, dots, hyphens and _.")
    is_private = await _is_private(url)
    if is_private and not private:
        raise RequestRefused(422, "The URL must use https and an address of the public Internet.")
    key = base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode()
    secret = SECRET_PREFIX + key if channel_kind == "webhook" else ""
    return AlertChannel(name, channel_kind, url, secret, address, is_private)


async def _is_private(url: str) -> bool:
    """Return True if the URL uses http or resolves to a private address.

    Raises:
        RequestRefused: If the URL is invalid or its host name cannot be resolved.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        parts, port = urlsplit(""), 0
    if not _URL.fullmatch(url) or not parts.hostname or parts.username is not None or parts.fragment:
        raise RequestRefused(422, "Enter the URL of an incoming webhook, such as https://hooks.slack.com/services/….")
    try:
        await address_of(parts.hostname, port, private=False)
    except NotAllowed:
        return True
    except (OSError, UnicodeError):
        raise RequestRefused(422, "The host name in the URL has no address.") from None
    return parts.scheme != "https"
