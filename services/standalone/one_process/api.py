"""HTTP routes of all services in one process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from fastapi import APIRouter

from servicekit.web.application import Surface
from standalone.one_process.stack import PROGRAMS, Stack

SURFACE = reduce(or_, (program.surface for program in PROGRAMS), Surface({}))
"""Permissions, body limits and error pages of all routes of a run."""


def routers_of(stack: Stack) -> Sequence[APIRouter]:
    """Return the routers of all services in a started stack."""
    return [router for service in stack.services.values() for router in service.routers]
