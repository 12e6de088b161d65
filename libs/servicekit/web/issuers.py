"""Issuers of tokens: the file that AUTH_ISSUERS names, and the caller that the claims of a token describe. No network.

An issuer is of one of two kinds. Tokens that a site makes for its visitors carry our claims (tenant, project, scope).
Tokens of an identity provider carry groups instead, and each group of the file gives a role and projects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Self

from pydantic import Field, TypeAdapter, ValidationError, field_validator, model_validator

from contracts.base import Id, Name
from contracts.scopes import ROLES
from servicekit.settings import FileSettings
from servicekit.web.auth import Caller
from servicekit.web.projects import ProjectSet

ALGORITHMS: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""Signature algorithms that use a public key. With a symmetric algorithm, anyone who can read the key set could sign
tokens; with `none`, anyone could."""
EVERY_PROJECT: Final = "*"
_ID: TypeAdapter[str] = TypeAdapter(Id)
_NAME: TypeAdapter[str] = TypeAdapter(Name)
_Address = Annotated[str, Field(pattern=r"^https?://[^\x00-\x20]+$", max_length=2_000)]


class Group(FileSettings):
    """Group of an identity provider, with the role and the projects that its members get."""

    value: str = Field(min_length=1)
    role: str
    projects: list[str]

    @field_validator("role")
    @classmethod
    def _is_role(cls, role: str) -> str:
        if role not in ROLES:
            raise ValueError(f"the roles are {', '.join(ROLES)}")
        return role

    @field_validator("projects")
    @classmethod
    def _are_projects(cls, projects: list[str]) -> list[str]:
        try:
            ProjectSet.parse(projects)
        except ValueError as error:
            raise ValueError(str(error).rstrip(".")) from None
        return projects


class Issuer(FileSettings):
    """Issuer of tokens, with the names of the claims that identify a caller.

    With `group`, the claim `group_claim` decides; the claims of tenant, project and scope are ignored. A token of an
    issuer without `group` is valid for all tenants if its tenant is `all_tenants` and its project is `*`.
    """

    issuer: str = Field(min_length=1)
    audience: str = Field(min_length=1)
    jwks_url: _Address
    algorithms: list[str] = Field(default=["RS256", "ES256"], min_length=1)
    leeway_seconds: float = Field(default=30, ge=0, le=300)
    name_claim: str = "sub"
    tenant_claim: str = "tenant"
    project_claim: str = "project"
    scope_claim: str = "scope"
    all_tenants: Name | None = None
    group_claim: str = "groups"
    group: list[Group] = Field(default=[])

    @field_validator("algorithms")
    @classmethod
    def _use_public_keys(cls, algorithms: list[str]) -> list[str]:
        if refused := sorted(set(algorithms) - ALGORITHMS):
            raise ValueError(f"{', '.join(refused)} has no public key; allowed are {', '.join(sorted(ALGORITHMS))}")
        return algorithms

    def caller(self, claims: Mapping[str, Any]) -> Caller | None:
        """Return the caller that verified claims describe, or None if they give no access."""
        return self._member(claims) if self.group else self._person(claims)

    def _member(self, claims: Mapping[str, Any]) -> Caller | None:
        """Return the caller for a colleague, with the rights of the first group in the file that they belong to.

        Groups are never combined: a reader of one project who administers another would administer both.
        """
        claim = claims.get(self.group_claim)
        values = [claim] if isinstance(claim, str) else _strings(claim)  # an address or a group may have spaces
        group = next((group for group in self.group if group.value in values), None)
        name = claims.get(self.name_claim)
        if group is None or not isinstance(name, str):
            return None
        if "email" in (self.name_claim, self.group_claim) and claims.get("email_verified") is not True:
            return None
        try:
            return ProjectSet.parse(group.projects).member(ProjectSet.member_name(name), ROLES[group.role])
        except ValueError:
            return None

    def _person(self, claims: Mapping[str, Any]) -> Caller | None:
        try:
            subject = _ID.validate_python(claims.get(self.name_claim), strict=True)
            tenant = _NAME.validate_python(claims.get(self.tenant_claim), strict=True)
            project = claims.get(self.project_claim)
            if project != EVERY_PROJECT:
                project = _NAME.validate_python(project, strict=True)
        except ValidationError:
            return None
        scopes = frozenset(_strings(claims.get(self.scope_claim)))
        if tenant == self.all_tenants:
            return Caller(subject, scopes=scopes) if project == EVERY_PROJECT else None
        return Caller(subject, tenant, None if project == EVERY_PROJECT else project, scopes)


class IssuersFile(FileSettings):
    """Content of the file that AUTH_ISSUERS names."""

    issuer: list[Issuer] = Field(min_length=1)

    @model_validator(mode="after")
    def _are_distinct(self) -> Self:
        if len({(each.issuer, each.audience) for each in self.issuer}) < len(self.issuer):
            raise ValueError("two issuers have the same issuer and audience")
        return self


def _strings(value: Any) -> list[str]:
    """Return the strings of a claim that is a list, or a text with spaces between its values."""
    if isinstance(value, str):
        return value.split()
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
