"""The gateway sends every route to its service, with an unchanged path."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from standalone.programs import PROGRAMS

CONFIGURATION = (Path(__file__).parents[2] / "deploy" / "gateway.conf").read_text("utf-8")
RULES: list[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern), service)
    for pattern, service in re.findall(r'^    "~(.+)" "(\w+)";$', CONFIGURATION, re.MULTILINE)
]
DEFAULT: str
[DEFAULT] = re.findall(r'^    default "(\w+)";$', CONFIGURATION, re.MULTILINE)
ID = "a%2Fturns%2Fb%3F;..%20%F0%9F%91%8D"


def service_of(request: str) -> str:
    """Evaluate nginx's map: return the service of the first matching pattern in the file, else the default."""
    return next((service for pattern, service in RULES if pattern.search(request)), DEFAULT)


@pytest.mark.parametrize(
    ("service", "method", "path"),
    [(one.name, route.method, route.path_format) for one in PROGRAMS for route in one.routes],
)
@pytest.mark.parametrize("query", ["", "?user_id=bob"])
def test_every_route_reaches_its_service(service: str, method: str, path: str, query: str) -> None:
    address = re.sub(r"\{(\w+)\}", lambda name: "acme" if name[1] in ("tenant", "project") else ID, path)
    assert service_of(f"{method} {address}{query}") == service, "add a line to the map in deploy/gateway.conf"


@pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/metrics"])
def test_what_each_service_has_of_its_own_is_not_passed_on(path: str) -> None:
    assert service_of(f"GET {path}") == "none"


def test_ids_that_look_like_routes_change_nothing() -> None:
    turns = "/conversations/acme/support/detect/turns/metadata"
    assert service_of(f"POST {turns}/feedback") == "feedback"
    assert service_of(f"GET {turns}/feedback") == "reporting"
    assert service_of("POST /conversations/acme/support/ingest%2Fdetect/turns-with-feedbacks") == "reporting"


def test_the_path_is_passed_on_as_it_was_sent() -> None:
    assert "proxy_pass http://$service;" in CONFIGURATION and "merge_slashes off;" in CONFIGURATION
