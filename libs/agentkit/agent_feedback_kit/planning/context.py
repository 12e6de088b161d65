"""The planner's markdown: what the service answered (worded in services/inference/planner.py), and strategies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent_feedback_kit.answers import Detected, Strategy
from agent_feedback_kit.planning.ranking import ranked

SHOWN: Final = 5
"""Strategies that are named."""


def planner_markdown(detected: Detected | None, strategies: Sequence[Strategy] = ()) -> str | None:
    """What goes into the planner's prompt; None where there is nothing to say.

    What the service says of the previous answer stands as it is, with what people wrote quoted in it. Below it come
    the strategies to learn from, best first, names on one line each.
    """
    parts = [detected["planner_markdown"].strip()] if detected and detected["planner_markdown"] else []
    if listed := [_line(one) for one in ranked(strategies)[:SHOWN] if one["strategy"]]:
        parts.append("\n".join(["### Strategies That Worked for Similar Questions", "", *listed]))
    return "\n\n".join(parts) + "\n" if parts else None


def _line(strategy: Strategy) -> str:
    name = f"`{' '.join(strategy['strategy'].split()).replace('`', chr(39))}`"
    quality = strategy["quality_score"]
    how = f", quality {quality:.2f}" if quality is not None else ""
    return f"- {name} ({strategy['user_feedback_status']}{how})"
