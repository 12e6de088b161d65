"""Route that describes the caller. Services without a table of keys ask it who holds a key."""

from __future__ import annotations

from servicekit.web.auth import OWN_CALLER, CallerFacts, RequestCaller
from servicekit.web.routes import Routes


def callers_router() -> Routes:
    """Return the route that describes the holder and the permissions of the request's token."""
    router = Routes(
        "access",
        {401: "No valid access token.", 503: "The database is unavailable; retry after Retry-After."},
    )

    @router.at("GET", OWN_CALLER, "any token", summary="Holder of the token")
    async def own_caller(caller: RequestCaller) -> CallerFacts:
        """Return the subject, tenant, projects and scopes of the token with which the request is sent."""
        return CallerFacts(
            subject=caller.subject,
            tenant=caller.tenant,
            projects=caller.projects,
            scopes=sorted(caller.scopes),
            is_person=caller.is_person,
        )

    return router
