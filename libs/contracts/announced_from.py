"""From when on an inferred verdict is a feedback."""

from __future__ import annotations

from typing import Final

#: A verdict of a lower confidence changes no turn, is not announced and stored by nobody. The one place that says so:
#: the detector's scales are laid so that this is the point, and the feedback service drops what comes below it.
ANNOUNCED_FROM: Final = 0.70
