"""What a feedback came from, by the names that `feedback.created` has under `source`."""

from __future__ import annotations

from typing import Final

REVIEW: Final = "review"
"""A reviewer's judgement of another person's turn: explicit feedback of origin `reviewer`, which counts in place of the
machine's verdicts on that turn."""
