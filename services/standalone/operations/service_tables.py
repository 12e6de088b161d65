"""Tables that describe a service: topics, routes, scheduled tasks, retention and erasure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from contracts.topics import consumed_by
from servicekit.definition import Every, Keeps, ServiceDefinition
from servicekit.web.paths import template_of
from servicekit.web.permissions import Need

Section = tuple[Sequence[str], Sequence[Sequence[str]]]
"""Column headings and rows of a table."""


def sections_of(service: ServiceDefinition[Any]) -> Sequence[Section]:
    """Return the tables that describe a service, with code in backticks."""
    return (
        (("reads with the group", "handler", "topics"), list(_reads(service))),
        (("serves", "to"), list(_serves(service))),
        (("does", "every"), [_does(service, one) for one in service.every]),
        (("keeps", "days", "set by"), [_keeps(service, one) for one in service.keeps]),
        (("holds of a person", "after an erasure"), list(_holds(service))),
        (("erases of a person",), [(service.erases,)]),
    )


def _reads(service: ServiceDefinition[Any]) -> Iterable[Sequence[str]]:
    for reads in service.reads:
        module = reads.kind.__module__.removeprefix(f"{service.name}.")
        topics = ", ".join(f"`{topic.name}`" for topic in consumed_by(reads.group))
        yield f"`{reads.group}`{_if_set(service, reads.if_set)}", f"`{module}.{reads.kind.__name__}`", topics


def _serves(service: ServiceDefinition[Any]) -> Iterable[Sequence[str]]:
    for (method, path), need in service.permissions.items():
        yield f"`{method} {template_of(path)}`", allowed(need)


def allowed(need: Need) -> str:
    """Describe the callers that may use a route."""
    if need.public:
        return "everyone, without a token"
    scopes = " or ".join(f"`{scope}`" for scope in sorted(need.scopes))
    return (f"tokens with the scope {scopes}" if scopes else "every token") + (
        " for all tenants" if need.whole_platform else ""
    )


def _does(service: ServiceDefinition[Any], every: Every[Any]) -> Sequence[str]:
    return every.name + _if_set(service, every.if_set), _interval(service, every)


def _interval(service: ServiceDefinition[Any], every: Every[Any]) -> str:
    if not isinstance(every.seconds, str):
        return f"{every.seconds:g} s"
    return f"{_default(service, every.seconds)} s (`{_variable(service, every.seconds)}`)"


def _keeps(service: ServiceDefinition[Any], keeps: Keeps) -> Sequence[str]:
    which = f": {keeps.which}" if keeps.which else ""
    return f"`{keeps.table}`{which}", _default(service, keeps.days), f"`{_variable(service, keeps.days)}`"


def _holds(service: ServiceDefinition[Any]) -> Iterable[Sequence[str]]:
    for table in service.holds:
        yield f"`{table}`", f"stays: {service.leaves[table]}" if table in service.leaves else "erased"


def _default(service: ServiceDefinition[Any], setting: str) -> str:
    return f"{service.settings.model_fields[setting].default:g}"


def _variable(service: ServiceDefinition[Any], setting: str) -> str:
    return f"{service.settings.model_config['env_prefix']}{setting}".upper()


def _if_set(service: ServiceDefinition[Any], setting: str) -> str:
    return f" (if `{_variable(service, setting)}` is set)" if setting else ""
