"""The HTTP routes of a run in one process: those of all services, and its report."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from operator import or_

from fastapi import APIRouter

from contracts.scopes import ADMIN
from servicekit.web.application import Surface
from servicekit.web.permissions import Need
from standalone.stack import PROGRAMS, Stack
from standalone.summary import report_facts

REPORT = "/report"
PERMISSIONS = {("GET", REPORT): Need(scopes=frozenset({ADMIN}), whole_platform=True)}
SURFACE = reduce(or_, (program.surface for program in PROGRAMS), Surface(PERMISSIONS))
"""What the routes below need of the application around them."""


def routers_of(stack: Stack) -> Sequence[APIRouter]:
    """All routes of a started stack."""
    own = APIRouter()
    own.add_api_route(REPORT, partial(report_facts, stack), description="What was said, over the whole state.")
    return [*(router for service in stack.services.values() for router in service.routers), own]
