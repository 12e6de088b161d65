"""Location of the shared samples; tests are skipped visibly if they are absent."""

from __future__ import annotations

from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"the shared samples are not at {SAMPLES}")
CHAT_EVENTS = SAMPLES / "chat_events.jsonl"
HOSTILE = SAMPLES / "chat_events_hostile.jsonl"
JUDGED_AT = "2026-11-20T00:00:00Z"
"""Date for which the samples were made."""
