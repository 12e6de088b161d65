"""Description of the holder of a session or key, with which reporting answers the other services."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from contracts.base import Id, Name

OWN_CALLER: Final = "/access/caller"
"""Path on which the service that keeps accounts describes the holder of a token to the holder."""
SET_PASSWORD: Final = "/set-password"  # noqa: S105 # a path
"""Path of the page on which a person sets a password with a link."""


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


def password_link(base: str, secret: str) -> str:
    """Return the URL of the page that sets a password; `base` is the URL of the service that keeps accounts."""
    return f"{base.rstrip('/')}{SET_PASSWORD}?link={secret}"
