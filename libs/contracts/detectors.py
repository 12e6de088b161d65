"""Versions of detectors and their order of precedence, and the confidence from which verdicts are announced."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

ANNOUNCEMENT_THRESHOLD: Final = 0.70
"""Minimum confidence at which a verdict is announced as feedback.

Verdicts with a lower confidence are dropped: they are neither announced nor stored as feedback, and they set no turn's
status to rejected. The detector is calibrated for this threshold.
"""
MODES: Final = ("-words", "", "-words-gate", "-gate")
"""Version suffixes of the modes in ascending order: patterns alone, a sentence encoder, and each with a language model.

A mode is stored as its index.
"""
_VERSION: Final = re.compile(r"([1-9]\d{0,8})\.([0-9a-f]{8})((?:-words)?(?:-gate)?)", re.ASCII)


class DetectorVersion(NamedTuple):
    """Version of a detector, written as `3.a1b2c3d4-words`.

    Attributes:
        release: Number of the detector's release, from 1. It grows with each change that affects verdicts.
        mode: Index in MODES.
        digest: Eight hexadecimal digits that identify the code, the weights and the models. They have no order.
    """

    release: int
    mode: int
    digest: str

    @classmethod
    def parse(cls, text: str) -> DetectorVersion:
        """Parse a version.

        Raises:
            ValueError: The text is not a version.
        """
        match = _VERSION.fullmatch(text)
        if match is None:
            raise ValueError(f"not a detector version: {text}")
        return cls(int(match[1]), MODES.index(match[3]), match[2])

    def __str__(self) -> str:
        return f"{self.release}.{self.digest}{MODES[self.mode]}"


@lru_cache(maxsize=256)
def precedence(version: str | None) -> tuple[int, int]:
    """Return the release and the mode of a detector version.

    If there are several verdicts on a message, the one by the highest release counts, then the one by the highest mode.
    Versions of another format have the lowest key.
    """
    try:
        return DetectorVersion.parse(version or "")[:2]
    except ValueError:
        return 0, 0
