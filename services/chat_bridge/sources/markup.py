"""Decoding of HTML escapes in platforms' texts. No I/O."""

from __future__ import annotations

import html


def unescaped(text: str) -> str:
    """Decode HTML escapes. Text with a number that Python refuses to read stays as it is."""
    try:
        return html.unescape(text)
    except ValueError:  # a character reference with thousands of digits
        return text
