"""Public interface of the platform: the names that a service may import with `from servicekit import …`.

A name is imported from its module on first use. A module without I/O can therefore import values from here without
loading the Kafka, PostgreSQL and HTTP clients. The implementation is in the packages `log` (Kafka),
`web` (HTTP) and `db` (PostgreSQL) and in this package's small modules.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

PUBLIC_NAMES: Final = {
    name: module
    for module, names in {
        "circuit_breaker": "CircuitBreaker",
        "clock": "Clock",
        "db.database": "Database",
        "db.statements": "Statements",
        "definition": "Keeps ServiceDefinition",
        "errors": "RequestRefused StartError Unavailable",
        "interrupts": "run_service",
        "log.handler": "Handler",
        "log.messages": "Message Producer",
        "log.outcome": "Outcome",
        "log.records": "Received",
        "log.topic_handlers": "TopicHandlers",
        "service": "Periodic Service",
        "stages": "stage",
        "settings": "FileSettings ReadSettings Settings",
        "web.auth": "COOKIE Caller",
        "web.bodies": "read_body",
        "web.forms": "Form",
        "web.guard": "brings_token",
        "web.projects": "ProjectSet member_name",
        "web.routes": "GuardedRoute Routes",
    }.items()
    for name in names.split()
}
"""Module path by public name."""


if TYPE_CHECKING:
    from servicekit.circuit_breaker import CircuitBreaker
    from servicekit.clock import Clock
    from servicekit.db.database import Database
    from servicekit.db.statements import Statements
    from servicekit.definition import Keeps, ServiceDefinition
    from servicekit.errors import RequestRefused, StartError, Unavailable
    from servicekit.interrupts import run_service
    from servicekit.log.handler import Handler
    from servicekit.log.messages import Message, Producer
    from servicekit.log.outcome import Outcome
    from servicekit.log.records import Received
    from servicekit.log.topic_handlers import TopicHandlers
    from servicekit.service import Periodic, Service
    from servicekit.settings import FileSettings, ReadSettings, Settings
    from servicekit.stages import stage
    from servicekit.web.auth import COOKIE, Caller
    from servicekit.web.bodies import read_body
    from servicekit.web.forms import Form
    from servicekit.web.guard import brings_token
    from servicekit.web.projects import ProjectSet, member_name
    from servicekit.web.routes import GuardedRoute, Routes
else:

    def __getattr__(name: str) -> Any:
        """Import a public name from its module on first use."""
        if name not in PUBLIC_NAMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{PUBLIC_NAMES[name]}"), name)
        return value
