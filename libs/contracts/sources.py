"""What a feedback came from, by the names that `feedback.created` has under `source`."""

from __future__ import annotations

from typing import Final

REVIEW: Final = "review"
"""A reviewer's judgement of somebody else's turn: explicit feedback, announced like any other, counted in no report of
what users think."""
