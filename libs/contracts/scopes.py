"""Scopes of an access token.

Without any scope, a token only allows its holder to give, read and clear their own feedback.
"""

from __future__ import annotations

from typing import Final

READ: Final = "read"
"""Read reports, transcripts, artifacts and the dashboard."""
REVIEW: Final = "review"
"""Review turns. A review replaces the machine's verdicts on the turn."""
EXPORT: Final = "export"
"""Download exports, and the list of feedback as a file."""
OPERATE: Final = "operate"
"""Change alert rules, and test their channels."""
DETECT: Final = "detect"
"""Use the routes for agent runtimes: detection, strategies, turn metadata, latest feedback."""
INGEST: Final = "ingest"
"""Send chat events on behalf of any person."""
ON_BEHALF: Final = "on_behalf"
"""Give and read feedback on behalf of other people."""
ADMIN: Final = "admin"
"""Use the routes for dead letters, erasure, purging, webhooks, metrics and keys."""
ALL_SCOPES: Final = frozenset({READ, REVIEW, EXPORT, OPERATE, DETECT, INGEST, ON_BEHALF, ADMIN})

ROLES: Final = {
    "reader": frozenset({READ}),
    "reviewer": frozenset({READ, REVIEW}),
    "operator": frozenset({READ, REVIEW, EXPORT, OPERATE}),
    "admin": frozenset({READ, REVIEW, EXPORT, OPERATE, ADMIN}),
}
"""Scopes of each role that a group of an identity provider may get."""
