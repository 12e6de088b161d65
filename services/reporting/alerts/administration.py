"""Administration of alert rules and channels, used by the HTTP API and the alerts page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any, Final
from uuid import uuid4

import asyncpg

from contracts.instants import MINUTE, SECOND
from contracts.scopes import ADMIN
from reporting.access.log import AccessLog
from reporting.alerts.channels import MOST_CHANNELS, AlertChannel, checked_channel, stored_channels
from reporting.alerts.messages import Announcement
from reporting.alerts.rules import MOST_CHANNELS_OF_RULE, AlertRule
from reporting.alerts.sending import AlertSender
from reporting.alerts.store import alert_rows, stored_rules
from reporting.model.selection import Project
from reporting.outbox.sending import AttemptResult
from reporting.outbox.store import Count, Deliveries
from reporting.sql import SQL
from servicekit.clock import Clock
from servicekit.errors import RequestRefused
from servicekit.web.auth import Caller

MOST_RULES: Final = 200
"""Maximum number of rules per project."""
MOST_TESTS: Final = 10
"""Maximum number of test messages per process, project and minute."""
_NO_RULE: Final = "There is no rule with this name."
_NO_CHANNEL: Final = "There is no channel with this name."


class AlertAdministration:
    """Administration of alert rules and channels.

    The connection pool for reads is restricted to the current tenant.

    Args:
        private: Allow callers with the scope `admin` for all tenants to set URLs that use http or private addresses.
    """

    def __init__(
        self, reads: asyncpg.Pool, writes: asyncpg.Pool, sender: AlertSender, clock: Clock, *, private: bool = False
    ) -> None:
        self._reads = reads
        self._writes = writes
        self._sender = sender
        self._clock = clock
        self._private = private
        self._log = AccessLog(writes, clock)
        self._tests: dict[Project, list[int]] = {}

    async def overview(self, project: Project) -> dict[str, Any]:
        """Return the `alerts`, `rules` and `channels` of a project.

        A channel has the counts of its messages, but neither its URL nor its signing key.
        """
        counts = await Deliveries(self._reads).counts(*project)
        channels = [
            {"name": channel.name, "kind": channel.kind, **asdict(counts.get(channel.name, Count()))}
            for channel in await stored_channels(self._writes, project)
        ]
        alerts, rules = await alert_rows(self._reads, project), await stored_rules(self._reads, project)
        return {"alerts": alerts, "rules": rules, "channels": channels}

    async def set_rule(self, project: Project, rule: AlertRule, by: str) -> None:
        """Store a rule, replacing any stored rule with the same name.

        Args:
            by: Author of the change, for the access log.

        Raises:
            RequestRefused: If a channel is unknown, or there are too many rules.
        """
        await self._refuse_unknown(project, rule.channels)
        rules = await stored_rules(self._writes, project)
        if len(rules) >= MOST_RULES and all(stored.name != rule.name for stored in rules):
            raise RequestRefused(409, f"A project has at most {MOST_RULES} rules: remove one first.")
        statement = SQL.set_alert_rule(**project._asdict(), name=rule.name, rule=rule.model_dump_json())
        await self._writes.execute(*statement)
        await self._log.note(by, *project, "changed rule", rule.name)

    async def set_rule_channels(self, project: Project, name: str, channels: Sequence[str], by: str) -> None:
        """Replace the channels of a rule.

        Raises:
            RequestRefused: If the rule or a channel is unknown, or there are too many channels.
        """
        await self._refuse_unknown(project, channels)
        if len(channels) > MOST_CHANNELS_OF_RULE:
            raise RequestRefused(422, f"channels: a rule has at most {MOST_CHANNELS_OF_RULE}.")
        await self._change(SQL.set_rule_channels(**project._asdict(), name=name, channels=channels), _NO_RULE)
        await self._log.note(by, *project, "changed rule", name)

    async def add_channel_to_all_rules(self, project: Project, channel: str, by: str) -> int:
        """Add a channel to all rules of a project. Rules with the maximum number of channels are skipped.

        Returns:
            The number of rules that now use the channel.
        """
        names, count = {names.name for names in await stored_channels(self._writes, project)}, 0
        for rule in await stored_rules(self._writes, project):
            current = [name for name in rule.channels if name in names]
            if channel not in current and len(current) < MOST_CHANNELS_OF_RULE:
                current.append(channel)
                await self.set_rule_channels(project, rule.name, current, by)
            count += channel in current
        return count

    async def _refuse_unknown(self, project: Project, channels: Collection[str]) -> None:
        names = {channel.name for channel in await stored_channels(self._writes, project)}
        if not names.issuperset(channels):
            raise RequestRefused(422, "channels: must be names of channels of this project.")

    async def _change(self, statement: tuple[Any, ...], missing: str) -> None:
        """Run a statement on a stored row. Raises RequestRefused with the message `missing` if there is no such row."""
        if (await self._writes.execute(*statement)).endswith(" 0"):
            raise RequestRefused(404, missing)

    async def remove_rule(self, project: Project, name: str, by: str) -> None:
        """Delete a rule. Its open alerts end at the next evaluation.

        Raises:
            RequestRefused: If there is no such rule.
        """
        await self._change(SQL.delete_alert_rule(**project._asdict(), name=name), _NO_RULE)
        await self._log.note(by, *project, "changed rule", name)

    async def set_channel(
        self, project: Project, name: str, kind: str, url: str, address: str, caller: Caller
    ) -> AlertChannel:
        """Store a channel, replacing any channel with the same name.

        Args:
            url: URL of the incoming webhook.
            address: Base URL of the dashboard, for the links in messages.

        Raises:
            RequestRefused: If the name, kind or URL is not allowed, or the project has too many channels.
        """
        private = self._private and caller.tenant is None and ADMIN in caller.scopes
        channel = await checked_channel(name, kind, url, address, private=private)
        statement = SQL.set_alert_channel(**project._asdict(), **asdict(channel), most=MOST_CHANNELS)
        if (await self._writes.execute(*statement)).endswith(" 0"):
            raise RequestRefused(409, f"A project has at most {MOST_CHANNELS} channels: remove one first.")
        await self._log.note(caller.subject, *project, "changed rule", f"channel {name}")
        return channel

    async def remove_channel(self, project: Project, name: str, by: str) -> None:
        """Delete a channel.

        Raises:
            RequestRefused: If there is no such channel.
        """
        await self._change(SQL.delete_alert_channel(**project._asdict(), name=name), _NO_CHANNEL)
        await self._log.note(by, *project, "changed rule", f"channel {name}")

    async def test(self, project: Project, channel: str) -> AttemptResult:
        """Send a test message to a channel.

        Raises:
            RequestRefused: If the channel is unknown, or the project has sent too many test messages in the last
                minute.
        """
        receivers = {stored.name: stored for stored in await stored_channels(self._writes, project)}
        if channel not in receivers:
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
        return await self._sender.send_to(receivers[channel], id_, announcement)
