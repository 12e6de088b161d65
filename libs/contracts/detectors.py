"""Format of detector versions, and their order of precedence if several detectors have judged the same message.

A version is `YYYY-MM-DD.digest`. It consists of the date of the weights and the first eight hexadecimal digits of a
digest of everything that affects a verdict. The suffix `-words` marks a detector without a sentence encoder, and
`-gate` one that asks a language model.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

WORDS: Final = "-words"
"""Version suffix of a detector without a sentence encoder."""
GATE: Final = "-gate"
"""Version suffix of a detector that asks a language model if no rule decides. It is the last suffix."""
_VERSION: Final = re.compile(r"\d{4}-\d{2}-\d{2}\.[0-9a-f]{8}(-words)?(-gate)?", re.ASCII)


@lru_cache(maxsize=256)
def precedence(version: str | None) -> str:
    """Return the sort key of a detector version.

    If there are several verdicts on a message in the same epoch, the one with the highest key wins. To have messages
    judged again, an operator starts a new epoch.

    Detectors with a language model rank above those without one. Within both groups, detectors with a sentence encoder
    rank above those without one. Otherwise, the later date wins, then the greater digest. Versions of another format
    have the lowest key. Keys are ASCII strings to be compared bytewise.
    """
    found = _VERSION.fullmatch(version) if version else None
    if found is None:
        return ""
    rank = (1 if found[1] else 2) + (2 if found[2] else 0)
    return f"{rank}:{version}"


def version_of(precedence: str) -> str | None:
    """Return the detector version for a sort key, or None for the empty key that all unknown versions share."""
    return precedence[2:] or None
