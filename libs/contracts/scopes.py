"""Scopes of a token. The holder of a token without scopes can only give, read and clear their own feedback."""

from __future__ import annotations

from typing import Final

READ: Final = "read"
"""Read reports, transcripts, artifacts and the dashboard."""
REVIEW: Final = "review"
"""Review the machine's verdicts, and replace them by the review."""
EXPORT: Final = "export"
"""Download exports, and the list of feedback as a file."""
OPERATE: Final = "operate"
"""Change alert rules, and test their channels."""
DETECT: Final = "detect"
"""Use the routes for agent runtimes: detect, strategies, metadata of turns, latest feedback."""
INGEST: Final = "ingest"
"""Send chat events in the name of any person."""
ON_BEHALF: Final = "on_behalf"
"""Give and read feedback of other people."""
ADMIN: Final = "admin"
"""Use dead letters, erasure, purge, webhooks, metrics, and accounts."""
ALL_SCOPES: Final = frozenset({READ, REVIEW, EXPORT, OPERATE, DETECT, INGEST, ON_BEHALF, ADMIN})
