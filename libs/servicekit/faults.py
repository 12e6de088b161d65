"""Lets the fault harness into a service: a module named by the environment, else nothing.

Nothing of what it does is shipped; `docs/chaos.md` says what the harness puts there.
"""

from __future__ import annotations

import importlib
from typing import Protocol

from servicekit.service import Service, ServiceContext

VARIABLE = "AGENT_FEEDBACK_FAULTS"
"""Names the module whose object `faults` is a `Faults`. For tests only."""


class Faults(Protocol):
    def surround(self, context: ServiceContext) -> ServiceContext:
        """Return the replacement of the service's context."""
        ...

    def arm(self, service: Service) -> None:
        """Change the service after it was built and before it starts."""
        ...


class NoFaults:
    def surround(self, context: ServiceContext) -> ServiceContext:
        return context

    def arm(self, service: Service) -> None:
        pass


def faults_named(module: str | None) -> Faults:
    """The faults of `module`, or none where it is not named."""
    if not module:
        return NoFaults()
    faults: Faults = importlib.import_module(module).faults
    return faults
