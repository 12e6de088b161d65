"""Sources of feedback, as named by `source` in `feedback.created`."""

from __future__ import annotations

from typing import Final

REVIEW: Final = "review"
"""A reviewer's judgement of another person's turn: explicit feedback of origin `reviewer`, which counts in place of the
machine's verdicts on that turn."""
