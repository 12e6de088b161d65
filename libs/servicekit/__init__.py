"""Public interface of the platform: everything that a service may import, as `from servicekit import …`.

Each name is loaded on first use. Therefore a pure module can import values from here without loading Kafka, PostgreSQL
or HTTP clients (decision 119). The implementation is in the packages `log` (Kafka), `web` (HTTP) and `db` (PostgreSQL)
and in small modules next to them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

PUBLIC_NAMES: Final = {
    name: module
    for module, names in {
        "circuit_breaker": "CircuitBreaker",
        "clock": "Clock",
        "db.erasure_ledger": "ErasureLedger",
        "db.inline_release_pool": "connection_usage",
        "db.pools": "PLANNED_FREELY shown",
        "db.row_security": "tenant_in_sight",
        "db.statements": "Statement columns_of load_statements",
        "definition": "Erases Every Keeps Reads Serves ServiceDefinition",
        "error_kinds": "is_transient unavailable_as",
        "errors": "BadRequest StartError Unavailable",
        "interrupts": "run_service",
        "log.handler": "Handler",
        "log.late_outcomes": "LateOutcome LateOutcomes",
        "log.messages": "Message Producer Written",
        "log.outcome": "DeadLettered ERASED Ignored Outcome Parked STORED UNCHANGED",
        "log.records": "Received Tombstone Unreadable",
        "logging": "frames logger",
        "request_batcher": "RequestBatcher",
        "service": "Service",
        "settings": "PostgresUrl ReadSettings Settings read_toml secret_of",
        "web.answering": "failure_id",
        "web.auth": "Authenticator COOKIE Caller caller_of",
        "web.bodies": "Malformed read_body",
        "web.direct": "DirectRoute",
        "web.documents": "Document",
        "web.journal": "Where",
        "web.parameters": "ProjectPath TenantPath",
        "web.permissions": "ANY_TOKEN PUBLIC needs",
        "web.refusals": "documented refusal require_media_type",
    }.items()
    for name in names.split()
}
"""The module of each public name."""


if TYPE_CHECKING:
    from servicekit.circuit_breaker import CircuitBreaker
    from servicekit.clock import Clock
    from servicekit.db.erasure_ledger import ErasureLedger
    from servicekit.db.inline_release_pool import connection_usage
    from servicekit.db.pools import PLANNED_FREELY, shown
    from servicekit.db.row_security import tenant_in_sight
    from servicekit.db.statements import Statement, columns_of, load_statements
    from servicekit.definition import Erases, Every, Keeps, Reads, Serves, ServiceDefinition
    from servicekit.error_kinds import is_transient, unavailable_as
    from servicekit.errors import BadRequest, StartError, Unavailable
    from servicekit.interrupts import run_service
    from servicekit.log.handler import Handler
    from servicekit.log.late_outcomes import LateOutcome, LateOutcomes
    from servicekit.log.messages import Message, Producer, Written
    from servicekit.log.outcome import ERASED, STORED, UNCHANGED, DeadLettered, Ignored, Outcome, Parked
    from servicekit.log.records import Received, Tombstone, Unreadable
    from servicekit.logging import frames, logger
    from servicekit.request_batcher import RequestBatcher
    from servicekit.service import Service
    from servicekit.settings import PostgresUrl, ReadSettings, Settings, read_toml, secret_of
    from servicekit.web.answering import failure_id
    from servicekit.web.auth import COOKIE, Authenticator, Caller, caller_of
    from servicekit.web.bodies import Malformed, read_body
    from servicekit.web.direct import DirectRoute
    from servicekit.web.documents import Document
    from servicekit.web.journal import Where
    from servicekit.web.parameters import ProjectPath, TenantPath
    from servicekit.web.permissions import ANY_TOKEN, PUBLIC, needs
    from servicekit.web.refusals import documented, refusal, require_media_type
else:

    def __getattr__(name: str) -> Any:
        """Load a public name from its module."""
        if name not in PUBLIC_NAMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{PUBLIC_NAMES[name]}"), name)
        return value
