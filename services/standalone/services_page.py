"""The services' pages as text, for `agent-feedback services` and docs/services.md.

`python -m standalone.services_page` writes docs/services.md; `--check` compares it instead.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from contracts.topics import consumed_by
from servicekit.definition import Every, Keeps, ServiceDefinition
from servicekit.web.paths import template_of
from servicekit.web.permissions import Need
from standalone.stack import PROGRAMS

PAGE = Path(__file__).parents[2] / "docs" / "services.md"
HEAD = """# Services

The pages of the services, made by `make docs` from `services/NAME/service.py`. `agent-feedback services` prints them.
[events.md](events.md) describes the topics, [http.md](http.md) the routes, and `.env.example` the settings. With 0 days
rows are kept without limit. The bridge keeps parked events for `CHAT_BRIDGE_PARKED_DAYS`.
"""


Section = tuple[Sequence[str], Sequence[Sequence[str]]]
"""Headings of a table, and its rows."""


def sections_of(service: ServiceDefinition[Any]) -> Sequence[Section]:
    """Return the tables of a service's page; code is in backticks."""
    return (
        (("reads with the group", "handler", "topics"), list(_reads(service))),
        (("serves", "to"), list(_serves(service))),
        (("does", "every"), [_does(service, one) for one in service.every]),
        (("keeps", "days", "set by"), [_keeps(service, one) for one in service.keeps]),
        (("erases of a person",), [(service.erases.what,)]),
    )


def page_of(service: ServiceDefinition[Any]) -> str:
    """Return a service's page in Markdown."""
    return "\n".join((f"## {service.name}\n", *(_table(*section) for section in sections_of(service))))


def text() -> str:
    """Return all pages in Markdown."""
    return "\n".join((HEAD, *(page_of(service) for service in PROGRAMS)))


def _reads(service: ServiceDefinition[Any]) -> Iterable[Sequence[str]]:
    for reads in service.reads:
        module = reads.kind.__module__.removeprefix(f"{service.name}.")
        topics = ", ".join(f"`{topic.name}`" for topic in consumed_by(reads.group))
        yield f"`{reads.group}`{_if_set(service, reads.if_set)}", f"`{module}.{reads.kind.__name__}`", topics


def _serves(service: ServiceDefinition[Any]) -> Iterable[Sequence[str]]:
    for (method, path), need in service.permissions.items():
        yield f"`{method} {template_of(path)}`", allowed(need)


def allowed(need: Need) -> str:
    """Return who may call a route, in words."""
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


def _default(service: ServiceDefinition[Any], setting: str) -> str:
    return f"{service.settings.model_fields[setting].default:g}"


def _variable(service: ServiceDefinition[Any], setting: str) -> str:
    return f"{service.settings.model_config['env_prefix']}{setting}".upper()


def _if_set(service: ServiceDefinition[Any], setting: str) -> str:
    return f" (if `{_variable(service, setting)}` is set)" if setting else ""


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def main() -> int:
    wanted = text()
    if "--check" not in sys.argv:
        PAGE.write_text(wanted, "utf-8")
    elif not PAGE.exists() or PAGE.read_text("utf-8") != wanted:
        sys.stderr.write(f"{PAGE.name} is not up to date. Run `make docs`.\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
