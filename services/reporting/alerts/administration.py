"""Administration of alert rules and channels, used by the HTTP API and the alerts page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

import asyncpg

from contracts.instants import MINUTE, SECOND
from contracts.scopes import ADMIN
from reporting.access.log import AccessLog
from reporting.alerts.channels import AlertChannel, AlertChannels, ChannelKind
from reporting.alerts.messages import Announcement
from reporting.alerts.rules import MOST_CHANNELS_OF_RULE, AlertRule
from reporting.alerts.sending import AlertSender
from reporting.alerts.store import (
    MOST_RULES,
    AlertRow,
    alert_rows,
    delete_rule,
    set_rule,
    set_rule_channels,
    stored_rules,
)
from reporting.model.selection import Project
from reporting.outbox.sending import AttemptResult
from reporting.outbox.store import Count, Deliveries
from servicekit.clock import Clock
from servicekit.errors import RequestRefused
from servicekit.web.auth import Caller

MOST_TESTS: Final = 10
"""Maximum number of test messages per process, project and minute."""
_NO_RULE: Final = "There is no rule with this name."
_NO_CHANNEL: Final = "There is no channel with this name."


@dataclass(frozen=True, slots=True)
class ChannelState:
    """Alert channel and its message counts, without its URL and key."""

    name: str
    kind: ChannelKind
    count: Count


@dataclass(frozen=True, slots=True)
class AlertOverview:
    """Alerts, rules and channels of a project."""

    alerts: Sequence[AlertRow]
    rules: Sequence[AlertRule]
    channels: Sequence[ChannelState]


class AlertAdministration:
    """Administration of alert rules and channels.

    The connection pool for reads is restricted to the current tenant.
    """

    def __init__(
        self, reads: asyncpg.Pool, writes: asyncpg.Pool, channels: AlertChannels, sender: AlertSender, clock: Clock
    ) -> None:
        self._reads = reads
        self._writes = writes
        self._channels = channels
        self._sender = sender
        self._clock = clock
        self._log = AccessLog(writes, clock)
        self._tests: dict[Project, list[int]] = {}

    async def overview(self, project: Project) -> AlertOverview:
        """Return the alerts, rules and channels of a project."""
        counts = await Deliveries(self._reads).counts(*project)
        channels = [
            ChannelState(channel.name, channel.kind, counts.get(channel.name, Count()))
            for channel in await self._channels.of(project)
        ]
        return AlertOverview(await alert_rows(self._reads, project), await stored_rules(self._reads, project), channels)

    async def set_rule(self, project: Project, rule: AlertRule, by: str) -> None:
        """Store a rule, replacing any stored rule with the same name.

        Args:
            by: Author of the change, for the access log.

        Raises:
            RequestRefused: If a channel is unknown, or there are too many rules.
        """
        await self._refuse_unknown(project, rule.channels)
        if not await set_rule(self._writes, project, rule):
            raise RequestRefused(409, f"A project has at most {MOST_RULES} rules: remove one first.")
        await self._log.note(by, *project, "changed rule", rule.name)

    async def set_rule_channels(self, project: Project, name: str, channels: Sequence[str], by: str) -> None:
        """Replace the channels of a rule.

        Raises:
            RequestRefused: If the rule or a channel is unknown, or there are too many channels.
        """
        await self._refuse_unknown(project, channels)
        if len(channels) > MOST_CHANNELS_OF_RULE:
            raise RequestRefused(422, f"channels: a rule has at most {MOST_CHANNELS_OF_RULE}.")
        if not await set_rule_channels(self._writes, project, name, channels):
            raise RequestRefused(404, _NO_RULE)
        await self._log.note(by, *project, "changed rule", name)

    async def announce_all_in(self, project: Project, channel: str, by: str) -> int:
        """Add a channel to all rules of a project. Rules with the maximum number of channels are skipped.

        Returns:
            The number of rules that now use the channel.
        """
        names, count = {names.name for names in await self._channels.of(project)}, 0
        for rule in await stored_rules(self._writes, project):
            current = [name for name in rule.channels if name in names]
            if channel not in current and len(current) < MOST_CHANNELS_OF_RULE:
                current.append(channel)
                await self.set_rule_channels(project, rule.name, current, by)
            count += channel in current
        return count

    async def _refuse_unknown(self, project: Project, channels: Collection[str]) -> None:
        names = {channel.name for channel in await self._channels.of(project)}
        if not names.issuperset(channels):
            raise RequestRefused(422, "channels: must be names of channels of this project.")

    async def remove_rule(self, project: Project, name: str, by: str) -> None:
        """Delete a rule. Its open alerts end at the next evaluation.

        Raises:
            RequestRefused: If there is no such rule.
        """
        if not await delete_rule(self._writes, project, name):
            raise RequestRefused(404, _NO_RULE)
        await self._log.note(by, *project, "changed rule", name)

    async def set_channel(
        self, project: Project, name: str, kind: str, url: str, address: str, caller: Caller
    ) -> AlertChannel:
        """Store a channel, replacing any channel with the same name.

        Args:
            url: URL of the incoming webhook.
            address: Base URL of the dashboard, for the links in messages.

        Raises:
            RequestRefused: If the name, kind or URL is not allowed.
        """
        everywhere = caller.tenant is None and ADMIN in caller.scopes
        channel = await self._channels.set(project, name, kind, url, address, everywhere=everywhere)
        await self._log.note(caller.subject, *project, "changed rule", f"channel {name}")
        return channel

    async def remove_channel(self, project: Project, name: str, by: str) -> None:
        """Delete a channel.

        Raises:
            RequestRefused: If there is no such channel.
        """
        if not await self._channels.remove(project, name):
            raise RequestRefused(404, _NO_CHANNEL)
        await self._log.note(by, *project, "changed rule", f"channel {name}")

    async def test(self, project: Project, channel: str) -> AttemptResult:
        """Send a test message to a channel.

        Raises:
            RequestRefused: If the channel is unknown, or the project has sent too many test messages in the last
                minute.
        """
        receiver = await self._channels.find(project, channel)
        if receiver is None:
            raise RequestRefused(404, _NO_CHANNEL)
        now, id_ = self._clock.now(), str(uuid4())
        tests = [moment for moment in self._tests.get(project, []) if moment > now - MINUTE]
        if len(tests) >= MOST_TESTS:
            wait = (tests[0] + MINUTE - now) // SECOND + 1
            raise RequestRefused(429, f"A project may send {MOST_TESTS} test messages a minute.", retry_after=wait)
        self._tests[project] = [*tests, now]
        link = f"/dashboard/alerts?at={project.tenant}/{project.project}"
        title = f"{project.tenant} / {project.project} can reach this channel"
        text = "Somebody sent this message with the test button of the alerts page."
        announcement = Announcement(
            f"test-{id_}", "test", title, text, link, project.tenant, project.project, "test", now
        )
        return await self._sender.send_to(receiver, id_, announcement)
