"""Description of an access token's holder, which the reporting service provides to the other services."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from contracts.base import Id, Name

OWN_CALLER: Final = "/access/caller"
"""Path of the route that describes the holder of the request's token. The service that stores accounts serves it."""
SET_PASSWORD: Final = "/set-password"  # noqa: S105 # a path
"""Path of the page for setting a password. A password link opens it."""


class CallerFacts(BaseModel):
    """The holder of an access token, and the tenant, projects and scopes that the token grants access to."""

    model_config = ConfigDict(extra="ignore")

    subject: Id = Field(description="The holder, for example `account:ann`.", examples=["account:ann"])
    tenant: Name | None = Field(description="The tenant; null for all tenants.", examples=["acme"])
    projects: Annotated[list[Name], Field(min_length=1)] | None = Field(
        description="The projects; null for all projects of the tenant.", examples=[["support"]]
    )
    scopes: list[str] = Field(description="The scopes.", examples=[["read"]])
    is_person: bool = Field(
        description="True if the holder is a person who gives feedback; false for accounts and keys."
    )


def password_link(base: str, secret: str) -> str:
    """Return the link with which a person can set a password.

    Args:
        base: URL of the service that stores the accounts.
        secret: Secret that authorises the change. It becomes part of the query string.
    """
    return f"{base.rstrip('/')}{SET_PASSWORD}?link={secret}"
