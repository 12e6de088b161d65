"""HTTP routes of all services in one process."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from standalone.one_process.stack import Stack


def routers_of(stack: Stack) -> Sequence[APIRouter]:
    """Return the routers of all services in a started stack."""
    return [router for service in stack.services.values() for router in service.routers]
