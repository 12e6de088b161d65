"""Alerts file: channels, rules and digests. The secrets of channels come from the environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints, field_validator, model_validator

from contracts.base import Name
from reporting.alerts.rules import AlertRule, PlatformRule, ProjectRule
from reporting.egress.webhooks.endpoints import Variable, signing_key
from reporting.queries.selection import Project
from servicekit import FileSettings, StartError

Url = Annotated[str, StringConstraints(pattern=r"^https?://[^\x00-\x20]+$", max_length=2_000)]
Address = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x20@<>\",;]+@[^\x00-\x20@<>\",;]+$", max_length=254)]
Every = Literal["day", "week"]
PAGERDUTY: Final = "https://events.pagerduty.com/v2/enqueue"


class AlertChannel(FileSettings):
    """Settings common to all alert channels.

    `tenant` and `project` restrict the channel to the rules of a tenant or project. `private` allows http and addresses
    outside the public Internet. A setting that ends in `_from` is the name of an environment variable with a secret.
    Instead of the variable NAME, you can set NAME_FILE to the path of a file with the secret.
    """

    name: Name
    tenant: Name | None = None
    project: Name | None = None
    private: bool = False

    @property
    def secret_variables(self) -> Sequence[str]:
        return [value for name, value in self if name.endswith("_from") and value]

    def serves(self, at: Project | None) -> bool:
        """Return True if a project's rules may use the channel.

        Args:
            at: The project, or None for the platform.
        """
        if at is None:
            return self.tenant is None
        return self.tenant in (None, at.tenant) and self.project in (None, at.project)


class SlackChannel(AlertChannel):
    """Slack incoming webhook."""

    type: Literal["slack"]
    url_from: Variable


class PageSlackChannel(AlertChannel):
    """Slack incoming webhook set on the alerts page (`page_channels.py`).

    `address` is the base URL of the links in messages.
    """

    type: Literal["slack"] = "slack"
    address: str


class TeamsChannel(AlertChannel):
    """Incoming webhook of a Microsoft Teams workflow."""

    type: Literal["teams"]
    url_from: Variable


class PagerDutyChannel(AlertChannel):
    """PagerDuty Events API v2. Set `url` to use another region."""

    type: Literal["pagerduty"]
    key_from: Variable
    url: Url = PAGERDUTY


class EmailChannel(AlertChannel):
    """E-mail sent by SMTP."""

    type: Literal["email"]
    host: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.:_-]{1,253}$")]
    port: Annotated[int, Field(ge=1, le=65_535)] = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: Annotated[str, StringConstraints(min_length=1, max_length=320)] | None = None
    password_from: Variable | None = None
    sender: Address
    to: Annotated[tuple[Address, ...], Field(min_length=1, max_length=50)]

    @model_validator(mode="after")
    def _keeps_its_password(self) -> Self:
        if (self.user is None) != (self.password_from is None):
            raise ValueError("user and password_from belong together")
        if self.security == "none" and not self.private:
            raise ValueError("security none is only allowed for private addresses: use starttls, or set private")
        return self


class WebhookChannel(AlertChannel):
    """Webhook with signed requests as specified by Standard Webhooks."""

    type: Literal["webhook"]
    url: Url
    secret_from: Variable


AnyChannel = SlackChannel | TeamsChannel | PagerDutyChannel | EmailChannel | WebhookChannel


class DigestSettings(FileSettings):
    """Settings of a project's digest, which shows the three largest changes in satisfaction by agent or version."""

    every: Every
    channels: Annotated[tuple[Name, ...], Field(min_length=1, max_length=10)]


class ProjectAlerts(FileSettings):
    """Rules and digest of a project."""

    tenant: Name
    project: Name
    rule: list[Annotated[ProjectRule, Field(discriminator="kind")]] = Field(default_factory=list, max_length=200)
    digest: DigestSettings | None = None

    @property
    def at(self) -> Project:
        return Project(self.tenant, self.project)


class AlertsFile(FileSettings):
    """Contents of the alerts file. `address` is the base URL of the dashboard, for the links in messages."""

    address: Url
    channel: list[Annotated[AnyChannel, Field(discriminator="type")]] = Field(default_factory=list)
    project: list[ProjectAlerts] = Field(default_factory=list)
    platform: list[Annotated[PlatformRule, Field(discriminator="kind")]] = Field(default_factory=list)

    @field_validator("address")
    @classmethod
    def _has_no_parameters(cls, address: str) -> str:
        parts = urlsplit(address)
        if not parts.hostname or parts.username is not None or parts.query or parts.fragment:
            raise ValueError("must be a URL without user name, parameters and fragment")
        return address.rstrip("/")

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        channels = {one.name: one for one in self.channel}
        if len(channels) < len(self.channel):
            raise ValueError("two channels have the same name")
        if len({one.at for one in self.project}) < len(self.project):
            raise ValueError("two [[project]] tables are for the same project")
        for at, rules in self.rules.items():
            if len({rule.name for rule in rules}) < len(rules):
                raise ValueError("two rules of a project have the same name")
            for rule in rules:
                _check(rule.name, rule.channels, channels, at)
        for one in self.project:
            if one.digest is not None:
                _check("digest", one.digest.channels, channels, one.at)
                if any(isinstance(channels[name], PagerDutyChannel) for name in one.digest.channels):
                    raise ValueError("a digest would open an incident: name no channel of PagerDuty")
        return self

    @property
    def rules(self) -> Mapping[Project | None, Sequence[AlertRule]]:
        """Return the rules of each project, and the platform's rules under the key None."""
        return {None: self.platform, **{one.at: one.rule for one in self.project}}


def _check(name: str, named: Sequence[str], channels: Mapping[str, AlertChannel], at: Project | None) -> None:
    for one in named:
        if one not in channels:
            raise ValueError(f"{name} names the channel {one}, which is not in the file")
        if not channels[one].serves(at):
            raise ValueError(f"{name} names the channel {one}, which belongs to another tenant or project")


@dataclass(frozen=True, slots=True)
class OpenChannel:
    """Alert channel with its secret (URL, key or password), which is empty if the channel needs none."""

    settings: AnyChannel | PageSlackChannel
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """Settings from the alerts file with the secrets of the channels."""

    address: str = ""
    channels: Mapping[str, OpenChannel] = field(default_factory=dict)
    rules: Mapping[Project | None, Sequence[AlertRule]] = field(default_factory=dict)
    digests: Mapping[Project, DigestSettings] = field(default_factory=dict)

    def channels_of(self, at: Project | None) -> Iterator[OpenChannel]:
        """Yield the alert channels available to a project's rules.

        Args:
            at: The project, or None for the platform.
        """
        return (one for one in self.channels.values() if one.settings.serves(at))


def read_alerts(path: Path | None) -> AlertSettings:
    """Read the alerts file. Returns empty settings if `path` is None.

    Raises:
        StartError: If the file or a secret is invalid. The message contains no secrets.
    """
    if path is None:
        return AlertSettings()
    found = AlertsFile.read(path)
    return AlertSettings(
        found.address,
        {one.name: OpenChannel(one, _secret(one)) for one in found.channel},
        found.rules,
        {one.at: one.digest for one in found.project if one.digest is not None},
    )


def _secret(channel: AnyChannel) -> str:
    variable: Any = next(iter(channel.secret_variables), None)
    if variable is None:
        return ""
    secret = channel.secret_in(variable)
    if isinstance(channel, WebhookChannel):
        signing_key(variable)
    elif isinstance(channel, SlackChannel | TeamsChannel) and not _may_be_sent_to(secret, channel):
        raise StartError(f"The variable {variable} must be an https URL, or http if the channel is private.")
    return secret


def _may_be_sent_to(url: str, channel: AlertChannel) -> bool:
    parts = urlsplit(url)
    return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and channel.private))
