"""Authentication of API keys by asking the reporting service, which stores them, and the route that it asks."""

from __future__ import annotations

import re
from typing import Annotated, Final

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contracts.base import Id, Name
from servicekit.clock import Clock
from servicekit.errors import Unavailable
from servicekit.web.auth import Caller, RequestCaller
from servicekit.web.routes import Routes

OWN_CALLER: Final = "/access/caller"
"""Path of the route that describes the holder of the request's token."""
REMEMBERED_SECONDS: Final = 2.0
"""Time for which a process caches a token's caller, in seconds."""
_MOST_REMEMBERED: Final = 5_000
_SECONDS: Final = 3.0
_TOKEN: Final = re.compile(r"afk_[A-Za-z0-9_-]{43}")


class CallerFacts(BaseModel):
    """The holder of an access token, and the tenant, projects and scopes that the token grants access to."""

    model_config = ConfigDict(extra="ignore")

    subject: Id = Field(description="The holder, for example `member:ann`.", examples=["member:ann"])
    tenant: Name | None = Field(description="The tenant; null for all tenants.", examples=["acme"])
    projects: Annotated[list[Name], Field(min_length=1)] | None = Field(
        description="The projects; null for all projects of the tenant.", examples=[["support"]]
    )
    scopes: list[str] = Field(description="The scopes.", examples=[["read"]])
    is_person: bool = Field(
        description="True if the holder is a person who gives feedback; false for colleagues and programs."
    )


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


class RemoteKeys:
    """Authenticator for the API keys that the service at `url` stores.

    It asks that service who owns a token, and sends the token itself as authentication. Only the holder of a token can
    therefore learn who owns it. Valid tokens are cached for two seconds. Raises Unavailable if the service does not
    respond.
    """

    def __init__(self, url: str, clock: Clock, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._http = httpx.AsyncClient(base_url=url, timeout=_SECONDS, transport=transport, trust_env=False)
        self._clock = clock
        self._remembered: dict[str, tuple[float, Caller]] = {}

    async def authenticate(self, token: str) -> Caller | None:
        if not _TOKEN.fullmatch(token):
            return None
        now = self._clock.monotonic()
        remembered = self._remembered.get(token)
        if remembered is not None and now - remembered[0] < REMEMBERED_SECONDS:
            return remembered[1]
        self._remembered.pop(token, None)
        try:
            answer = await self._http.get(OWN_CALLER, headers={"Authorization": f"Bearer {token}"})
            if answer.status_code == 401:
                return None
            answer.raise_for_status()
            caller = _caller(CallerFacts.model_validate_json(answer.content))
        except (httpx.HTTPError, ValidationError):
            raise Unavailable("the service of keys (AUTH_KEYS_URL) does not answer") from None
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[token] = (now, caller)
        return caller

    async def close(self) -> None:
        await self._http.aclose()


def _caller(facts: CallerFacts) -> Caller:
    names = facts.projects or []
    first = names[0] if names else None
    return Caller(facts.subject, facts.tenant, first, frozenset(facts.scopes), frozenset(names[1:]), facts.is_person)
