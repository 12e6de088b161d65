"""Versions of detectors and their order of precedence, and the confidence from which verdicts are announced.

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
ANNOUNCEMENT_THRESHOLD: Final = 0.70
"""Minimum confidence at which a verdict is announced as feedback.

Verdicts with a lower confidence are dropped: they are neither announced nor stored as feedback, and they set no turn's
status to rejected. The detector is calibrated for this threshold.
"""
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
    match = _VERSION.fullmatch(version) if version else None
    if match is None:
        return ""
    rank = (1 if match[1] else 2) + (2 if match[2] else 0)
    return f"{rank}:{version}"


def version_of(precedence: str) -> str | None:
    """Return the detector version for a sort key, or None for the empty key that all unknown versions share."""
    return precedence[2:] or None
