"""Declarative definition of a service: routes, retention and erasure, and the functions that open and connect it.

Each service has one `ServiceDefinition` in `services/NAME/service.py`. Its function `opens` opens the service's
resources, for example a connection pool. These resources are called the service's parts. Its function `connects`
subscribes handlers and schedules periodic work.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, Protocol, Self, TypeVar

import asyncpg
from fastapi import APIRouter

from contracts.feedback import ServiceName
from servicekit.db.retention import Expiry
from servicekit.db.statements import Statement
from servicekit.service import Service, ServiceContext
from servicekit.web.routes import GuardedRoute


class Parts(Protocol):
    """Resources of a service, with the connection pool for its tables."""

    @property
    def pool(self) -> asyncpg.Pool: ...


P = TypeVar("P", bound=Parts)
OLDER: Final = {
    "timestamp": "r.{since} < to_timestamp($1::bigint / 1e6)",
    "microseconds": "r.{since} < $1",
    "milliseconds": "r.{since} < $1::bigint / 1000",
}
"""SQL condition for an expired row `r`, by the unit of its time column."""


@dataclass(frozen=True, slots=True)
class Keeps:
    """Retention rule of a table: each row expires some days after the time in its column `since`.

    `days` names the setting that contains the number of days. If `only` is set, a row `r` expires only if this SQL
    condition is also true; `{moment}` stands for the oldest time to keep.

    `by_project` names the setting that maps `tenant/project` to another number of days for the rows of that project.
    """

    table: str
    days: str
    since: str
    unit: Literal["timestamp", "microseconds", "milliseconds"] = "timestamp"
    only: str = ""
    by_project: str = ""

    def expiry(self, settings: Any) -> Expiry:
        """Return the expiry rule of the table, with the number of days from `settings`."""
        older = OLDER[self.unit].format(since=self.since)
        moment = "to_timestamp($1::bigint / 1e6)"
        condition = f"{older} and {self.only.format(moment=moment)}" if self.only else older
        return Expiry(self.table, getattr(settings, self.days), condition)

    def expiries(self, settings: Any) -> list[Expiry]:
        """Return the expiry rules of the table: one for each project with its own number of days, and one for the rest.

        The names of tenants and projects must be safe inside of SQL quotes.
        """
        rest = self.expiry(settings)
        own: Mapping[str, float] = getattr(settings, self.by_project) if self.by_project else {}
        if not own:
            return [rest]
        of_row = "r.tenant || '/' || r.project"
        others = ", ".join(f"'{project}'" for project in own)
        return [
            *(
                Expiry(self.table, days, f"{of_row} = '{project}' and {rest.condition}")
                for project, days in own.items()
            ),
            Expiry(self.table, rest.days, f"{of_row} not in ({others}) and {rest.condition}"),
        ]


@dataclass(frozen=True)
class ServiceDefinition(Generic[P]):
    """Definition of a service."""

    name: ServiceName
    settings: type[Any]
    opens: Callable[[Any, Service], Awaitable[P]]
    """Function that opens the service's resources. Its arguments are the settings and the service that is being built.
    Raises StartError before anything is connected if a file or key in the settings is invalid."""
    connects: Callable[[P, Service], None] = lambda parts, service: None
    """Function that subscribes the service's handlers and schedules its periodic work."""
    serves: Callable[[P], Sequence[APIRouter]] = lambda parts: ()
    """Function that makes the service's routers. Each route declares its permission (`web/guard.py`)."""
    keeps: Sequence[Keeps] = ()
    holds: Mapping[str, Statement] = field(default_factory=dict)
    """Tables with rows about people. Each table maps to the statement that selects a person's rows, as JSON in the
    column `held`."""
    leaves: Mapping[str, str] = field(default_factory=dict)
    """Tables among `holds` in which an erasure leaves rows. Each table maps to the reason."""

    @property
    def routes(self) -> Sequence[GuardedRoute]:
        """Routes of the service, made without its parts. They describe the routes and cannot be called."""
        nothing: Any = _Nothing()
        return [route for router in self.serves(nothing) for route in router.routes if isinstance(route, GuardedRoute)]

    def expiries(self, settings: Any) -> list[Expiry]:
        """Return the expiry rules of the service's tables, with the numbers of days from `settings`."""
        return [expiry for table in self.keeps for expiry in table.expiries(settings)]

    async def build(self, settings: Any, context: ServiceContext) -> Service:
        """Build the service, connected and ready to start. If that fails, everything it has opened is closed.

        Raises:
            StartError: If the settings cannot be used.
        """
        service = Service(self.name, context)
        try:
            parts = service.parts = await self.opens(settings, service)
            if self.keeps:
                service.expire(parts.pool, self.expiries(settings))
            self.connects(parts, service)
            service.routers += self.serves(parts)
        except BaseException:
            await service.stop()
            raise
        return service


class _Nothing:
    """Stand-in for a service's parts while its routes are described."""

    def __getattr__(self, _: str) -> Self:
        return self

    def __call__(self, *_: object, **__: object) -> Self:
        return self
