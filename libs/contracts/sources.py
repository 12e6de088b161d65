"""Sources of feedback, as named by `source` in `feedback.created`."""

from __future__ import annotations

from typing import Final

RATING: Final = "rating"
"""Source of ratings on a project's own scales, which are not verdicts."""
REVIEW: Final = "review"
"""Source of reviews: explicit feedback of the origin `reviewer`, which replaces the machine's verdicts on its turn."""
