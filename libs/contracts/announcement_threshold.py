"""Minimum confidence of inferred verdicts that become feedback."""

from __future__ import annotations

from typing import Final

#: Verdicts below this confidence are neither stored nor announced and change no turn. The detector's calibration uses
#: this threshold, and the feedback service drops verdicts below it.
ANNOUNCEMENT_THRESHOLD: Final = 0.70
