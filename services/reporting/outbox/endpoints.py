"""Webhooks file: endpoints, with signing keys from the environment."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints, field_validator, model_validator

from contracts.base import Name
from contracts.topics import ERASURE_REQUESTED, FEEDBACK_CREATED, SESSION_CREATED
from servicekit.errors import StartError
from servicekit.settings import FileSettings

SECRET_PREFIX = "whsec_"  # noqa: S105 # prefix of every webhook secret
EVENTS = (FEEDBACK_CREATED.name, SESSION_CREATED.name, ERASURE_REQUESTED.name)
Chosen = Literal["feedback.created", "feedback.session.created"]
"""Topic that an endpoint may list in its settings. Erasure requests are sent to all endpoints of the tenant."""
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{2,99}$")]


class WebhookEndpoint(FileSettings):
    """Webhook endpoint.

    `secrets` are the names of environment variables that contain signing keys. Instead of the variable NAME, you can
    set NAME_FILE to the path of a file with the key. Each request is signed with all keys, so that keys can be rotated.
    Without `project`, the endpoint gets the events of all projects. Session ratings do not belong to a project, so an
    endpoint can get them only if `project` is not set. `private` allows http and addresses outside the public Internet.
    """

    name: Name
    url: Annotated[str, StringConstraints(pattern=r"^https?://[^\x00-\x20]+$", max_length=2_000)]
    tenant: Name
    project: Name | None = None
    events: list[Chosen] = Field(default_factory=lambda: list[Chosen](["feedback.created"]), min_length=1)
    secrets: Annotated[list[Variable], Field(min_length=1, max_length=5)]
    private: bool = False

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        parts = urlsplit(url)
        if not parts.hostname or parts.username is not None or parts.fragment or (parts.port or 1) < 1:
            raise ValueError("must be a URL without user name, password and fragment")
        return url

    @model_validator(mode="after")
    def _is_closed_to_listeners(self) -> Self:
        if self.url.startswith("http:") and not self.private:
            raise ValueError("http is only allowed for private addresses: use https, or set private")
        if self.project is not None and SESSION_CREATED.name in self.events:
            raise ValueError("session ratings have no project: omit project")
        return self

    def wants(self, topic: str, tenant: str, project: str | None) -> bool:
        """Return True if the endpoint gets events of this topic, tenant and project.

        Every endpoint of the tenant gets erasure requests, whatever its settings for `events` and `project`.
        """
        is_chosen = topic in self.events and self.project in (None, project)
        return self.tenant == tenant and (topic == ERASURE_REQUESTED.name or is_chosen)


class _File(FileSettings):
    endpoint: Annotated[list[WebhookEndpoint], Field(min_length=1)]


def read_endpoints(path: Path) -> Sequence[WebhookEndpoint]:
    """Read the endpoints from the webhooks file.

    Raises:
        StartError: If the file is invalid. The message contains no values from the file.
    """
    endpoints = _File.read(path).endpoint
    names = [endpoint.name for endpoint in endpoints]
    if len(set(names)) < len(names):
        raise StartError(f"The file {path} contains two endpoints of the same name.")
    return endpoints


def signing_key(variable: str) -> bytes:
    """Return the signing key from an environment variable.

    Raises:
        StartError: If the key is missing or invalid. The message contains no part of the key.
    """
    text = FileSettings.secret_in(variable)
    try:
        key = key_of(text)
    except binascii.Error:
        key = b""
    if not (text.startswith(SECRET_PREFIX) and 24 <= len(key) <= 64):
        raise StartError(f"The variable {variable} must be {SECRET_PREFIX} followed by base64 of 24 to 64 bytes.")
    return key


def key_of(secret: str) -> bytes:
    """Decode the key in a webhook secret.

    Raises:
        binascii.Error: If the key is not valid base64.
    """
    return base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
