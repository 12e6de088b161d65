"""Loading of webhook maps and their secrets from a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from pydantic import Field, ValidationError

from chat_bridge.sources.source import Source
from chat_bridge.sources.webhook import answer_to, chat_events
from chat_bridge.sources.webhook_map import MappedWebhook, Signature, WebhookMap
from chat_bridge.sources.webhook_signature import PUBLIC_KEY_BYTES, decoded, is_signed
from servicekit.errors import StartError
from servicekit.settings import Settings


class WebhookMapSettings(Settings):
    """Settings for webhooks that are converted by map files."""

    webhook_maps: Path | None = Field(
        default=None, description="A folder of maps; NAME.toml configures the source NAME. Default: no such sources."
    )


def read_maps(folder: Path) -> Mapping[str, MappedWebhook]:
    """Read the map files in a folder.

    Returns:
        The maps. Each key is a file name without `.toml`.

    Raises:
        StartError: There is no map file, or one is invalid. The message contains no values from the files.
    """
    paths = sorted(folder.glob("*.toml")) if os.access(folder, os.R_OK | os.X_OK) else []
    if not paths:
        raise StartError(f"CHAT_BRIDGE_WEBHOOK_MAPS names {folder}, which has no .toml file that can be read.")
    return {path.stem: _read(path) for path in paths}


def source_of(mapped: MappedWebhook) -> Source:
    """Return the source that a map file configures."""
    how = mapped.map.signature
    return Source(
        name=mapped.name,
        tenant=mapped.map.tenant,
        project=mapped.map.project,
        verify=partial(is_signed, how, mapped.secret),
        events=lambda payload: chat_events(payload, mapped),
        answer=lambda payload: answer_to(payload, mapped),
    )


def _read(path: Path) -> MappedWebhook:
    described = WebhookMap.read(path)
    try:
        return MappedWebhook(name=path.stem, map=described, secret=_key(described.signature))
    except ValidationError:
        raise StartError(
            f"The name of the file {path} must consist of letters, digits, dots, dashes and underscores."
        ) from None


def _key(signature: Signature) -> bytes:
    text = signature.secret_in(signature.secret)
    if signature.key_encoding == "base64":
        text = text.removeprefix("whsec_")
    try:
        key = decoded(text, signature.key_encoding)
    except ValueError:
        raise StartError(f"The variable {signature.secret} is not valid {signature.key_encoding}.") from None
    if signature.kind == "ed25519" and len(key) != PUBLIC_KEY_BYTES:
        raise StartError(f"The variable {signature.secret} is not an Ed25519 public key.")
    return key


def open_maps(settings: WebhookMapSettings) -> dict[str, Source]:
    """Return the sources that maps configure, by name.

    Raises:
        StartError: There is no map file, or one is invalid.
    """
    if settings.webhook_maps is None:
        return {}
    return {name: source_of(mapped) for name, mapped in read_maps(settings.webhook_maps).items()}
