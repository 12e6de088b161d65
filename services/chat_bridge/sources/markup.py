"""Decoding of HTML escapes in platforms' texts. No I/O."""

from __future__ import annotations

import html


def unescaped(text: str) -> str:
    """Decode HTML escapes. A text with a character reference of thousands of digits is returned unchanged."""
    try:
        return html.unescape(text)
    except ValueError:  # a character reference with thousands of digits
        return text
