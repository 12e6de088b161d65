"""All English patterns for people's messages."""

from __future__ import annotations

from typing import Final

from detector.patterns import english_abandonment, english_approvals, english_cues, english_rejections

PATTERNS: Final = (
    english_rejections.PATTERNS + english_abandonment.PATTERNS + english_approvals.PATTERNS + english_cues.PATTERNS
)
