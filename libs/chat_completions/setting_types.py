"""Setting types for the endpoint of a language model."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr


def _sendable(key: SecretStr) -> SecretStr:
    text = key.get_secret_value()
    if not (text.isascii() and text.isprintable()):
        raise ValueError("must be printable ASCII")
    return key


EndpointUrl = Annotated[str, Field(pattern=r"^(https?://[^\x00-\x20@?#]+)?$")]
"""Base URL of an endpoint, up to and including /v1. Empty if there is none."""
EndpointKey = Annotated[SecretStr, AfterValidator(_sendable)]
"""Key of an endpoint, sent as a bearer token. Empty if there is none."""
