"""Generator of the reference in docs/services.md, from the services' definitions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from servicekit.definition import ServiceDefinition
from standalone.one_process.stack import PROGRAMS
from standalone.operations.service_tables import sections_of

PAGE = Path(__file__).parents[1] / "docs" / "services.md"
HEAD = """# Services

The pages of the services, made by `make docs` from `services/NAME/service.py`. `agent-feedback services` prints them.
[events.md](events.md) describes the topics, [http.md](http.md) the routes, and `.env.example` the settings. With 0 days
rows are kept without limit. The bridge keeps parked events for `CHAT_BRIDGE_PARKED_DAYS`.
"""


def page_of(service: ServiceDefinition[Any]) -> str:
    """Return a service's section in Markdown."""
    return "\n".join((f"## {service.name}\n", *(_table(*section) for section in sections_of(service))))


def text() -> str:
    """Return the page in Markdown, with all services' sections."""
    return "\n".join((HEAD, *(page_of(service) for service in PROGRAMS)))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def files() -> dict[Path, str]:
    """Return the text of the page, by path."""
    return {PAGE: text()}
