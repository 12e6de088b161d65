"""HTTP route on which the holder of a token learns whose it is and what it allows."""

from __future__ import annotations

from reporting.api.conversations import FAILURES
from servicekit import OWN_CALLER, Caller, CallerFacts, Routes, facts_of


def callers_router() -> Routes:
    """Return the route that describes the caller."""
    router = Routes("access", FAILURES)

    @router.at("GET", OWN_CALLER, summary="Holder of the token")
    async def own_caller(caller: Caller) -> CallerFacts:
        """Return the subject, tenant, projects and scopes of the token that the request is sent with."""
        return facts_of(caller)

    return router
