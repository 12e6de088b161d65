"""Reads the maps of a folder, and the secrets that they name."""

from __future__ import annotations

import base64
import binascii
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from chat_bridge.sources.webhook_map import Signature, Source, WebhookMap
from servicekit.complaints import sentence
from servicekit.failures import StartError
from servicekit.settings import content_of


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
    try:
        mapped = WebhookMap.model_validate(tomllib.loads(path.read_text("utf-8")))
        return Source(name=path.stem, map=mapped, secret=_secret(mapped.signature))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise StartError(f"The webhook map {path} cannot be read: {type(error).__name__}.") from None
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        raise StartError(f"The webhook map {path} is not sound: {sentence(faults)}.") from None


def _secret(signature: Signature) -> bytes:
    text = os.environ.get(signature.secret) or content_of(signature.secret)
    if not text:
        raise StartError(f"The variable {signature.secret} must hold the secret that signs webhooks.")
    if signature.key_encoding == "text":
        return text.encode()
    try:
        return base64.b64decode(text.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        raise StartError(f"The variable {signature.secret} does not hold base64.") from None
