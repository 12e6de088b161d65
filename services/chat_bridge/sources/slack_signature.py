"""Whether a request is Slack's: its signature over time and body, no older than five minutes. Pure."""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

WINDOW_SECONDS: Final = 300
"""How far a request's time may be from ours, either way: beyond it, somebody may be sending an old one again."""


def is_signed(secret: str, timestamp: str, signature: str, body: bytes, now: int) -> bool:
    """Whether `signature` (`v0=` and hex) is that of `body` at `timestamp` (Unix seconds), `now` being microseconds."""
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        return False
    if abs(now // 1_000_000 - int(timestamp)) > WINDOW_SECONDS:
        return False
    expected = hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(f"v0={expected}".encode(), signature.encode("utf-8", "replace"))
