"""Verification of signatures of the raw request body. No I/O."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping

from chat_bridge.sources.source import SignedRequest
from chat_bridge.sources.webhook_map import Signature
from contracts.instants import MINUTE, SECOND, parse_instant

WINDOW = 5 * MINUTE
PUBLIC_KEY_BYTES = 32
"""Length of an Ed25519 public key."""


def is_signed(how: Signature, key: bytes, request: SignedRequest) -> bool:
    """Return True if the request has a valid signature.

    If the signature covers a timestamp, the timestamp must also be recent.

    Args:
        key: The shared secret or the platform's public key.
    """
    headers = request.headers
    if how.timestamp_header is not None:
        sent_at = _moment(headers.get(how.timestamp_header, ""))
        if sent_at is None or abs(request.now - sent_at) > WINDOW:
            return False
    sent = headers.get(how.header, "")
    if how.kind == "token":
        return _same(how.prefix.encode() + key, sent)
    signed = b"".join(
        _filled(how, name, headers, request.body) if number % 2 else name.encode()
        for number, name in enumerate(how.pieces())
    )
    if how.kind == "ed25519":
        return sent.startswith(how.prefix) and _verifies(key, sent.removeprefix(how.prefix), how.encoding, signed)
    digest = hmac.digest(key, signed, how.kind.removeprefix("hmac-"))
    expected = digest.hex().encode() if how.encoding == "hex" else base64.b64encode(digest)
    return _same(how.prefix.encode() + expected, sent)


def decoded(text: str, encoding: str) -> bytes:
    """Decode text to bytes.

    Args:
        encoding: `text`, `hex` or `base64`.

    Raises:
        ValueError: The text is invalid in this encoding.
    """
    if encoding == "text":
        return text.encode()
    return bytes.fromhex(text) if encoding == "hex" else base64.b64decode(text, validate=True)


def _same(expected: bytes, sent: str) -> bool:
    return hmac.compare_digest(expected, sent.encode("utf-8", "replace"))


def _verifies(public_key: bytes, signature: str, encoding: str, signed: bytes) -> bool:
    # Most sources need no public keys, whose package takes six megabytes of memory.
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(decoded(signature, encoding), signed)
    except (InvalidSignature, ValueError):
        return False
    return True


def _filled(how: Signature, name: str, headers: Mapping[str, str], body: bytes) -> bytes:
    if name == "body":
        return body
    header = how.timestamp_header if name == "timestamp" else name.removeprefix("header:").lower()
    return headers.get(header or "", "").encode("utf-8", "replace")


def _moment(text: str) -> int | None:
    """Convert Unix seconds or an RFC 3339 time to microseconds. Return None if the text is neither."""
    if text.isascii() and text.isdigit() and len(text) <= 12:
        return int(text) * SECOND
    try:
        return parse_instant(text)
    except ValueError:
        return None
