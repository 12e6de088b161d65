"""HTTP routes of a single-process run: those of all services, and the report."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from operator import or_

from fastapi import APIRouter

from contracts.scopes import ADMIN
from servicekit.web.application import Surface
from servicekit.web.permissions import Need
from standalone.one_process.stack import PROGRAMS, Stack
from standalone.one_process.summary import report_facts

REPORT = "/report"
PERMISSIONS = {("GET", REPORT): Need(scopes=frozenset({ADMIN}), whole_platform=True)}
SURFACE = reduce(or_, (program.surface for program in PROGRAMS), Surface(PERMISSIONS))
"""Permissions, body limits and error pages of all routes of a run."""


def routers_of(stack: Stack) -> Sequence[APIRouter]:
    """Return the routers of all services in a started stack, and the router of the report."""
    own = APIRouter()
    own.add_api_route(REPORT, partial(report_facts, stack), description="Summarise the feedback in the whole state.")
    return [*(router for service in stack.services.values() for router in service.routers), own]
