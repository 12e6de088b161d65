"""Administration of alert rules and channels, used by the HTTP API and the alerts page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from uuid import uuid4

import asyncpg

from contracts.instants import MINUTE
from contracts.scopes import ADMIN
from reporting.access.log import AccessLog
from reporting.access.secret_values import digest
from reporting.alerts.attempts import seconds_to_wait
from reporting.alerts.messages import Announcement
from reporting.alerts.page_channels import PageChannels
from reporting.alerts.rules import MOST_CHANNELS_OF_RULE, AlertRule, ProjectRule
from reporting.alerts.sending import AlertCourier
from reporting.alerts.settings_file import AlertSettings, OpenChannel
from reporting.alerts.store import (
    MOST_RULES,
    AlertRow,
    ChannelCount,
    alert_rows,
    delete_rule,
    message_counts,
    set_rule,
    set_rule_channels,
    stored_rules,
)
from reporting.egress.webhooks.sending import AttemptResult
from reporting.queries.selection import Project
from servicekit import Caller, Clock, RequestRefused

MOST_TESTS: Final = 10
"""Maximum number of test messages per project and minute."""
_NO_RULE: Final = "There is no rule with this name, or the rule is in the file."
Source = Literal["file", "here"]
"""Origin of a rule or channel: `file` for the alerts file, `here` for the alerts page or the HTTP API."""


@dataclass(frozen=True, slots=True)
class ChannelState:
    """Alert channel and its message counts, without its address and secret."""

    name: str
    type: str
    count: ChannelCount
    source: Source = "file"


@dataclass(frozen=True, slots=True)
class AlertOverview:
    """Alerts, rules and channels of a project or of the platform."""

    alerts: Sequence[AlertRow]
    rules: Sequence[tuple[AlertRule, Source]]
    channels: Sequence[ChannelState]


class AlertAdministration:
    """Administration of alert rules and channels.

    The connection pool for reads is restricted to the current tenant.
    """

    def __init__(
        self,
        reads: asyncpg.Pool,
        writes: asyncpg.Pool,
        settings: AlertSettings,
        courier: AlertCourier,
        clock: Clock,
        page_channels: PageChannels | None = None,
    ) -> None:
        self._reads = reads
        self._writes = writes
        self._settings = settings
        self._courier = courier
        self._clock = clock
        self._page_channels = page_channels or PageChannels(writes, clock, None)
        self._log = AccessLog(writes, clock)

    async def overview(self, at: Project | None) -> AlertOverview:
        """Return the alerts, rules and channels of a project.

        Args:
            at: The project, or None for the platform.
        """
        fixed = self._settings.rules.get(at, ())
        rules: list[tuple[AlertRule, Source]] = [(rule, "file") for rule in fixed]
        if at is not None:
            rules += [(rule, "here") for rule in await self._stored_rules(self._reads, at)]
        counts = await message_counts(self._reads, at)
        in_file = {one.settings.name for one in self._settings.channels_of(at)}
        channels = [
            ChannelState(
                name, one.settings.type, counts.get(name, ChannelCount()), "file" if name in in_file else "here"
            )
            for one in await self._channels(at)
            for name in [one.settings.name]
        ]
        return AlertOverview(await alert_rows(self._reads, at), rules, channels)

    async def set_rule(self, at: Project, rule: ProjectRule, by: str) -> None:
        """Store a rule, replacing any stored rule with the same name.

        Args:
            by: Author of the change, for the access log.

        Raises:
            RequestRefused: If the alerts file has a rule with this name, a channel is unknown, or there are too many
                rules.
        """
        if any(one.name == rule.name for one in self._settings.rules.get(at, ())):
            raise RequestRefused(409, "The file already has a rule with this name: change it there, or choose another.")
        await self._refuse_unknown(at, rule.channels)
        if not await set_rule(self._writes, at, rule, self._clock.now()):
            raise RequestRefused(409, f"A project has at most {MOST_RULES} rules of this kind: remove one first.")
        await self._log.note(by, *at, "changed rule", rule.name)

    async def set_rule_channels(self, at: Project, name: str, channels: Sequence[str], by: str) -> None:
        """Replace the channels of a stored rule.

        Raises:
            RequestRefused: If the rule or a channel is unknown, or the rule is in the alerts file.
        """
        await self._refuse_unknown(at, channels)
        in_file = any(rule.name == name for rule in self._settings.rules.get(at, ()))
        if in_file or not await set_rule_channels(self._writes, at, name, lambda _: channels, self._clock.now()):
            raise RequestRefused(404, _NO_RULE)
        await self._log.note(by, *at, "changed rule", name)

    async def announce_all_in(self, at: Project, channel: str, by: str) -> int:
        """Add a channel to all stored rules of a project.

        Rules that already have the maximum number of channels are skipped.

        Returns:
            The number of stored rules that now use the channel.
        """
        known = {one.settings.name for one in await self._channels(at)}

        def with_channel(rule: ProjectRule) -> list[str]:
            kept = [one for one in rule.channels if one in known]
            return kept if channel in kept or len(kept) == MOST_CHANNELS_OF_RULE else [*kept, channel]

        rules = await self._stored_rules(self._writes, at)
        for rule in rules:
            if channel not in rule.channels and channel in with_channel(rule):
                await set_rule_channels(self._writes, at, rule.name, with_channel, self._clock.now())
                await self._log.note(by, *at, "changed rule", rule.name)
        return sum(channel in with_channel(rule) for rule in rules)

    async def _stored_rules(self, pool: asyncpg.Pool, at: Project) -> list[ProjectRule]:
        """Return the project's stored rules, except those with the same name as a rule in the alerts file."""
        in_file = {rule.name for rule in self._settings.rules.get(at, ())}
        return [rule for rule in (await stored_rules(pool, at)).get(at, ()) if rule.name not in in_file]

    async def _refuse_unknown(self, at: Project, channels: Collection[str]) -> None:
        known = {one.settings.name for one in await self._channels(at)}
        if not known.issuperset(channels):
            raise RequestRefused(422, "channels: must be names of channels of this project.")

    async def remove_rule(self, at: Project, name: str, by: str) -> None:
        """Delete a stored rule. Its open alerts end at the next evaluation.

        Raises:
            RequestRefused: If there is no such rule.
        """
        if not await delete_rule(self._writes, at, name):
            raise RequestRefused(404, _NO_RULE)
        await self._log.note(by, *at, "changed rule", name)

    @property
    def may_set_channels(self) -> bool:
        return self._page_channels.may_be_set

    async def set_channel(self, at: Project, name: str, url: str, address: str, caller: Caller) -> None:
        """Store a Slack incoming webhook as a channel.

        Args:
            url: URL of the incoming webhook.
            address: Base URL of the dashboard, for the links in messages.

        Raises:
            RequestRefused: If the alerts file has a channel with this name, or the name or URL is not allowed.
        """
        if any(one.settings.name == name for one in self._settings.channels_of(at)):
            raise RequestRefused(409, "The file already has a channel with this name: choose another name.")
        everywhere = caller.tenant is None and ADMIN in caller.scopes
        await self._page_channels.set(at, name, url, address, caller.subject, everywhere=everywhere)
        await self._log.note(caller.subject, *at, "changed rule", f"channel {name}")

    async def remove_channel(self, at: Project, name: str, by: str) -> None:
        """Delete a channel that was set on the alerts page.

        Raises:
            RequestRefused: If there is no such channel.
        """
        if not await self._page_channels.remove(at, name):
            raise RequestRefused(404, "There is no channel with this name, or the channel is in the file.")
        await self._log.note(by, *at, "changed rule", f"channel {name}")

    async def _channels(self, at: Project | None) -> list[OpenChannel]:
        """Return the channels available to the rules of a project, or of the platform if `at` is None.

        If the alerts file and the alerts page define a channel with the same name, the file takes precedence.
        """
        fixed = list(self._settings.channels_of(at))
        if at is None:
            return fixed
        names = {one.settings.name for one in fixed}
        return [*fixed, *(one for one in await self._page_channels.of(at) if one.settings.name not in names)]

    async def test(self, at: Project, channel: str) -> AttemptResult:
        """Send a test message to a channel.

        Raises:
            RequestRefused: If the channel is unknown, or the project has sent too many test messages in the last
                minute.
        """
        found = next((one for one in await self._channels(at) if one.settings.name == channel), None)
        if found is None:
            raise RequestRefused(404, "There is no channel with this name.")
        now, id_ = self._clock.now(), str(uuid4())
        counted = digest(f"alert tests of {at.tenant}/{at.project}")
        if wait := await seconds_to_wait(self._writes, counted, MOST_TESTS, MINUTE, now):
            raise RequestRefused(429, f"A project may send {MOST_TESTS} test messages a minute.", retry_after=wait)
        link = f"{self._settings.address}/dashboard/alerts?at={at.tenant}/{at.project}"
        title = f"{at.tenant} / {at.project} can reach this channel"
        text = "Somebody sent this message with the test button of the alerts page."
        one = Announcement(f"test-{id_}", "test", title, text, link, at.tenant, at.project, "test", now)
        return await self._courier.send(found, id_, one)
