"""Settings of the HTTP server, from environment variables with the prefix HTTP_."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from servicekit.settings import Settings


class HttpSettings(Settings):
    """Deadline of the HTTP server.

    - `request_seconds`: time until a response begins
    """

    model_config = SettingsConfigDict(env_prefix="HTTP_")

    request_seconds: float = Field(default=10, gt=0, le=300)
