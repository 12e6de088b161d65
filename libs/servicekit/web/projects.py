"""Set of projects that a key or a group of an identity provider gives access to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from servicekit.web.auth import MEMBER, Caller

ALL: Final = "*"
MOST_PROJECTS: Final = 50
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_MEMBER_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,99}")


@dataclass(frozen=True, slots=True)
class ProjectSet:
    """Projects of a tenant. `*` stands for all projects or all tenants."""

    tenant: str
    projects: tuple[str, ...]

    @classmethod
    def parse(cls, names: Sequence[str]) -> Self:
        """Parse a list of projects, each written as `tenant/project`.

        Raises:
            ValueError: With a sentence, if a project is invalid, the list is empty or too long, or it names several
                tenants.
        """
        if not 0 < len(names) <= MOST_PROJECTS:
            raise ValueError(f"Enter 1 to {MOST_PROJECTS} projects as tenant/project.")
        pairs = []
        for name in names:
            tenant, slash, project = name.strip().partition("/")
            if not slash or not all(part == ALL or _NAME.fullmatch(part) for part in (tenant, project)):
                raise ValueError(
                    "Write projects as tenant/project, for example acme/support, or acme/* for all of acme."
                )
            pairs.append((tenant, project))
        if len({tenant for tenant, _ in pairs}) > 1:
            raise ValueError("All projects must be of one tenant: make another key for the other tenant.")
        tenant, projects = pairs[0][0], tuple(sorted({project for _, project in pairs}))
        if tenant == ALL and projects != (ALL,):
            raise ValueError("Write */* for all tenants, without project names.")
        return cls(tenant, (ALL,) if ALL in projects else projects)

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

    def member(self, name: str, scopes: frozenset[str]) -> Caller:
        """Return the colleague or program with the given name and scopes, limited to the projects of this set."""
        first = None if self.projects == (ALL,) else self.projects[0]
        more = frozenset(self.projects[1:])
        tenant = None if self.tenant == ALL else self.tenant
        return Caller(MEMBER + name, tenant, first, scopes, more_projects=more, is_person=False)

    @property
    def names(self) -> list[str]:
        return [f"{self.tenant}/{project}" for project in self.projects]

    @staticmethod
    def member_name(text: str) -> str:
        """Normalise the name of a colleague or a program: lower case, without surrounding spaces.

        Raises ValueError, with a sentence, if the name is invalid.
        """
        name = text.strip().lower()
        if not _MEMBER_NAME.fullmatch(name):
            raise ValueError(
                "A name has 1 to 100 letters, digits or . _ @ + - and begins with a letter or digit: ann@example.org."
            )
        return name
