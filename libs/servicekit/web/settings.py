"""The HTTP server's settings, from the environment with the prefix HTTP_."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from servicekit.settings import Settings


class HttpSettings(Settings):
    """`request_seconds` is how long a request may wait for the first byte of its response, `header_seconds` how long a
    connection may take over a request's head, or over the rest of a body that nobody reads. `response_seconds` is how
    long a client may read no more of its response; `connections` how many may be open at once (at most half of the
    process's file descriptors)."""

    model_config = SettingsConfigDict(env_prefix="HTTP_")

    request_seconds: float = Field(default=10, gt=0, le=300)
    header_seconds: float = Field(default=10, gt=0, le=300)
    response_seconds: float = Field(default=30, gt=0, le=300)
    connections: int = Field(default=512, ge=8, le=100_000)
