"""Progress of a run on stderr, one line with the time of day for each event."""

from __future__ import annotations

import sys
import time


def say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()
