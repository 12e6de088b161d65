"""Response model that describes the holder of a session or key; reporting returns it to the other services."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from contracts.base import Id, Name

OWN_CALLER: Final = "/access/caller"
"""Path of the route that describes the request's token, in the service that stores accounts."""
SET_PASSWORD: Final = "/set-password"  # noqa: S105 # a path
"""Path of the page that a password link opens, for setting a password."""


class CallerFacts(BaseModel):
    """Holder of a token: the subject, the tenant and projects that the token covers, and its scopes."""

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
    """Return the password link for `secret`; `base` is the URL of the service that stores accounts."""
    return f"{base.rstrip('/')}{SET_PASSWORD}?link={secret}"
