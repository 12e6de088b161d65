"""Ranking of strategies, best first, by the service's own rule. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from agent_feedback_kit.answers import Status, Strategy

WEIGHTS: Final[dict[Status, float]] = {"rejected": -1.0, "accepted": 0.5, "neutral": 0.0}
_GROUPS: Final[tuple[Status, ...]] = ("accepted", "neutral")


def ranking_score(quality: float | None, status: Status) -> float:
    """`quality * 0.6 + weight * 0.4`, -0.4 to 0.8; no quality counts as 0."""
    return (quality or 0.0) * 0.6 + WEIGHTS[status] * 0.4


def ranked(strategies: Iterable[Strategy]) -> list[Strategy]:
    """Without the rejected ones; accepted before neutral ones, inside by quality, then by similarity."""
    kept = [one for one in strategies if one["user_feedback_status"] in _GROUPS]
    return sorted(
        kept,
        key=lambda one: (
            _GROUPS.index(one["user_feedback_status"]),
            -(one["quality_score"] or 0.0),
            -(one["similarity"] or 0.0),
        ),
    )
