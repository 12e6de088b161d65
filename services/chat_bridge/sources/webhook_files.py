"""Reads the maps of a folder, and the secrets that they name."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from chat_bridge.sources.webhook_map import Signature, Source, WebhookMap
from servicekit.failures import StartError
from servicekit.settings import read_toml, secret_of


def read_sources(folder: Path) -> Mapping[str, Source]:
    """The maps of `folder` by the names of their files without `.toml`. Raises StartError, without their values."""
    try:
        paths = sorted(folder.glob("*.toml"))
    except OSError:
        paths = []
    if not paths:
        raise StartError(f"CHAT_BRIDGE_WEBHOOK_MAPS names {folder}, where no .toml file can be read.")
    return {path.stem: _read(path) for path in paths}


def _read(path: Path) -> Source:
    mapped = read_toml(path, WebhookMap)
    try:
        return Source(name=path.stem, map=mapped, secret=_secret(mapped.signature))
    except ValidationError:
        raise StartError(
            f"The file {path} must have a name of letters, digits, dots, dashes and underscores."
        ) from None


def _secret(signature: Signature) -> bytes:
    text = secret_of(signature.secret)
    if signature.key_encoding == "text":
        return text.encode()
    try:
        return base64.b64decode(text.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        raise StartError(f"The variable {signature.secret} does not hold base64.") from None
