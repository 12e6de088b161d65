"""Settings file of the identity provider.

It contains the client registration and maps the groups in a person's claims to roles and projects.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Self
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints, field_validator, model_validator

from reporting.access.roles import ProjectSet, Role, is_account_name
from reporting.egress.webhooks.endpoints import Variable
from servicekit import FileSettings, RequestRefused, StartError

Text = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f]+$")]
Url = Annotated[str, StringConstraints(pattern=r"^https?://[^\x00-\x20]+$", max_length=500)]
EMAIL: Final = "email"
VERIFIED: Final = "email_verified"
"""Claim that confirms an e-mail address. An unconfirmed address may belong to somebody else."""
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_NOT_IN_NAME: Final = re.compile(r"[^a-z0-9._@+-]")
_LONGEST_SUBJECT: Final = 255
NO_GROUP: Final = (
    "You are signed in at the identity provider, but none of your groups has access. Ask an administrator."
)
NO_NAME: Final = "The identity provider did not confirm your name: it sent no {claim}, or one that is not verified."


class GroupAccess(FileSettings):
    """Role and projects granted to the members of a group. `value` is the group's name in the claim."""

    value: Text
    role: Role
    projects: tuple[str, ...]

    @field_validator("projects")
    @classmethod
    def _are_places(cls, places: tuple[str, ...]) -> tuple[str, ...]:
        try:
            ProjectSet.parse(places)
        except RequestRefused as refusal:
            raise ValueError(str(refusal)) from None
        return places


class IdentityProviderFile(FileSettings):
    """Settings in the identity provider file.

    `address` is the base URL of the dashboard. `claim` is the claim that lists a person's groups, and `name_claim` is
    the claim that contains the account name. `secret_from` is the environment variable that contains the client secret.
    Sessions end after `session_hours`.
    """

    label: Text = "your organisation"
    issuer: Url
    client_id: Text
    secret_from: Variable
    address: Url
    scopes: Annotated[tuple[Text, ...], Field(max_length=20)] = ("openid", "profile", "email")
    claim: Text = "groups"
    name_claim: Text = EMAIL
    session_hours: Annotated[float, Field(gt=0, le=168)] = 12
    group: Annotated[list[GroupAccess], Field(min_length=1, max_length=500)]

    @field_validator("issuer", "address")
    @classmethod
    def _is_protected(cls, url: str) -> str:
        parts = urlsplit(url)
        if not parts.hostname or parts.username is not None or parts.query or parts.fragment:
            raise ValueError("must be a URL without user name, parameters and fragment")
        if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
            raise ValueError("must use https, except on this machine")
        return url

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if "openid" not in self.scopes:
            raise ValueError("scopes must contain openid")
        if urlsplit(self.address).path not in ("", "/"):
            raise ValueError("address must have no path")
        if len({one.value for one in self.group}) < len(self.group):
            raise ValueError("two [[group]] tables have the same value")
        return self


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    """Identity provider settings together with the client secret."""

    file: IdentityProviderFile
    client_secret: str = field(repr=False)

    @property
    def label(self) -> str:
        return self.file.label

    @property
    def issuer(self) -> str:
        return self.file.issuer

    @property
    def client_id(self) -> str:
        return self.file.client_id

    @property
    def scopes(self) -> str:
        return " ".join(self.file.scopes)

    @property
    def address(self) -> str:
        return self.file.address.rstrip("/")


@dataclass(frozen=True, slots=True)
class ProviderPerson:
    """Person described by the claims of the identity provider.

    `subject` is unique per issuer. `name` need not be unique.
    """

    subject: str
    name: str


def read_identity_provider(path: Path | None) -> IdentityProvider | None:
    """Read the identity provider file. Returns None if `path` is None.

    Raises:
        StartError: If the file or the client secret is invalid. The message contains no secrets.
    """
    if path is None:
        return None
    found = IdentityProviderFile.read(path)
    secret = found.secret_in(found.secret_from)
    if not secret.isascii() or not secret.isprintable():
        raise StartError(f"The variable {found.secret_from} must be a client secret of printable ASCII characters.")
    return IdentityProvider(found, secret)


def subject_of(claims: Mapping[str, Any]) -> str:
    """Return the subject in verified claims.

    Raises:
        RequestRefused: If the subject is missing or invalid.
    """
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT or "\x00" in subject:
        raise RequestRefused(403, "The identity provider did not say who you are.")
    return subject


def person_of(claims: Mapping[str, Any], file: IdentityProviderFile) -> ProviderPerson:
    """Return the person described by verified claims.

    Raises:
        RequestRefused: If the claims contain no valid subject or account name, or the name is an unverified e-mail
            address.
    """
    subject, given = subject_of(claims), claims.get(file.name_claim)
    name = _NOT_IN_NAME.sub("-", given.strip().lower()) if isinstance(given, str) else ""
    if not is_account_name(name) or not _is_verified(file.name_claim, claims):
        raise RequestRefused(403, NO_NAME.format(claim=file.name_claim))
    return ProviderPerson(subject, name)


def access_of(claims: Mapping[str, Any], file: IdentityProviderFile) -> tuple[Role, ProjectSet] | None:
    """Return the role and projects granted by verified claims, or None if they match no group in the file.

    Only the first matching group in the file counts. If groups were combined, someone who reads one project and
    administers another would become an administrator of both.
    """
    said = claims.get(file.claim)
    values = said if isinstance(said, list) else [said]
    if not _is_verified(file.claim, claims):
        return None
    fitting = next((one for one in file.group if one.value in values), None)
    return None if fitting is None else (fitting.role, ProjectSet.parse(fitting.projects))


def _is_verified(claim: str, claims: Mapping[str, Any]) -> bool:
    return claim != EMAIL or claims.get(VERIFIED) is True
