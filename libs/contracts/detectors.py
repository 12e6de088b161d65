"""Format of detector versions, and their precedence if two detectors judge the same message.

A version is `YYYY-MM-DD.digest`: the date of the weights, and eight hexadecimal digits of a digest of everything that
affects a verdict. The suffix `-words` marks a detector without a sentence encoder, the suffix `-gate` one that asks a
language model.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

WORDS: Final = "-words"
"""Version suffix of a detector without a sentence encoder."""
GATE: Final = "-gate"
"""Version suffix of a detector that asks a language model if no rule decides. It is the last suffix."""
UNVERSIONED: Final = "1"
"""Version of every detector of release 0.1.0."""
_VERSION: Final = re.compile(r"\d{4}-\d{2}-\d{2}\.[0-9a-f]{8}(-words)?(-gate)?", re.ASCII)


@lru_cache(maxsize=256)
def precedence(version: str | None) -> str:
    """Return the sort key of a detector version. Of two verdicts in one epoch, the one with the greater key counts.

    Unknown versions, such as the "1" of release 0.1.0, have the lowest key. Detectors with a language model rank above
    detectors without one. Within both groups, detectors with a sentence encoder rank above detectors without one. Then
    the date decides, then the digest. Keys are ASCII and are compared by their bytes.
    """
    found = _VERSION.fullmatch(version) if version else None
    if found is None:
        return ""
    rank = (1 if found[1] else 2) + (2 if found[2] else 0)
    return f"{rank}:{version}"


def version_of(precedence: str) -> str | None:
    """Return the version that has this sort key; None for the key of unknown versions."""
    return precedence[2:] or None
