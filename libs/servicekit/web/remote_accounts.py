"""Sessions and keys of operators in services that do not issue them: reporting says whose a token is."""

from __future__ import annotations

import re
from typing import Annotated, Final

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contracts.base import Id, Name
from servicekit.clock import Clock
from servicekit.errors import Unavailable
from servicekit.web.auth import Caller

OWN_CALLER: Final = "/access/caller"
"""Path on which reporting describes the holder of a token to the holder."""
REMEMBERED_SECONDS: Final = 2.0
"""Time in which a process does not ask about a token again, in seconds."""
_MOST_REMEMBERED: Final = 5_000
_SECONDS: Final = 3.0
_TOKEN: Final = re.compile(r"af[sk]_[A-Za-z0-9_-]{43}")


class CallerFacts(BaseModel):
    """Holder of a token: the subject, where the token is valid, and what it allows."""

    model_config = ConfigDict(extra="ignore")

    subject: Id = Field(description="The holder, for example `account:ann`.", examples=["account:ann"])
    tenant: Name | None = Field(description="The tenant; null for all tenants.", examples=["acme"])
    projects: Annotated[list[Name], Field(min_length=1)] | None = Field(
        description="The projects; null for all of the tenant's.", examples=[["support"]]
    )
    scopes: list[str] = Field(description="The scopes.", examples=[["read"]])
    is_person: bool = Field(description="False for accounts and keys, which give no feedback of their own.")

    @property
    def caller(self) -> Caller:
        names = self.projects or []
        first = names[0] if names else None
        return Caller(self.subject, self.tenant, first, frozenset(self.scopes), frozenset(names[1:]), self.is_person)


def facts_of(caller: Caller) -> CallerFacts:
    """Return the description of a caller."""
    return CallerFacts(
        subject=caller.subject,
        tenant=caller.tenant,
        projects=caller.projects,
        scopes=sorted(caller.scopes),
        is_person=caller.is_person,
    )


class RemoteAccounts:
    """Authenticator of sessions and keys that the service at `url` issues.

    The token is its own proof: only its holder learns whose it is. A process remembers valid tokens for two seconds.
    Raises Unavailable if the service does not answer.
    """

    def __init__(self, url: str, clock: Clock, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._http = httpx.AsyncClient(base_url=url, timeout=_SECONDS, transport=transport, trust_env=False)
        self._clock = clock
        self._remembered: dict[str, tuple[float, Caller]] = {}

    async def authenticate(self, token: str) -> Caller | None:
        if not _TOKEN.fullmatch(token):
            return None
        now = self._clock.monotonic()
        known = self._remembered.get(token)
        if known is not None and now - known[0] < REMEMBERED_SECONDS:
            return known[1]
        self._remembered.pop(token, None)
        try:
            answer = await self._http.get(OWN_CALLER, headers={"Authorization": f"Bearer {token}"})
            if answer.status_code == 401:
                return None
            answer.raise_for_status()
            caller = CallerFacts.model_validate_json(answer.content).caller
        except (httpx.HTTPError, ValidationError):
            raise Unavailable("the service of accounts (AUTH_ACCOUNTS_URL) does not answer") from None
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[token] = (now, caller)
        return caller

    async def close(self) -> None:
        await self._http.aclose()
