"""Versions of detectors, and their precedence when two detectors judge one message.

A version is `YYYY-MM-DD.digest`: the date of the weights, and eight hexadecimal digits of a digest of everything that
a verdict depends on. The suffix `-words` marks a detector without a sentence encoder, `-gate` one that asks a language
model.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

WORDS: Final = "-words"
"""Suffix of the version of a detector without a sentence encoder."""
GATE: Final = "-gate"
"""Last suffix of the version of a detector that asks a language model if no rule decides."""
UNVERSIONED: Final = "1"
"""Version of every detector of release 0.1.0."""
_VERSION: Final = re.compile(r"\d{4}-\d{2}-\d{2}\.[0-9a-f]{8}(-words)?(-gate)?", re.ASCII)


@lru_cache(maxsize=256)
def precedence(version: str | None) -> str:
    """Return the sort key of a version. Within an epoch, the verdict with the greater key counts.

    Unknown versions, such as the "1" of release 0.1.0, come first, then detectors without a language model, then those
    with one; of either those without a sentence encoder before those with one. Ties are broken by date and digest. Keys
    are ASCII, compared byte by byte.
    """
    found = _VERSION.fullmatch(version) if version else None
    if found is None:
        return ""
    rank = (1 if found[1] else 2) + (2 if found[2] else 0)
    return f"{rank}:{version}"


def version_of(precedence: str) -> str | None:
    """Return the version that has this sort key; None for unknown versions."""
    return precedence[2:] or None
