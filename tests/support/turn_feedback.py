"""People's reactions to turns of the turn index."""

from __future__ import annotations

from detector.model import Feedback
from inference.turns.rules import TurnFeedback


def reaction(
    status: Feedback, text: str | None, tags: tuple[str, ...], correction: str | None, at: int
) -> TurnFeedback:
    return TurnFeedback(status, 1.0, None, text or None, None, at, tags, correction)
