"""Minimum confidence at which a verdict is announced as feedback."""

from __future__ import annotations

from typing import Final

#: Verdicts with a lower confidence are dropped: they are neither announced nor stored as feedback, and they set no
#: turn's status to rejected. The detector is calibrated for this threshold.
ANNOUNCEMENT_THRESHOLD: Final = 0.70
