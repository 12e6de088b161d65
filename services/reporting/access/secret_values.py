"""Random secrets of API keys. Only their digests are stored."""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import Final

KEY: Final = "afk_"
_SECRET: Final = re.compile(r"af[a-z]_[A-Za-z0-9_-]{43}")


def new_secret(prefix: str) -> str:
    """Generate a secret: the prefix followed by 256 random bits in URL-safe base64."""
    return prefix + secrets.token_urlsafe(32)


def is_secret(text: str, prefix: str) -> bool:
    """Return True if `text` has the format of a secret with this prefix."""
    return text.startswith(prefix) and _SECRET.fullmatch(text) is not None


def digest(text: str) -> bytes:
    """Return the SHA-256 digest of a string.

    A slow password hash is unnecessary, because the secrets have 256 random bits.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
