"""Declarative definition of a service: topics, routes, periodic work, retention and erasure.

Each service has one `ServiceDefinition` in `services/NAME/service.py`. Its function `opens` opens the service's
resources, for example a connection pool. These resources are called the service's parts, and are passed to all other
functions in the definition. `ServiceDefinition.build` builds a service from its definition.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, Self, TypeVar, get_type_hints

from fastapi import APIRouter

from contracts.feedback import FeedbackKeeper
from contracts.topics import ERASURE_REQUESTED, Consumer
from servicekit.db.erasure_ledger import Erase, LedgeredErasures
from servicekit.db.retention import Expiry
from servicekit.db.statements import Statement
from servicekit.log.erasing import ErasingHandler
from servicekit.log.handler import Handler
from servicekit.log.messages import Producer
from servicekit.service import Periodic, Service, ServiceContext
from servicekit.web.routes import GuardedRoute

P = TypeVar("P")
"""Type of a service's parts, which are the resources that its `opens` function returns."""
Work = Callable[[], Awaitable[object]]
OLDER: Final = {
    "timestamp": "r.{since} < to_timestamp($1::bigint / 1e6)",
    "microseconds": "r.{since} < $1",
    "milliseconds": "r.{since} < $1::bigint / 1000",
}
"""SQL condition for an expired row `r`, by the unit of its time column."""


@dataclass(frozen=True, slots=True)
class Reads(Generic[P]):
    """Consumer group of a service, with the handler for its batches.

    If the group reads erasure requests, the handler is wrapped in an `ErasingHandler` that carries them out, unless
    `erases_itself` is set. If `if_set` names a setting, the service joins the group only if that setting is set.
    """

    group: Consumer
    handler: Callable[[P], Handler]
    erases_itself: bool = False
    is_guarded: bool = False
    """True if the handler's store checks the erasure ledger in its writes (`servicekit/erasure_guard.py`)."""
    around: Callable[[Handler, Any], Handler] | None = None
    """Function that wraps the erasing handler. Its arguments are the erasing handler and the inner handler."""
    if_set: str = ""

    @property
    def kind(self) -> type[Handler]:
        """Class of the handler, according to the return annotation of `handler`."""
        kind: type[Handler] = get_type_hints(self.handler)["return"]
        return kind


@dataclass(frozen=True, slots=True)
class Every(Generic[P]):
    """Periodic work that runs every `seconds`, which is a number or the name of a setting.

    `work` returns the function to run, or several functions by name. If `if_set` names a setting, the work runs only if
    that setting is set.
    """

    name: str
    seconds: float | str
    work: Callable[[P], Work | Mapping[str, Work]]
    delay: float = 0.0
    if_set: str = ""


@dataclass(frozen=True, slots=True)
class Keeps:
    """Retention rule of a table: each row expires some days after the time in its column `since`.

    `days` names the setting that contains the number of days. If `only` is set, a row `r` expires only if this SQL
    condition is also true; `{moment}` stands for the oldest time to keep. `which` describes the expiring rows in words.

    `pool` names the service's part that is the connection pool for the table. If that part is None, the table does not
    exist.
    """

    table: str
    days: str
    since: str
    unit: Literal["timestamp", "microseconds", "milliseconds"] = "timestamp"
    only: str = ""
    which: str = ""
    pool: str = "pool"

    def expiry(self, settings: Any) -> Expiry:
        """Return the expiry rule of the table, with the number of days from `settings`."""
        older = OLDER[self.unit].format(since=self.since)
        moment = "to_timestamp($1::bigint / 1e6)"
        condition = f"{older} and {self.only.format(moment=moment)}" if self.only else older
        return Expiry(self.table, getattr(settings, self.days), condition)


@dataclass(frozen=True)
class ServiceDefinition(Generic[P]):
    """Definition of a service.

    `opens` opens the service's resources. Its arguments are the settings and the service that is being built.
    """

    name: FeedbackKeeper
    settings: type[Any]
    opens: Callable[..., Awaitable[P]]
    erases: str
    """Short description of the personal data that an erasure removes."""
    erase: Callable[[P], Erase] | None = None
    """Factory of the function that deletes people's data. The erasure ledger is in the part `pool`. None if all
    handlers erase data themselves."""
    receipts: Callable[[P], Producer] | None = None
    """Factory of the producer that writes erasure confirmations; by default, the service's own producer is used."""
    reads: Sequence[Reads[P]] = ()
    serves: Sequence[Callable[[P], APIRouter]] = ()
    """Routers of the service. Each route declares its permission (`web/permissions.py`)."""
    every: Sequence[Every[P]] = ()
    keeps: Sequence[Keeps] = ()
    holds: Mapping[str, Statement] = field(default_factory=dict)
    """Tables with rows about people. Each table maps to the statement that selects a person's rows, as JSON in the
    column `held`."""
    leaves: Mapping[str, str] = field(default_factory=dict)
    """Tables among `holds` in which an erasure leaves rows. Each table maps to the reason."""
    checks: Callable[[Any], object] = lambda settings: None
    """Function that reads the files and keys that the settings name. Raises StartError before anything is connected."""

    @property
    def routes(self) -> Sequence[GuardedRoute]:
        """Routes of the service, made without its parts. They describe the routes and cannot be called."""
        nothing: Any = _Nothing()
        routers = [router(nothing) for router in self.serves]
        return [route for router in routers for route in router.routes if isinstance(route, GuardedRoute)]

    def expiries(self, settings: Any, pool: str = "pool") -> list[Expiry]:
        """Return the expiry rules of the tables in the pool named `pool`, with the numbers of days from `settings`."""
        return [one.expiry(settings) for one in self.keeps if one.pool == pool]

    async def build(self, settings: Any, context: ServiceContext, *outside: Any) -> Service:
        """Build the service, connected and ready to start.

        Args:
            outside: Further arguments for `opens`.

        Raises:
            StartError: If the settings cannot be used.
        """
        service = Service(self.name, context)
        parts = await self.opens(settings, service, *outside)
        for pool in dict.fromkeys(one.pool for one in self.keeps):
            if getattr(parts, pool) is not None:
                service.expire(getattr(parts, pool), self.expiries(settings, pool))
        for reads in self.reads:
            if _is_set(settings, reads.if_set):
                service.consume(reads.group, self._handler(reads, parts, service))
        for every in self.every:
            if _is_set(settings, every.if_set):
                seconds = getattr(settings, every.seconds) if isinstance(every.seconds, str) else every.seconds
                for name, work in _named(every.name, every.work(parts)):
                    service.every(Periodic(name, seconds, work, every.delay))
        service.routers += [router(parts) for router in self.serves]
        return service

    def _handler(self, reads: Reads[P], parts: P, service: Service) -> Handler:
        handler = reads.handler(parts)
        if reads.group in ERASURE_REQUESTED.consumers and not reads.erases_itself:
            assert self.erase is not None, f"{reads.group} erases nothing"
            receipts = service.producer if self.receipts is None else self.receipts(parts)
            erasures = LedgeredErasures(getattr(parts, "pool"), self.erase(parts))  # noqa: B009 # of any parts
            erasing = ErasingHandler(handler, erasures, receipts, self.name, is_guarded=reads.is_guarded)
            handler = erasing if reads.around is None else reads.around(erasing, handler)
        return handler


class _Nothing:
    """Stands for a service's parts while its routes are described."""

    def __getattr__(self, _: str) -> Self:
        return self

    def __call__(self, *_: object, **__: object) -> Self:
        return self


def _is_set(settings: Any, name: str) -> bool:
    return not name or bool(getattr(settings, name))


def _named(name: str, work: Work | Mapping[str, Work]) -> list[tuple[str, Work]]:
    return [(f"{name} {key}", one) for key, one in work.items()] if isinstance(work, Mapping) else [(name, work)]
