"""Route that loads the sample conversations.

If there are no projects, the dashboard shows a page with a button that uses this route.
"""

from __future__ import annotations

from typing import Final, Protocol

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from contracts.scopes import ADMIN
from reporting.dashboard.rendering import error_page
from servicekit import Caller

SAMPLE: Final = "/dashboard/sample"


class SampleLoader(Protocol):
    """Loader of the sample conversations, which works in the background."""

    @property
    def is_loading(self) -> bool:
        """Return True while the sample is being loaded."""

    def start(self) -> None:
        """Start loading the sample, unless it is loading or loaded."""


def may_load(caller: Caller) -> bool:
    """Return True if the caller may load the sample.

    The sample has a tenant of its own, so only administrators of all tenants may load it.
    """
    return caller.tenant is None and caller.project is None and ADMIN in caller.scopes


def sample_router(sample: SampleLoader | None) -> APIRouter:
    """Return the route that loads the sample.

    The route responds with 404 if `sample` is None.
    """
    router = APIRouter(include_in_schema=False)

    @router.post(SAMPLE, response_model=None)
    async def load(request: Request) -> Response:
        if sample is None:
            why = "Only a run of `agent-feedback up` can load the sample."
            return error_page(404, "There is no sample here", why)
        if not may_load(request.state.caller):
            why = "The sample has a tenant of its own, so loading it needs a token for all tenants."
            return error_page(403, "This token may not load the sample", why)
        sample.start()
        return RedirectResponse("/", 303)

    return router
