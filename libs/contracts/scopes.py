"""Scopes of a token. Without any of them, its holder can only give, read and clear their own feedback."""

from __future__ import annotations

from typing import Final

READ: Final = "read"
"""Reports, transcripts, artifacts, exports, the dashboard."""
REVIEW: Final = "review"
"""Judge the machine's verdicts: a review counts in their place."""
DETECT: Final = "detect"
"""What an agent runtime asks: detect, strategies, metadata of turns, latest feedback."""
INGEST: Final = "ingest"
"""Send chat events, which say what anybody said."""
ON_BEHALF: Final = "on_behalf"
"""Give and read feedback of other people."""
ADMIN: Final = "admin"
"""Dead letters, erasure, purge, metrics."""
ALL_SCOPES: Final = frozenset({READ, REVIEW, DETECT, INGEST, ON_BEHALF, ADMIN})
