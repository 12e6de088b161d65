"""Bound of a wait inside the test's own process."""

from typing import Final

PATIENCE_SECONDS: Final = 60
"""So long that only a wait without end reaches it on a busy machine; on an idle one it takes less than a second."""
