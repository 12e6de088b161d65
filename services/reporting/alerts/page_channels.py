"""Alert channels that people set on the alerts page.

These channels are Slack incoming webhooks. Their URLs are stored encrypted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

import asyncpg
from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from reporting.alerts.settings_file import OpenChannel, PageSlackChannel
from reporting.egress.webhooks.addresses import NotAllowed, address_of
from reporting.queries.selection import Project
from reporting.sql import SQL
from servicekit import Clock, RequestRefused, StartError

MOST_CHANNELS: Final = 50
"""Maximum number of channels per project that can be set on the alerts page."""
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_URL: Final = re.compile(r"https?://[\x21-\x7e]{1,1990}")
NO_KEY: Final = "Channels cannot be set here: REPORTING_SECRET_KEY is not set. Define them in the file of alerts."


class ChannelLocked(Exception):
    """Error for a channel that cannot be decrypted because REPORTING_SECRET_KEY is missing or wrong."""


class PageChannels:
    """Alert channels set on the alerts page, stored in the database.

    Args:
        secret_key: Comma-separated Fernet keys; the first one is used for encryption. Without a key, channels can be
            neither set nor used.
        private: Allow administrators of all tenants to set URLs that use http or are outside the public Internet.

    Raises:
        StartError: If a key is invalid.
    """

    def __init__(self, pool: asyncpg.Pool, clock: Clock, secret_key: str | None, *, private: bool = False) -> None:
        self._pool = pool
        self._clock = clock
        self._private = private
        self._keys = None if secret_key is None else keys_of(secret_key)

    @property
    def may_be_set(self) -> bool:
        return self._keys is not None

    async def set(self, at: Project, name: str, url: str, address: str, by: str, *, everywhere: bool) -> None:
        """Store a channel, replacing any channel with the same name.

        Args:
            url: URL of the Slack incoming webhook.
            address: Base URL of the dashboard, for the links in messages.
            everywhere: True if the caller administers all tenants.

        Raises:
            RequestRefused: If there is no key, the name or URL is not allowed, or the project has too many channels.
        """
        if self._keys is None:
            raise RequestRefused(409, NO_KEY)
        if not _NAME.fullmatch(name):
            raise RequestRefused(422, "A channel has a name of 1 to 64 letters, digits or . _ -.")
        private = await self._is_private(url)
        if private and not (self._private and everywhere):
            raise RequestRefused(422, "The URL must begin with https:// and be on the public Internet.")
        values = {"url": self._keys.encrypt(url.encode()), "address": address, "private": private, "by": by}
        place = {"tenant": at.tenant, "project": at.project, "name": name}
        limits = {"now": self._clock.now(), "most": MOST_CHANNELS}
        done = await self._pool.execute(*SQL.set_alert_channel(**place, **values, **limits))
        if done.endswith(" 0"):
            raise RequestRefused(409, f"A project has at most {MOST_CHANNELS} channels: remove one first.")

    async def remove(self, at: Project, name: str) -> bool:
        """Delete a channel. Returns False if there is none."""
        place = {"tenant": at.tenant, "project": at.project, "name": name}
        done = await self._pool.execute(*SQL.delete_alert_channel(**place))
        return not done.endswith(" 0")

    async def of(self, at: Project) -> Sequence[OpenChannel]:
        """Return the channels of a project, sorted by name. Channels that cannot be decrypted are omitted."""
        rows = await self._pool.fetch(*SQL.list_alert_channels(tenant=at.tenant, project=at.project))
        channels = []
        for row in rows:
            with suppress(ChannelLocked):
                channels.append(self._opened(at, row))
        return channels

    async def find(self, at: Project, name: str) -> OpenChannel | None:
        """Return a channel by name, or None if there is none.

        Raises:
            ChannelLocked: If the channel cannot be decrypted.
        """
        row = await self._pool.fetchrow(*SQL.find_alert_channel(tenant=at.tenant, project=at.project, name=name))
        return None if row is None else self._opened(at, row)

    def _opened(self, at: Project, row: asyncpg.Record) -> OpenChannel:
        if self._keys is None:
            raise ChannelLocked
        try:
            url = self._keys.decrypt(row["url"]).decode()
        except InvalidToken:
            raise ChannelLocked from None
        private = row["private"] and self._private  # Switching the setting off revokes the permission.
        settings = PageSlackChannel(
            name=row["name"], tenant=at.tenant, project=at.project, private=private, address=row["address"]
        )
        return OpenChannel(settings, url)

    async def _is_private(self, url: str) -> bool:
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
            raise RequestRefused(
                422, "Enter the URL of an incoming webhook, such as https://hooks.slack.com/services/…."
            )
        try:
            await address_of(parts.hostname, port, private=False)
        except NotAllowed:
            return True
        except (OSError, UnicodeError):
            raise RequestRefused(422, "The host name in the URL has no address.") from None
        return parts.scheme != "https"


def keys_of(secret_key: str) -> MultiFernet:
    """Parse the value of REPORTING_SECRET_KEY.

    Raises:
        StartError: If a key is invalid.
    """
    try:
        return MultiFernet([Fernet(one.strip()) for one in secret_key.split(",")])
    except ValueError:
        raise StartError(
            "REPORTING_SECRET_KEY is not a key: make one with `openssl rand -base64 32 | tr +/ -_`."
        ) from None
