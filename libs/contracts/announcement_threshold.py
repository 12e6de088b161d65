"""Confidence threshold at which an inferred verdict becomes feedback."""

from __future__ import annotations

from typing import Final

#: Verdicts below this confidence are neither stored nor announced and change no turn. The detector's calibration uses
#: this threshold, and the feedback service drops verdicts below it.
ANNOUNCEMENT_THRESHOLD: Final = 0.70
