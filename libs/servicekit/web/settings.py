"""Settings of the HTTP server, from environment variables with the prefix HTTP_."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from servicekit.settings import Settings


class HttpSettings(Settings):
    """Limits of the HTTP server.

    - `request_seconds`: time until a response begins
    - `header_seconds`: time to receive a request's head, and time to discard the rest of a body
    - `response_seconds`: time for which a client may make no progress in reading a response
    - `connections`: number of open connections, at most half of the process's file descriptors
    """

    model_config = SettingsConfigDict(env_prefix="HTTP_")

    request_seconds: float = Field(default=10, gt=0, le=300)
    header_seconds: float = Field(default=10, gt=0, le=300)
    response_seconds: float = Field(default=30, gt=0, le=300)
    connections: int = Field(default=512, ge=8, le=100_000)
