"""Scopes of a token. The holder of a token without scopes can only give, read and clear their own feedback."""

from __future__ import annotations

from typing import Final

READ: Final = "read"
"""Read reports, transcripts, artifacts, exports and the dashboard."""
REVIEW: Final = "review"
"""Review the machine's verdicts, and replace them by the review."""
DETECT: Final = "detect"
"""Use the routes for agent runtimes: detect, strategies, metadata of turns, latest feedback."""
INGEST: Final = "ingest"
"""Send chat events in the name of any person."""
ON_BEHALF: Final = "on_behalf"
"""Give and read feedback of other people."""
ADMIN: Final = "admin"
"""Use dead letters, erasure, purge, webhooks and metrics."""
ALL_SCOPES: Final = frozenset({READ, REVIEW, DETECT, INGEST, ON_BEHALF, ADMIN})
