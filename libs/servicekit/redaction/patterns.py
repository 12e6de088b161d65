"""Pattern recognisers for mail addresses, phone numbers, API keys and a project's own patterns. No I/O.

They use RE2, which takes linear time for any pattern.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import re2

from servicekit.redaction.spans import MaskedSpan, Recogniser

_MEMORY: Final = 1 << 22
KEY: Final = "|".join(
    (
        r"sk-[A-Za-z0-9_-]{20,}",  # OpenAI, Anthropic
        r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}",  # Stripe
        r"whsec_[A-Za-z0-9+/=]{20,}",
        r"gh[oprsu]_[A-Za-z0-9]{36,}",  # GitHub
        r"github_pat_[A-Za-z0-9_]{22,}",
        r"glpat-[A-Za-z0-9_-]{20,}",  # GitLab
        r"xox[abceoprs]-[A-Za-z0-9-]{10,}",  # Slack
        r"xapp-[A-Za-z0-9-]{10,}",
        r"(?:AKIA|ASIA)[A-Z0-9]{16}",  # AWS
        r"AIza[A-Za-z0-9_-]{35}",  # Google
        r"hf_[A-Za-z0-9]{30,}",  # Hugging Face
        r"npm_[A-Za-z0-9]{36}",
        r"pypi-[A-Za-z0-9_-]{50,}",
        r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",  # SendGrid
        r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",  # JSON Web Token
        # A private key without an end reaches to the end of the text.
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\z)",
    )
)
"""Pattern for API keys with a well-known prefix."""
MAIL: Final = r"[\pL\pN._%+-]+@(?:[\pL\pN-]+\.)+\pL{2,24}"
_GAP: Final = r"[ ./()-]{0,3}"
PHONE: Final = "|".join(
    (
        rf"(?:\+|00)[1-9](?:{_GAP}\d){{7,14}}",  # +49 30 1234567
        r"\(\d{2,5}\) ?\d{2,4}(?:[ -]?\d{2,4}){1,3}",  # (030) 123 4567
        r"0\d{1,4}[ /-]{1,3}\d{2,8}(?:[ -]?\d{2,4}){1,3}",  # 030/1234567
        r"\d{3}[ .-]\d{3}[ .-]\d{4}",  # 555-010-4477
    )
)
"""Usual spellings of phone numbers, which have no check digit."""
BOUNDARY: Final = r"(?:^|[^\pL\pN_])"
"""Start of the text, or a character that is not part of a word or number."""


class InvalidPattern(Exception):
    """Raised if a pattern is not valid for RE2."""


def pattern(source: str) -> Any:
    """Compile an RE2 pattern. Raises InvalidPattern."""
    options = re2.Options()
    options.max_mem, options.log_errors = _MEMORY, False
    try:
        return re2.compile(source, options)
    except re2.error:
        raise InvalidPattern from None


def recogniser(source: str, kind: str, group: int = 0) -> Recogniser:
    """Return a recogniser for all matches of an RE2 pattern, or for one capture group of each match.

    Raises InvalidPattern.
    """
    compiled = pattern(source)

    def find(text: str) -> Iterator[MaskedSpan]:
        for match in compiled.finditer(encodable(text)):
            start, end = match.span(group)
            yield MaskedSpan(start, end, kind)

    return find


def bounded(source: str, kind: str) -> Recogniser:
    """Return a recogniser like `recogniser`, except that matches cannot begin inside a word or number."""
    return recogniser(f"{BOUNDARY}({source})", kind, 1)


def encodable(text: str) -> str:
    """Return `text` with question marks in place of lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
