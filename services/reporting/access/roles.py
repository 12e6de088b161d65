"""Roles, their scopes, and the sets of projects that accounts and keys may use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self, get_args

from contracts.scopes import ADMIN, EXPORT, OPERATE, READ, REVIEW
from servicekit import Caller, RequestRefused

Role = Literal["reader", "reviewer", "operator", "admin"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
ALL: Final = "*"
MOST_PROJECTS: Final = 50
SCOPES: Final[dict[Role, frozenset[str]]] = {
    "reader": frozenset({READ}),
    "reviewer": frozenset({READ, REVIEW}),
    "operator": frozenset({READ, REVIEW, EXPORT, OPERATE}),
    "admin": frozenset({READ, REVIEW, EXPORT, OPERATE, ADMIN}),
}
"""Scopes of each role."""
MEANINGS: Final[dict[Role, str]] = {
    "reader": "read reports and transcripts",
    "reviewer": "read, and review verdicts and issues",
    "operator": "read, review, export, and change alert rules",
    "admin": "everything, including erasure and accounts",
}
"""Description of each role's rights."""
_ACCOUNT: Final = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,99}")
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class ProjectSet:
    """Projects of a tenant that an account or API key may use. `*` stands for all projects or all tenants."""

    tenant: str
    projects: tuple[str, ...]

    @classmethod
    def parse(cls, places: Sequence[str]) -> Self:
        """Parse a list of projects, each written as `tenant/project`.

        Raises:
            RequestRefused: If a project is invalid, the list is empty or too long, or it names several tenants.
        """
        if not 0 < len(places) <= MOST_PROJECTS:
            raise RequestRefused(422, f"Enter 1 to {MOST_PROJECTS} projects as tenant/project.")
        pairs = []
        for place in places:
            tenant, slash, project = place.strip().partition("/")
            if not slash or not all(one == ALL or _NAME.fullmatch(one) for one in (tenant, project)):
                raise RequestRefused(
                    422, "Write projects as tenant/project, for example acme/support, or acme/* for all of acme."
                )
            pairs.append((tenant, project))
        if len({tenant for tenant, _ in pairs}) > 1:
            raise RequestRefused(422, "An account belongs to one tenant: add another account for the other tenant.")
        tenant, names = pairs[0][0], tuple(sorted({project for _, project in pairs}))
        if tenant == ALL and names != (ALL,):
            raise RequestRefused(422, "Write */* for all tenants, without project names.")
        return cls(tenant, (ALL,) if ALL in names else names)

    @classmethod
    def of(cls, caller: Caller) -> Self:
        """Return the set of projects that a caller may use."""
        if caller.tenant is None:
            return cls(ALL, (ALL,))
        if caller.project is None:
            return cls(caller.tenant, (ALL,))
        return cls(caller.tenant, tuple(sorted({caller.project, *caller.more_projects})))

    def covers(self, other: ProjectSet) -> bool:
        """Return True if this set contains every project of `other`."""
        if self.tenant != ALL and self.tenant != other.tenant:
            return False
        return self.projects == (ALL,) or set(other.projects) <= set(self.projects)

    def caller(self, subject: str, scopes: frozenset[str]) -> Caller:
        """Return a caller with the given subject and scopes that may use only the projects of this set."""
        first = None if self.projects == (ALL,) else self.projects[0]
        more = frozenset(self.projects[1:])
        tenant = None if self.tenant == ALL else self.tenant
        return Caller(subject, tenant, first, scopes, more_projects=more, is_person=False)

    @property
    def places(self) -> list[str]:
        return [f"{self.tenant}/{project}" for project in self.projects]


def may_give_access(caller: Caller) -> bool:
    """Return True if the caller may manage accounts and keys.

    This requires all scopes of an administrator, because nobody may grant a scope that they lack.
    """
    return SCOPES["admin"] <= caller.scopes


def managed_by(caller: Caller) -> ProjectSet:
    """Return the projects in which the caller may manage accounts and keys.

    Raises:
        RequestRefused: If the caller may not manage access.
    """
    if not may_give_access(caller):
        raise RequestRefused(403, f"To manage access you need all of the scopes {', '.join(sorted(SCOPES['admin']))}.")
    return ProjectSet.of(caller)


def is_account_name(name: str) -> bool:
    """Return True if `name` is a valid account name."""
    return _ACCOUNT.fullmatch(name) is not None


def account_name(text: str) -> str:
    """Normalise an account name to lower case, without surrounding spaces.

    Raises:
        RequestRefused: If the name is invalid.
    """
    name = text.strip().lower()
    if not is_account_name(name):
        raise RequestRefused(
            422, "A name has 1 to 100 letters, digits or . _ @ + - and begins with a letter or digit: ann@example.org."
        )
    return name


def role_of(text: str) -> Role:
    """Return the role with the given name.

    Raises:
        RequestRefused: If there is no such role.
    """
    for role in ROLES:
        if role == text:
            return role
    raise RequestRefused(422, f"The roles are {', '.join(ROLES)}.")
