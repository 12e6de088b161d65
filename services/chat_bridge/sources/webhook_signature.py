"""Whether a request to a mapped webhook is its platform's. Pure."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping

from chat_bridge.sources.webhook_map import Signature
from contracts.instants import SECOND, parse_instant


def is_signed(how: Signature, secret: bytes, headers: Mapping[str, str], body: bytes, now: int) -> bool:
    """Whether `headers` (names in lower case) hold the signature of `body` by `secret`, `now` being microseconds."""
    if how.timestamp_header is not None:
        sent_at = _moment(headers.get(how.timestamp_header, ""))
        if sent_at is None or abs(now - sent_at) > how.window_seconds * SECOND:
            return False
    held = headers.get(how.header, "").encode("utf-8", "replace")
    return hmac.compare_digest(how.prefix.encode() + _expected(how, secret, headers, body), held)


def _expected(how: Signature, secret: bytes, headers: Mapping[str, str], body: bytes) -> bytes:
    if how.kind == "token":
        return secret
    signed = b"".join(
        _filled(how, name, headers, body) if number % 2 else name.encode() for number, name in enumerate(how.pieces())
    )
    digest = hmac.digest(secret, signed, how.kind.removeprefix("hmac-"))
    return digest.hex().encode() if how.encoding == "hex" else base64.b64encode(digest)


def _filled(how: Signature, name: str, headers: Mapping[str, str], body: bytes) -> bytes:
    if name == "body":
        return body
    header = how.timestamp_header if name == "timestamp" else name.removeprefix("header:").lower()
    return headers.get(header or "", "").encode("utf-8", "replace")


def _moment(text: str) -> int | None:
    """Microseconds of Unix seconds or an RFC 3339 time, or None."""
    if text.isascii() and text.isdigit() and len(text) <= 12:
        return int(text) * SECOND
    try:
        return parse_instant(text)
    except ValueError:
        return None
