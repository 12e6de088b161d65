"""Webhook endpoints from a file, with the secrets that it names."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from contracts.base import Name
from contracts.topics import ERASURE_REQUESTED, FEEDBACK_CREATED, SESSION_CREATED
from servicekit.errors import StartError
from servicekit.settings import read_toml, secret_of

SECRET_PREFIX = "whsec_"  # noqa: S105 # what every such secret begins with
EVENTS = (FEEDBACK_CREATED.name, SESSION_CREATED.name, ERASURE_REQUESTED.name)
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{2,99}$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class EndpointSettings(_Part):
    """A receiver as the file names it.

    `secrets` names environment variables that hold the keys (or NAME_FILE files with them); every request is signed
    with each, so that a key can be changed. Without `project` it gets all projects, and only then session ratings,
    which belong to none. `private` allows addresses that are not on the public Internet, and `http`.
    """

    name: Name
    url: Annotated[str, StringConstraints(pattern=r"^https?://[^\x00-\x20]+$", max_length=2_000)]
    tenant: Name
    project: Name | None = None
    events: Annotated[list[Literal["feedback.created", "feedback.session.created"]], Field(min_length=1)] = [
        "feedback.created"
    ]
    secrets: Annotated[list[Variable], Field(min_length=1, max_length=5)]
    format: Literal["standard", "cloudevents"] = "standard"
    private: bool = False

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        parts = urlsplit(url)
        if not parts.hostname or parts.username is not None or parts.fragment or (parts.port or 1) < 1:
            raise ValueError("must be an address without a user, a password or a fragment")
        return url

    @model_validator(mode="after")
    def _is_closed_to_listeners(self) -> Self:
        if self.url.startswith("http:") and not self.private:
            raise ValueError("http is for private addresses alone: use https, or set private")
        if self.project is not None and SESSION_CREATED.name in self.events:
            raise ValueError("session ratings belong to no project: leave project out")
        return self


class _File(_Part):
    endpoint: Annotated[list[EndpointSettings], Field(min_length=1)]


class Endpoint(_Part):
    """A receiver with its keys, the bytes that requests are signed with."""

    settings: EndpointSettings
    keys: Annotated[tuple[bytes, ...], Field(repr=False)]

    @property
    def name(self) -> str:
        return self.settings.name

    def wants(self, topic: str, tenant: str, project: str | None) -> bool:
        """Return True if the endpoint wants events of `topic` about that place. Erasures follow all that was sent."""
        here = self.settings.tenant == tenant and self.settings.project in (None, project)
        if topic == ERASURE_REQUESTED.name:
            return self.settings.tenant == tenant
        return here and topic in self.settings.events


def read_endpoints(path: Path) -> Sequence[Endpoint]:
    """The receivers of the file. Raises StartError, without a value of it."""
    found = read_toml(path, _File).endpoint
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        raise StartError(f"The file {path} names an endpoint twice.")
    return [Endpoint(settings=one, keys=tuple(_key(variable) for variable in one.secrets)) for one in found]


def _key(variable: str) -> bytes:
    text = secret_of(variable)
    try:
        key = base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error:
        key = b""
    if not (text.startswith(SECRET_PREFIX) and 24 <= len(key) <= 64):
        raise StartError(f"The variable {variable} must hold {SECRET_PREFIX} and base64 of 24 to 64 bytes.")
    return key
