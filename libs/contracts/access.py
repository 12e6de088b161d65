"""Description of an access token's holder, which the reporting service provides to the other services."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from contracts.base import Id, Name

OWN_CALLER: Final = "/access/caller"
"""Path of the route that describes the holder of the request's token. The service that stores keys serves it."""
MEMBER: Final = "member:"
"""Prefix of the subject of a colleague or a program. The name follows.

The prefix distinguishes a colleague from a chat user with the same name. It is the same for a key and for a token of an
identity provider, so that a person stays the same reviewer with either.
"""


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
