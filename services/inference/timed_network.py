"""Network that measures the duration of each call as the stage `encoder`."""

from __future__ import annotations

from detector.encoders.embedder import ExchangeNetwork, Vectors
from servicekit.stages import stage


class TimedNetwork:
    """Network that delegates to another network and measures the time."""

    def __init__(self, inner: ExchangeNetwork) -> None:
        self._inner = inner
        self.name = inner.name

    def read(self, message: str, answer: str, request: str) -> Vectors:
        """Return the logits of the classes of the message."""
        with stage("encoder"):
            return self._inner.read(message, answer, request)
